package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/page"
)

const graphAbout = `Graph lets people in hidden groups find their like by what they release, and
shows how many of the edges they find join people of one group, and what learning
over those is worth. The groups' models are opposite (2 groups) or spread (10);
nobody declares anything. Each network is run in the simulator, with the views,
requests and weights of real nodes, and beside it over a random graph, over one that
knows the groups (oracle), and alone.

Then the share is followed over budgets, records and sizes of the network, for
people who all have as many records and for a mixture, with weights that know of
the noise in what was released and with blind ones. There everybody knows
everybody, and the estimates come from learning over a random graph.`

// graphOptions are the flags of graph.
type graphOptions struct {
	testnet.GraphOptions
	out  string
	json bool
}

func newGraph() *cobra.Command {
	o := &graphOptions{}
	cmd := &cobra.Command{
		Use:     "graph",
		Short:   "Do nodes find their like by what they release, and what is that worth?",
		Long:    graphAbout,
		Example: "  testnet graph\n  testnet graph --nodes 1000\n  testnet graph --nodes 100 --seeds 1 --epsilon 3 --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	release := learner.Clusters().Release
	f := cmd.Flags()
	f.IntVar(&o.Nodes, "nodes", 300, "people in a network")
	f.IntVar(&o.Seeds, "seeds", 5, "networks of each kind, from --seed up; curves use at most 2")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed gives the same table")
	f.Float64Var(&o.Budget.Epsilon, "epsilon", release.Epsilon, "privacy budget of every record")
	f.Float64Var(&o.Budget.Delta, "delta", release.Delta, "room for exceptions to epsilon, see docs/privacy.md")
	f.StringVar(&o.out, "out", "testnet-results", "directory for the page, the raw numbers and the plots")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func (o *graphOptions) run(cmd *cobra.Command) error {
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	if r := learner.Clusters().Release; o.Budget.Epsilon > r.MaxEpsilon || o.Budget.Delta > r.MaxDelta {
		return usageError{fmt.Errorf("the task clusters allows at most --epsilon %g and --delta %g", r.MaxEpsilon, r.MaxDelta)}
	}
	if err := makeOut(o.out); err != nil {
		return err
	}
	var stop func()
	o.Progress, stop = showCounts(cmd.ErrOrStderr(), "graph: %d of %d runs")
	r, err := testnet.MeasureGraph(cmd.Context(), o.GraphOptions)
	stop()
	return finish(err, func() error { return o.report(cmd, r) })
}

func (o *graphOptions) report(cmd *cobra.Command, r *testnet.GraphResult) error {
	notes := io.Writer(cmd.OutOrStdout())
	write := r.WriteTable
	if o.json {
		notes, write = cmd.ErrOrStderr(), r.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	// After the table: what was measured is not lost where there is no room for files.
	files, err := r.WriteFiles(o.out,
		page.Fact{Name: "Command", Value: "testnet graph" + flagsText(cmd.Flags()), Code: true}, page.Fact{Name: "Version", Value: version()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(notes, "\nPage, raw numbers and plots: %s/%s.\n", o.out, strings.Join(files, ", "))
	return err
}
