package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"p2pnode/csvfile"
	"p2pnode/draft"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// newTask are the flags of task new.
type newTask struct {
	from, target, node, out string
	ranges, values, kinds   []string // COLUMN=ANSWER
	leave                   []string
	wishes                  draft.Wishes
}

func taskNewCommand(o *options) *cobra.Command {
	f := &newTask{}
	c := &cobra.Command{
		Use:   "new --from FILE.csv",
		Short: "Propose a task for the columns of a CSV file",
		Long: `Propose a task for the columns of a CSV file: of which kind each is, which one is
predicted (the last, unless --target names another), and everything that nodes must
agree on, in a file with a comment beside each key. Read it, change it, and give the
same file to everybody.

A task is public, and your file may not be. Ranges of numbers and lists of values are
therefore asked for: you see what your file has and a wider, round suggestion, and
type what everybody may know. Without a terminal, --range and --values say it, and an
error lists all that are missing. --public says that the file is public; they are then
taken from it. Nothing else is asked for: your records decide, without noise, which
columns are in the task, of which kind each is, and in which form, as by its logarithm.

With --committee the task has private sums, which these nodes add up; each makes its
identity with "p2pnode identity". Without, nodes send each other models with noise.`,
		Example: `  p2pnode task new --from ratings.csv --public
  p2pnode task new --from ratings.csv --target rating --range year=1900..2030 --range rating=0..5 --values genres=Comedy,Drama,Action
  p2pnode task new --from ratings.csv --public --leave-out year --nodes 500 --records 40 --epsilon 0.5 --out films.toml --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, o) },
	}
	f.register(c)
	return c
}

func (f *newTask) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.from, "from", "", "the CSV file; its first line names the columns (required)")
	flags.StringVar(&f.target, "target", "", "the column to predict (default the last)")
	flags.StringVar(&f.node, "node-column", "", fmt.Sprintf("the column that says whose record a line is (default %q, if there is one)", draft.NodeColumn))
	flags.StringArrayVar(&f.ranges, "range", nil, "between which numbers a column may lie, as `COLUMN=LOW..HIGH`")
	flags.StringArrayVar(&f.values, "values", nil, "which values a column may have, as `COLUMN=ONE,TWO`")
	flags.StringArrayVar(&f.kinds, "kind", nil, "of which kind a column is, as `COLUMN=KIND`: "+strings.Join(draft.Kinds(), ", ")+" (default what the column looks like)")
	flags.StringSliceVar(&f.leave, "leave-out", nil, "columns to learn nothing from")
	flags.BoolVar(&f.wishes.Public, "public", false, "the file is public: take ranges and values from it, rounded outward")
	flags.StringSliceVar(&f.wishes.Committee, "committee", nil, "IDs of the nodes that add up private sums, 4 of whom 1 may cheat, or 7 and 2")
	flags.IntVar(&f.wishes.Nodes, "nodes", 0, "how many nodes are expected (default 100)")
	flags.IntVar(&f.wishes.Records, "records", 0, "how many records of each are expected (default 100)")
	flags.Float64Var(&f.wishes.Epsilon, "epsilon", 0, "privacy budget of each record (default 1)")
	flags.StringVar(&f.wishes.Name, "name", "", "of the task, for people (default the target's)")
	flags.StringVar(&f.out, "out", "", "the task file to write (default the CSV's name with .toml)")
}

func (f *newTask) run(cmd *cobra.Command, o *options) error {
	if err := f.check(cmd); err != nil {
		return usageError{err, cmd}
	}
	survey, err := f.survey(cmd)
	if err != nil {
		return err
	}
	plan, err := draft.NewPlan(survey, f.wishes)
	if err != nil {
		return fmt.Errorf("%s: %w", f.from, err)
	}
	if err := f.answer(cmd, o, survey, plan); err != nil {
		return err
	}
	report, err := f.write(survey, plan)
	if err != nil {
		return err
	}
	return show(cmd, o, report, proposedTask.String)
}

// check reads the flags, and returns an error if one is wrong.
func (f *newTask) check(cmd *cobra.Command) (err error) {
	switch {
	case f.from == "":
		return errors.New("name the file with --from")
	case f.from == "-" && f.out == "":
		return errors.New("name the task file with --out, as standard input has no name")
	case cmd.Flags().Changed("nodes") && f.wishes.Nodes < 1, cmd.Flags().Changed("records") && f.wishes.Records < 1:
		return errors.New("--nodes and --records must be at least 1")
	case cmd.Flags().Changed("epsilon") && !(f.wishes.Epsilon > 0):
		return fmt.Errorf("--epsilon %v: must be above 0", f.wishes.Epsilon)
	case f.out != "" && !strings.HasSuffix(f.out, ".toml"):
		return fmt.Errorf("--out %s: the name of a task file ends in .toml", f.out)
	}
	if cmd.Flags().Changed("committee") {
		if err := checkMembers(f.wishes.Committee); err != nil {
			return err
		}
	}
	if f.wishes.Ranges, err = answers("--range", f.ranges, draft.ParseRange); err != nil {
		return err
	}
	if f.wishes.Values, err = answers("--values", f.values, draft.ParseValues); err != nil {
		return err
	}
	f.wishes.Kinds, err = answers("--kind", f.kinds, func(kind string) (string, error) { return kind, nil })
	for _, column := range f.leave {
		f.wishes.Kinds[column] = draft.LeftOut
	}
	return err
}

// checkMembers finds what is wrong with the members of a committee.
func checkMembers(ids []string) error {
	const fewest = 4
	if len(ids) < fewest {
		return fmt.Errorf("--committee: it names %d, and a committee has %d at least, of whom one may be against you", len(ids), fewest)
	}
	for _, id := range ids {
		if _, err := peer.Decode(id); err != nil {
			return fmt.Errorf("--committee: %q is no ID of a node; \"p2pnode identity FILE\" makes one and prints it", id)
		}
	}
	return nil
}

// answers reads flags that answer a question about a column.
func answers[T any](flag string, texts []string, parse func(string) (T, error)) (map[string]T, error) {
	all := map[string]T{}
	for _, text := range texts {
		at := strings.LastIndex(text, "=")
		if flag == "--values" { // a value may have an equals sign in it, a range or a kind has none
			at = strings.Index(text, "=")
		}
		if at <= 0 {
			return nil, fmt.Errorf("%s %s: write the column, an equals sign and what it is to be", flag, text)
		}
		column, said := text[:at], text[at+1:]
		answer, err := parse(said)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, text, err)
		}
		all[column] = answer
	}
	return all, nil
}

// survey reads the whole file.
func (f *newTask) survey(cmd *cobra.Command) (*draft.Survey, error) {
	file, err := openInput(f.from)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := showProgress(file, cmd.ErrOrStderr(), "looking at the columns")
	defer in.done()
	rows, err := csvfile.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.from, err)
	}
	s, err := draft.NewSurvey(rows.Columns, rows.Comma, f.node, f.target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.from, err)
	}
	s.Classes = f.wishes.Values[s.Columns[s.Target].Name]
	var bad badLines
	err = rows.Each(func(line int, cells []string) error {
		s.Add(line, cells)
		return cmd.Context().Err()
	}, bad.add)
	if err := errors.Join(bad.error(), err); err != nil {
		return nil, fmt.Errorf("%s cannot be read as it is:\n%w", f.from, err)
	}
	return s, nil
}

// badLines are the lines of a file that are not rows.
type badLines struct {
	first []api.BadLine
	more  int
}

func (b *badLines) add(line int, reason error) {
	const listed = 20
	if len(b.first) == listed {
		b.more++
		return
	}
	b.first = append(b.first, api.BadLine{Line: line, Reason: reason.Error()})
}

// error returns an error that lists them, or nil if there are none.
func (b *badLines) error() error {
	if len(b.first) == 0 {
		return nil
	}
	list := api.Gathered(b.first)
	if b.more > 0 {
		list = append(list, fmt.Sprintf("and %d more bad %s", b.more, plural(b.more, "line", "lines")))
	}
	return errors.New(strings.Join(list, "\n"))
}

// answer gets answers to all questions, on a terminal by asking the user.
func (f *newTask) answer(cmd *cobra.Command, o *options, s *draft.Survey, p *draft.Plan) error {
	questions := p.Questions()
	if len(questions) == 0 {
		return nil
	}
	if !o.json && isTerminal(cmd.InOrStdin()) {
		d := dialogue{in: bufio.NewReader(cmd.InOrStdin()), out: cmd.ErrOrStderr()}
		if err := d.hold(f.saidAloud(s), p, questions); err != errNobody {
			return err
		}
	}
	return usageError{missingAnswers(cmd, s, questions), cmd}
}

// saidAloud says what was assumed about the file.
func (f *newTask) saidAloud(s *draft.Survey) string {
	text := fmt.Sprintf("%d records. What is predicted is the column %q", s.Rows, s.Columns[s.Target].Name)
	if f.target == "" {
		text += ", the last one; --target names another"
	}
	if s.Node >= 0 {
		text += fmt.Sprintf(". The column %q says whose record a line is.", s.Columns[s.Node].Name)
	} else {
		text += ". No column says whose record a line is; --node-column names one."
	}
	if odd := oddRows(s); odd != "" {
		text += " " + odd
	}
	return text
}

// oddRows says which lines look like something else than what they are taken for; "" if none.
func oddRows(s *draft.Survey) string {
	var said []string
	if s.Nameless() {
		said = append(said, "The first line names the columns, and looks like a record: if it is one, put a line with names before it.")
	}
	if s.Total > 0 {
		said = append(said, fmt.Sprintf("Line %d looks like the total of others, and counts as a record: take it out if it is none.", s.Total))
	}
	return strings.Join(said, " ")
}

// write writes the file, which must not exist, after checking that it is sound.
func (f *newTask) write(s *draft.Survey, p *draft.Plan) (report proposedTask, err error) {
	text, err := p.TOML()
	if err != nil {
		return report, err
	}
	t, err := datadir.ParseTask(text)
	if err != nil {
		return report, fmt.Errorf("no task can be made of these answers: %w", err)
	}
	out := cmp.Or(f.out, strings.TrimSuffix(filepath.Base(f.from), filepath.Ext(f.from))+".toml")
	err = writeNew(out, 0o644, func(w io.Writer) error { _, err := w.Write(text); return err })
	if errors.Is(err, os.ErrExist) {
		return report, fmt.Errorf("%s is there already: name another file with --out, or remove it", out)
	}
	if err != nil {
		return report, err
	}
	report = proposedTask{
		File: out, Task: t.Name, Network: datadir.NetworkName(t), Said: f.saidAloud(s), From: f.from,
		LeftOut: p.LeftOut(), Doubts: p.Doubts(), Members: len(f.wishes.Committee),
	}
	report.Rehearsal = rehearsalFlags(s, p, f.from, f.node)
	nodes, records := s.Owners()
	report.Expected = expectedFlags{cmp.Or(f.wishes.Nodes, nodes), float64(cmp.Or(f.wishes.Records, records))}
	for i := range t.Features {
		report.Features = append(report.Features, proposedFeature{t.Features[i].Name, t.Features[i].Kind})
	}
	return report, nil
}

// rehearsalFlags are the flags of testnet rehearse for a file with a column node that says whose a
// line is; "" if its records are too few.
func rehearsalFlags(s *draft.Survey, p *draft.Plan, from, node string) (text string) {
	const usual = 20 // people of a rehearsal
	people := s.Measurable(usual)
	if people == 0 {
		return ""
	}
	if from == "-" { // which is read only once
		from = "FILE.csv"
	}
	text = " --data " + shellescape.Quote(from)
	switch {
	case node != "":
		text += " --node-column " + shellescape.Quote(node)
	case s.Node < 0 && people < usual:
		text += fmt.Sprintf(" --nodes %d", people)
	}
	if p.BadLines() {
		text += " --skip-bad"
	}
	return text
}

// proposedTask is the result of task new.
type proposedTask struct {
	File     string            `json:"file"`
	Task     string            `json:"task"`
	Network  string            `json:"network"`
	Features []proposedFeature `json:"features"`
	LeftOut  []string          `json:"left_out"` // columns, and why
	Doubts   []string          `json:"doubts"`   // columns to look at again, and why
	Said     string            `json:"-"`
	From     string            `json:"-"`
	// Rehearsal are the flags of testnet rehearse for the file; "": its records are too few.
	Rehearsal string        `json:"-"`
	Members   int           `json:"-"` // of the committee
	Expected  expectedFlags `json:"-"` // said, or else counted in the file
}

// mostListed is how many columns are printed of each list.
const mostListed = 20

// firstLines are the first of some lines behind a label, and how many there are more.
func firstLines(label string, lines []string) string {
	var b strings.Builder
	for _, line := range lines[:min(len(lines), mostListed)] {
		b.WriteString(paragraph(label, line+"."))
	}
	if more := len(lines) - mostListed; more > 0 {
		b.WriteString(paragraph(label, fmt.Sprintf("%d more, which --json lists.", more)))
	}
	return b.String()
}

// kindsText counts features by their kinds.
func kindsText(features []proposedFeature) string {
	var parts []string
	for _, kind := range draft.Kinds() {
		n := 0
		for _, f := range features {
			if f.Kind == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d of kind %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

type proposedFeature struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// String implements [fmt.Stringer].
func (t proposedTask) String() string {
	var b strings.Builder
	b.WriteString(paragraph("", t.Said))
	rows := make([][]any, min(len(t.Features), mostListed))
	for i := range rows {
		rows[i] = []any{"  " + strings.Join(strings.Fields(t.Features[i].Name), " "), t.Features[i].Kind}
	}
	fmt.Fprintf(&b, "It is predicted from:\n%s", table(rows...))
	if more := t.Features[len(rows):]; len(more) > 0 {
		b.WriteString(paragraph("  ", fmt.Sprintf("and %d more: %s", len(more), kindsText(more))))
	}
	b.WriteString(firstLines("Left out  ", t.LeftOut) + firstLines("Look at   ", t.Doubts))
	fmt.Fprintf(&b, "Wrote %s, a task for the network %s. Read it; then:\n", t.File, t.Network)
	fmt.Fprintf(&b, "  %s task check %s%s\n", program("p2pnode"), shellescape.Quote(t.File), t.Expected)
	fmt.Fprintf(&b, "  %s task explain %s\n", program("p2pnode"), shellescape.Quote(t.File))
	if t.Rehearsal != "" {
		fmt.Fprintf(&b, "  %s rehearse --task %s%s\n", program("testnet"), shellescape.Quote(t.File), t.Rehearsal)
	}
	fmt.Fprintf(&b, "  %s init --task %s\n", program("p2pnode"), shellescape.Quote(t.File))
	if t.Rehearsal == "" {
		b.WriteString(paragraph("", fmt.Sprintf("%s is too small for testnet rehearse, which wants two people with %d records or more.", t.From, draft.Measured)))
	}
	if t.Members > 0 {
		b.WriteString(paragraph("", fmt.Sprintf("Each of the %d members makes its node with --identity FILE, the file that \"p2pnode identity\" wrote.", t.Members)))
	}
	return b.String()
}
