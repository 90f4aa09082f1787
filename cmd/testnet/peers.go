package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"p2pnode/testnet"
	"p2pnode/testnet/page"
)

const peersAbout = `Peers measures how candidates get about by gossip: how many exchanges, and how
many bytes, it takes until nodes know 95 % of the nodes most similar to
themselves, of all in the network, though each keeps only a few and talks to one
at a time. The views are those of real nodes; the vectors they compare are drawn
in groups and do not change.

Every size is run without loss and with it, and in each run a share of the nodes
is replaced by newcomers once the search is over, and the others have to find
out. 100000 nodes take about 2 GB and some minutes.

--edges also lets the nodes choose their neighbours from what they find, and
shows how soon the graph settles and whether it hangs together.`

// peersOptions are the flags of peers.
type peersOptions struct {
	testnet.PeersOptions
	out         string
	edges, json bool
}

func newPeers() *cobra.Command {
	o := &peersOptions{}
	cmd := &cobra.Command{
		Use:     "peers",
		Short:   "How fast gossip finds the most similar of many nodes, and at what cost",
		Long:    peersAbout,
		Example: "  testnet peers\n  testnet peers --nodes 1000,10000,100000\n  testnet peers --nodes 2000 --loss 0.3 --churn 0.5 --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.Nodes, "nodes", []int{100, 300, 1000, 3000}, "sizes of the networks")
	f.IntVar(&o.Degree, "degree", 10, "how many nearest neighbours to find")
	f.IntVar(&o.Groups, "groups", 10, "groups of similar nodes")
	f.IntVar(&o.Dimension, "dimension", 10, "coordinates of the vectors that are compared")
	f.Float64Var(&o.Spread, "spread", 0.5, "spread of a group around its centre; the centres are spread by 1")
	f.Float64Var(&o.Loss, "loss", 0.1, "share of the messages lost in the second run of each size")
	f.Float64Var(&o.Churn, "churn", 0.2, "share of the nodes replaced at once")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed gives the same cycles and bytes")
	f.BoolVar(&o.edges, "edges", false, "also let the nodes choose neighbours; minutes for 10000 nodes")
	f.StringVar(&o.out, "out", "testnet-results", "directory for the plot")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func (o *peersOptions) run(cmd *cobra.Command) error {
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	if err := makeOut(o.out); err != nil {
		return err
	}
	rows, edges, err := o.measure(cmd)
	return finish(err, func() error { return o.report(cmd.OutOrStdout(), rows, edges, err == nil) })
}

func (o *peersOptions) measure(cmd *cobra.Command) (rows []testnet.PeersRow, edges []testnet.EdgesRow, err error) {
	var stop func()
	o.Progress, stop = showCounts(cmd.ErrOrStderr(), "peers: %d of %d runs")
	defer stop()
	rows, err = testnet.MeasurePeers(cmd.Context(), o.PeersOptions)
	if err == nil && o.edges {
		edges, err = testnet.MeasureEdges(cmd.Context(), o.PeersOptions)
	}
	return rows, edges, err
}

func (o *peersOptions) report(w io.Writer, rows []testnet.PeersRow, edges []testnet.EdgesRow, complete bool) error {
	write := o.writeTables
	if o.json {
		write = testnet.WritePeersJSON
	}
	if err := write(w, rows, edges, complete); err != nil {
		return err
	}
	// After the tables: what was measured is not lost where there is no room for the plot.
	plot := filepath.Join(o.out, testnet.PeersFile)
	if err := page.WriteFile(plot, func(w io.Writer) error { return testnet.WritePeersPlot(w, rows) }); err != nil || o.json {
		return err
	}
	_, err := fmt.Fprintf(w, "Plot: %s\n", plot)
	return err
}

func (o *peersOptions) writeTables(w io.Writer, rows []testnet.PeersRow, edges []testnet.EdgesRow, complete bool) error {
	if err := testnet.WritePeersTable(w, rows, o.Churn); err != nil {
		return err
	}
	if len(edges) > 0 {
		fmt.Fprintln(w)
		if err := testnet.WriteEdgesTable(w, edges); err != nil {
			return err
		}
	}
	if !complete {
		_, err := fmt.Fprintln(w, "\nINTERRUPTED: runs are missing.")
		return err
	}
	return nil
}
