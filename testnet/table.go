package testnet

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"p2pnode/learner"
)

// WriteTable writes the report for people: the verdicts, the table of methods, the gain
// by number of records, and one sentence on private learning against alone.
func (r *Result) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n", strings.Join(r.verdicts(), "\n"), r.title())
	b.WriteString(aligned(r.methodCells()))
	b.WriteString("\nbetter, worse: share of people with a smaller or larger error than alone. gain p10: one person in ten\n" +
		"gains less than this share of her error alone. messages: copies of models sent, or contributions to the\n" +
		"sum. bytes: everything sent. " + r.ways() + "\n")
	if bins := r.binCells(); len(bins) > 1 {
		b.WriteString("\nBy number of records a person learns from (median gain: half of them gain more)\n\n")
		b.WriteString(aligned(bins))
	}
	b.WriteString("\n" + r.change() + "\n")
	for _, note := range r.notes() {
		b.WriteString(note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Newest says in a line what the last trial of a run under way has measured.
func (r *Result) Newest() string {
	last := Result{Rounds: r.Rounds[len(r.Rounds)-1:]}
	round := &last.Rounds[0]
	t := &round.Trials[len(round.Trials)-1]
	pairs := last.Pairs(t.Method)
	s := Summarise(pairs)
	return fmt.Sprintf("%s: mean %s %s, alone %s; %s of %d people better (seed %d, %.0f s)", r.label(t.Method), r.Measure,
		r.errorText(s.Error), r.errorText(mean(round.trial(Alone).Errors)), percent(s.Better), len(pairs), round.Seed, t.Seconds)
}

// decimals is how many decimals errors are written with: those of the error alone.
func (r *Result) decimals() int { return r.Measure.Decimals(Summarise(r.Pairs(Alone)).Error) }

// errorText writes an error, or a difference of two.
func (r *Result) errorText(v float64) string { return fmt.Sprintf("%.*f", r.decimals(), v) }

// ways says of each way to learn what its name does not.
func (r *Result) ways() string {
	text := "Each way has the whole budget to itself."
	if len(r.Trials(Private)) > 0 {
		text += fmt.Sprintf(" The private sum is\nadded up by a committee of %d, of whom %d may collude with anybody.", committee, colluding)
	}
	if len(r.Trials(Together)) > 0 {
		text += " The sum without noise is worked\nout here: no committee would open it."
	}
	return text
}

func (r *Result) title() string {
	seeds := fmt.Sprintf("seed %d", r.Seed)
	if n := len(r.Rounds); n > 1 {
		seeds = fmt.Sprintf("seeds %d to %d", r.Seed, r.Rounds[n-1].Seed)
	}
	return fmt.Sprintf("%d people of %s; task %s, %s, %s.", r.nodes(), r.Data, r.Task, r.Driver, seeds)
}

// methodCells has a line for a constant, where its error is known, and one for each
// method; log loss and area under the curve where models give them.
func (r *Result) methodCells() [][]string {
	rows := r.rows()
	cells := [][]string{{"", string(r.Measure), "better", "worse", "gain p10", "privacy spent", "messages/node", "bytes/node", "time"}}
	if base := r.base(); base > 0 {
		line := []string{r.constantLabel(), r.errorText(base)}
		cells = append(cells, append(line, slices.Repeat([]string{"-"}, len(cells[0])-len(line))...))
	}
	for _, row := range rows {
		line := []string{r.label(row.Method), r.errorText(row.Error)}
		if row.Method == Alone {
			line = append(line, "-", "-", "-")
		} else {
			line = append(line, percent(row.Better), percent(row.Worse), signedPercent(row.GainP10))
		}
		cells = append(cells, append(line, r.spentText(row.Method),
			fmt.Sprintf("%.0f", row.Messages), byteText(row.Bytes), fmt.Sprintf("%.1f s", row.Seconds)))
		if row.Method == Private {
			cells = append(cells, r.newcomersCells()...)
		}
	}
	cells = r.withColumn(cells, "AUC", rows, 0, func(row *reportRow) *float64 { return row.AUC })
	return r.withColumn(cells, "log loss", rows, r.baseLogLoss(), func(row *reportRow) *float64 { return row.LogLoss })
}

// newcomersCells is a line for people who contributed nothing to the private sum, if one
// was made.
func (r *Result) newcomersCells() [][]string {
	pairs := r.newcomers()
	if len(pairs) == 0 {
		return nil
	}
	s := Summarise(pairs)
	return [][]string{{newcomersLabel, r.errorText(s.Error), percent(s.Better), percent(s.Worse), signedPercent(s.GainP10), "none", "0", "-", "-"}}
}

// withColumn sets one more measure behind the error, if a row has it; base is that of a
// constant, 0 if it is not known.
func (r *Result) withColumn(cells [][]string, head string, rows []reportRow, base float64, of func(*reportRow) *float64) [][]string {
	if !slices.ContainsFunc(rows, func(r reportRow) bool { return of(&r) != nil }) {
		return cells
	}
	texts := map[string]string{"": head}
	for i := range rows {
		if v := of(&rows[i]); v != nil {
			texts[r.label(rows[i].Method)] = fmt.Sprintf("%.4f", *v)
		}
	}
	if base > 0 {
		texts[r.constantLabel()] = fmt.Sprintf("%.4f", base)
	}
	for i := range cells {
		cells[i] = slices.Insert(cells[i], 2, cmp.Or(texts[cells[i][0]], "-"))
	}
	return cells
}

// constantLabel says what a constant predicts.
func (r *Result) constantLabel() string {
	if r.Measure == learner.ErrorShare {
		return "constant: one's most frequent class"
	}
	return "constant: one's own mean"
}

// label names a method of the result.
func (r *Result) label(m Method) string {
	if m == Private && r.Broadcasts {
		return simulatedSum
	}
	return methodLabel(m)
}

func methodLabel(m Method) string {
	switch m {
	case Alone:
		return "alone (tuned)"
	case Open:
		return "broadcast without noise"
	case Broadcast:
		return "private broadcast"
	case Together:
		return "sum without noise"
	}
	return "private sum"
}

// simulatedSum is a private sum beside nodes that broadcast.
const simulatedSum = "private sum (simulated)"

// newcomersLabel is of people who contributed nothing to the private sum.
const newcomersLabel = "  newcomers, who added nothing"

func (r *Result) spentText(m Method) string {
	switch m {
	case Alone:
		return "none"
	case Together, Open:
		return "unbounded"
	}
	budget := fmt.Sprintf("(%g, %g)", r.Budget.Epsilon, r.Budget.Delta)
	// Exact arithmetic leaves a budget used up a hair below one.
	if r.spent(m) > 0.999 {
		return budget
	}
	epsilon, err := r.spentEpsilon(m)
	if err != nil {
		return "at most " + budget
	}
	return fmt.Sprintf("(%.2g, %g) of %s", epsilon, r.Budget.Delta, budget)
}

// binCells is the table by training-set size: a line for each bin that has
// people. Gain and better are of the method that the result judges.
func (r *Result) binCells() [][]string {
	methods, judged := r.rows(), r.best()
	header := []string{"records", "people"}
	for _, row := range methods {
		header = append(header, string(row.Method))
	}
	if len(r.Pairs(judged)) > 0 {
		header = append(header, "gain "+string(judged), "better "+string(judged))
	}
	cells := [][]string{header}
	for _, bin := range Bins() {
		people := bin.In(r.Pairs(Alone))
		if len(people) == 0 {
			continue
		}
		line := []string{bin.String(), fmt.Sprint(distinct(people))}
		for _, row := range methods {
			line = append(line, r.errorText(Summarise(bin.In(r.Pairs(row.Method))).Error))
		}
		if pairs := bin.In(r.Pairs(judged)); len(pairs) > 0 {
			s := Summarise(pairs)
			line = append(line, signedPercent(s.Gain), percent(s.Better))
		}
		cells = append(cells, line)
	}
	return cells
}

// distinct counts the people among the pairs of several rounds.
func distinct(pairs []Pair) int {
	people, _ := byPerson(pairs)
	return len(people)
}

// String names the bin: "32 - 63", or "256 or more".
func (b Bin) String() string {
	switch {
	case b.From == 0:
		return fmt.Sprintf("under %d", b.To)
	case b.To == math.MaxInt:
		return fmt.Sprintf("%d or more", b.From)
	}
	return fmt.Sprintf("%d - %d", b.From, b.To-1)
}

// change says in one sentence what private learning changed, and whether this
// run can tell it from nothing.
func (r *Result) change() string {
	m := r.best()
	pairs := r.Pairs(m)
	switch {
	case len(pairs) == 0:
		return "Private learning was not measured."
	case r.interrupted():
		return "What private learning changes is not known: its run did not end."
	}
	what := "Private broadcast"
	if m == Private {
		what = "The private sum"
	}
	v := r.reduction(m)
	if math.IsNaN(v.Low) {
		return "Of one person there is no interval."
	}
	change := func(reduction float64) string { return fmt.Sprintf("%+.*f", r.decimals(), 0-reduction) } // not -0
	interval := fmt.Sprintf("95%% interval %s to %s, paired bootstrap over %d people", change(v.High), change(v.Low), distinct(pairs))
	switch {
	case v.Low > 0:
		return fmt.Sprintf("%s lowers the mean error by %s (change: %s); zero is outside it.", what, r.errorText(v.Mean), interval)
	case v.High < 0:
		return fmt.Sprintf("%s RAISES the mean error by %s (change: %s); zero is outside it.", what, r.errorText(-v.Mean), interval)
	}
	return fmt.Sprintf("%s changes the mean error by %s (%s); zero is inside it, so this run alone does not show a difference.", what, change(v.Mean), interval)
}

// notes are what a reader must know beside the numbers.
func (r *Result) notes() []string {
	var notes []string
	if r.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d people with fewer than %d records were left out: nothing to measure them on.", r.LeftOut, minRecords))
	}
	for _, note := range append(cellNotes(r.Noted), misfitNote(r.Misfits), r.missedNote()) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if private, free := r.reduction(Private).Mean, r.reduction(Together).Mean; free > 0 && private < 0.4*free && !r.interrupted() {
		notes = append(notes, fmt.Sprintf("The noise takes most of what the sum could give: it is the same for %d people as for any number, so more of them gain more.", r.nodes()))
	}
	if r.delivery() > 0 {
		notes = append(notes, fmt.Sprintf("Delivery: %.2f%% of the models, contributions and results arrived.", 100*r.delivery()))
	}
	if l := r.load(); l != nil {
		notes = append(notes, l.text(r.nodes()))
	}
	notes = append(notes, r.processNotes()...)
	if n := r.unfinished(); n > 0 {
		notes = append(notes, fmt.Sprintf("%d times a node had not used its budget at the end.", n))
	}
	if !r.Complete {
		notes = append(notes, "Interrupted: these are the results so far.")
	}
	return notes
}

func percent(share float64) string       { return fmt.Sprintf("%.1f%%", 100*share) }
func signedPercent(share float64) string { return fmt.Sprintf("%+.1f%%", 100*share) }

// byteText gives a size in decimal units.
func byteText(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f kB", n/1e3)
	}
	return fmt.Sprintf("%.0f B", n)
}

// aligned lays cells out in columns, the first to the left and the others to
// the right.
func aligned(cells [][]string) string {
	width := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, line := range cells {
		for i, c := range line {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				b.WriteString(c + space)
			} else {
				b.WriteString("  " + space + c)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
