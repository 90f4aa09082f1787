package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"p2pnode/testnet/paper"
	"p2pnode/testnet/paper/crowd"
	"p2pnode/testnet/paper/linear"
	"p2pnode/testnet/paper/movielens"
	"p2pnode/testnet/paper/schemes"
	"p2pnode/testnet/paper/tabular"
)

// experiments lists what 'testnet paper' can run.
func experiments() []paper.Experiment {
	return []paper.Experiment{
		linear.Experiment(),
		crowd.Experiment(),
		movielens.Experiment(),
		schemes.GraphHomomorphic(),
		schemes.KM(),
		schemes.Polar(),
		tabular.School(),
		tabular.CSV(),
	}
}

const paperAbout = `Paper runs the experiments of the papers again and sets beside what was published
what is really possible: privacy that holds, tuned baselines, equal epsilon.

Each experiment writes a page for the browser, NAME.html, which needs nothing
else, and its rows as NAME.json and NAME.csv. A run with the same seed gives the
same numbers, on any number of processors. It can be interrupted: what is done is
kept in NAME.cells, and the same command goes on from there.`

// paperOptions are the flags of paper.
type paperOptions struct {
	paper.Options
	out                  string
	json, restart, trust bool
}

// newPaper is the command of all experiments; dir is an empty directory for real nodes.
func newPaper(list []paper.Experiment, dir string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "paper NAME|all",
		Short:   "The papers' experiments again, beside what is really possible",
		Long:    paperAbout,
		Example: "  testnet paper                    # which there are\n  testnet paper all --data data    # all whose data lies under data",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("paper %s: choose all or one of %s", args[0], strings.Join(names(list), ", "))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return listExperiments(cmd.OutOrStdout(), list) },
	}
	for _, e := range list {
		cmd.AddCommand(newExperiment(e, dir))
	}
	cmd.AddCommand(newAll(list, dir))
	return cmd
}

func names(list []paper.Experiment) (names []string) {
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

func listExperiments(w io.Writer, list []paper.Experiment) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range list {
		fmt.Fprintf(table, "%s\t%s\n", e.Name, e.Title)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nRun 'testnet paper NAME --help' for what each draws and needs.")
	return err
}

// newExperiment is the command of one experiment, with the flags it uses.
func newExperiment(e paper.Experiment, dir string) *cobra.Command {
	o := &paperOptions{Options: paper.Options{Scratch: dir}}
	long, example := e.About, "  testnet paper "+e.Name
	if e.Apart != "" {
		long += "\n\n" + e.Apart + "; --quick takes little of both."
	}
	if e.Data != "" {
		long += "\n\nIt needs --data: " + e.Data
		example += " --data " + cmp.Or(e.Place, "FILE")
	}
	cmd := &cobra.Command{
		Use:     e.Name,
		Short:   e.Title,
		Long:    folded(long),
		Example: example + "\n" + example + " --quick",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.Data != "" && o.Data == "" {
				return usageError{fmt.Errorf("--data: needed: %s", e.Data)}
			}
			return o.run(cmd, e)
		},
	}
	o.register(cmd.Flags())
	if e.Data != "" {
		cmd.Flags().StringVar(&o.Data, "data", "", "path of the data described above")
	}
	if e.UsesReal {
		cmd.Flags().BoolVar(&o.Real, "real", false, "the same task once over real libp2p nodes as well")
	}
	if e.UsesPeople {
		cmd.Flags().IntVar(&o.People, "people", 0, "how many people (default: the experiment's own number)")
	}
	if e.UsesCSV {
		o.registerCSV(cmd.Flags())
	}
	return cmd
}

// folded breaks the lines of text that are too long for a terminal between words.
func folded(text string) string {
	const width = 88
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		for len(line) > width {
			at := strings.LastIndexByte(line[:width], ' ')
			if at <= 0 {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = line[at+1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// register adds the flags of every experiment.
func (o *paperOptions) register(f *pflag.FlagSet) {
	f.Uint64Var(&o.Seed, "seed", 1, "the first seed, of data, splits, noise and clocks")
	f.IntVar(&o.Seeds, "seeds", 0, "how many seeds or splits (default: the experiment's own number)")
	f.BoolVar(&o.Quick, "quick", false, "a small version that takes seconds, or a minute or two of wide data, and shows what a report looks like")
	f.StringVar(&o.out, "out", "testnet-results", "directory for the page, the numbers and the cells that are done")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	f.BoolVar(&o.restart, "restart", false, "compute everything again, also what an earlier run has left")
	f.BoolVar(&o.trust, "trust-cells", false, "take up cells of another build of the program too, and say so in the notes")
}

func (o *paperOptions) registerCSV(f *pflag.FlagSet) {
	f.StringVar(&o.CSV.Node, "node-column", "node", "the column that says whose record a line is")
	f.StringVar(&o.CSV.Node, "node", "node", "")
	f.Lookup("node").Hidden = true // what --node-column was called
	f.StringVar(&o.CSV.Target, "target", "", "the column to predict (default: the last)")
	f.StringVar(&o.CSV.Kind, "kind", "", "what the target is: number or classes (default: found from its values)")
	f.StringVar(&o.CSV.Task, "task", "", "a task file, whose columns and public ranges are taken; without one they come from the data, which is not private")
	f.Float64Var(&o.CSV.Epsilon, "epsilon", 1, "privacy budget of every record")
	f.BoolVar(&o.CSV.SkipBad, "skip-bad", false, "leave lines of --data out that cannot be read, and say how many")
	f.Float64Var(&o.CSV.Delta, "delta", 1e-6, "room for exceptions to epsilon, see docs/privacy.md")
}

// run runs one experiment and reports it.
func (o *paperOptions) run(cmd *cobra.Command, e paper.Experiment) error {
	if err := o.validate(cmd.Flags()); err != nil {
		return err
	}
	if err := makeOut(o.out); err != nil {
		return err
	}
	r, err := o.measure(cmd, e)
	if r == nil {
		return err
	}
	notes := cmd.OutOrStdout()
	write := r.WriteTable
	if o.json {
		notes, write = cmd.ErrOrStderr(), r.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	fmt.Fprintf(notes, "\nPage: %s/%s.html; numbers: %s.json, %s.csv.\n", o.out, e.Name, e.Name, e.Name)
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), goesOn)
		return errInterrupted
	}
	return nil
}

// goesOn is said after an interruption.
const goesOn = "The same command goes on from here."

// mostSeeds bounds the memory that a plan takes.
const mostSeeds = 1000

func (o *paperOptions) validate(f *pflag.FlagSet) error {
	switch {
	case f.Changed("seeds") && (o.Seeds < 1 || o.Seeds > mostSeeds):
		return usageError{fmt.Errorf("--seeds %d: choose from 1 to %d", o.Seeds, mostSeeds)}
	case f.Changed("people") && o.People == 0:
		return usageError{errors.New("--people 0: say how many, or leave it out")}
	case o.restart && o.trust:
		return usageError{errors.New("--trust-cells: does not go with --restart, which takes up no cells")}
	}
	return nil
}

// measure runs one experiment while it shows how far it is. After an interruption it
// returns what is done and the reason, after an error no result.
func (o *paperOptions) measure(cmd *cobra.Command, e paper.Experiment) (*paper.Result, error) {
	program, err := programHash()
	if err != nil {
		return nil, err
	}
	up := "" // to the index, where 'paper all' has made one
	if _, err := os.Stat(filepath.Join(o.out, indexFile)); err == nil {
		up = indexFile
	}
	meter := new(paper.Meter)
	start := time.Now()
	shown := show(cmd.ErrOrStderr(), func() string { return paperLine(e.Name, time.Since(start), meter.Now()) })
	r, err := paper.Run(cmd.Context(), paper.Job{
		Experiment: e, Options: o.Options, Dir: o.out, Command: o.command(e), Version: version(), Program: program, Up: up,
		Restart: o.restart, Trust: o.trust, Meter: meter,
		Log: func(text string) { shown.say(fmt.Sprintf("paper: %s: %s.", e.Name, text)) },
	})
	shown.stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		if e.UsesCSV {
			err = skippable(err)
		}
		return nil, err
	}
	return r, err
}

// paperLine is the progress in a line.
func paperLine(name string, taken time.Duration, p paper.Progress) string {
	if p.Cells == 0 {
		return fmt.Sprintf("%4.0fs %s: reading the data", taken.Seconds(), name)
	}
	text := fmt.Sprintf("%4.0fs %s: %d of %d cells", taken.Seconds(), name, p.Done, p.Cells)
	if p.Left >= 0 {
		text += ", about " + p.Left.Round(time.Second).String() + " left"
	}
	return text
}

// command runs the experiment again.
func (o *paperOptions) command(e paper.Experiment) string {
	words := []string{"testnet paper", e.Name, fmt.Sprint("--seed ", o.Seed)}
	add := func(wanted bool, flag string) {
		if wanted {
			words = append(words, flag)
		}
	}
	add(e.Data != "", "--data "+shellescape.Quote(o.Data))
	add(o.Seeds > 0, fmt.Sprint("--seeds ", o.Seeds))
	add(o.People != 0, fmt.Sprint("--people ", o.People))
	add(o.Quick, "--quick")
	add(o.Real, "--real")
	add(e.UsesCSV, fmt.Sprintf("--node-column %s --epsilon %g --delta %g", shellescape.Quote(o.CSV.Node), o.CSV.Epsilon, o.CSV.Delta))
	add(o.CSV.Target != "", "--target "+shellescape.Quote(o.CSV.Target))
	add(o.CSV.Kind != "", "--kind "+shellescape.Quote(o.CSV.Kind))
	add(o.CSV.Task != "", "--task "+shellescape.Quote(o.CSV.Task))
	add(o.CSV.SkipBad, "--skip-bad")
	return strings.Join(words, " ")
}

// flagsText gives the flags that were set and that change the numbers.
func flagsText(f *pflag.FlagSet) string {
	var text strings.Builder
	f.Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"out", "json", "restart", "trust-cells"}, f.Name) {
			return
		}
		fmt.Fprintf(&text, " --%s", f.Name)
		if f.Value.Type() != "bool" {
			text.WriteString(" " + shellescape.Quote(f.Value.String()))
		}
	})
	return text.String()
}
