package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"p2pnode/testnet"
)

const scaleAbout = `Scale measures what the simulator carries: how many wakes a second on one
processor and on all, how much memory an agent takes, and how far that is from
what the machine's memory would allow. The agents are those of real nodes
(learner personal), each with a random graph's neighbours and records of its
own, made up from the seed.

100000 agents of 50 parameters with 10 records and 10 neighbours take 1.2 GB and
a minute. --private lets every release pay from an account and take exact noise,
which has its own price; --weather lets agents leave in bursts, as phones do.

Beside them a plain loop over arrays does the same arithmetic in the same run;
the ratio of the two tells the simulator's price on any machine. On a busy one
look at the rates per CPU second.

--hours 24 runs one size for so many hours of virtual time at a wake a minute
instead, with --weather as phones have it, and says how long that takes and how
many messages are lost.

--sums works out private sums instead, by arithmetic alone: how many bytes each
contributor sends and a member receives, how much processor time both take, and
how far the opened sum is off. --nodes are then the contributors, and --dimension
is how many numbers each adds; a million of 1024 take half a minute.`

// scaleOptions are the flags of scale.
type scaleOptions struct {
	testnet.ScaleOptions
	hours      int
	sums, json bool
}

func newScale() *cobra.Command {
	o := &scaleOptions{}
	cmd := &cobra.Command{
		Use:     "scale",
		Short:   "How many agents the simulator carries, and how fast",
		Long:    scaleAbout,
		Example: "  testnet scale\n  testnet scale --nodes 100,10000,100000 --dimension 20,50,100\n  testnet scale --nodes 10000 --private --weather --json\n  testnet scale --hours 24 --weather\n  testnet scale --sums",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.Nodes, "nodes", []int{100_000}, "numbers of agents")
	f.IntSliceVar(&o.Dimension, "dimension", []int{50}, "numbers of parameters of a model")
	f.IntVar(&o.Neighbours, "neighbours", 10, "neighbours of each agent")
	f.IntVar(&o.Records, "records", 10, "records of each agent")
	f.BoolVar(&o.Private, "private", false, "with accounts and exact noise")
	f.BoolVar(&o.Weather, "weather", false, "agents leave in bursts and come back")
	f.IntVar(&o.hours, "hours", 0, "run one size for so many virtual hours at a wake a minute, in place of measuring steps")
	f.BoolVar(&o.sums, "sums", false, "private sums: bytes, seconds and error; 1000 to 1000000 contributors of 1024 numbers unless said otherwise")
	f.Uint64Var(&o.Seed, "seed", 1, "the same seed gives the same agents and wakes")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func (o *scaleOptions) run(cmd *cobra.Command) error {
	if o.sums {
		return o.runSums(cmd)
	}
	if cmd.Flags().Changed("hours") {
		return o.runHours(cmd)
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	var stop func()
	o.Progress, stop = showCounts(cmd.ErrOrStderr(), "scale: %d of %d steps")
	s, err := testnet.MeasureScale(cmd.Context(), o.ScaleOptions)
	stop()
	return finish(err, func() error { return o.report(cmd.OutOrStdout(), s, err == nil) })
}

func (o *scaleOptions) report(w io.Writer, s testnet.Scale, complete bool) error {
	if o.json {
		return testnet.WriteScaleJSON(w, s, complete)
	}
	if err := testnet.WriteScaleTable(w, s); err != nil {
		return err
	}
	if !complete {
		_, err := fmt.Fprintln(w, "\nINTERRUPTED: sizes are missing.")
		return err
	}
	return nil
}

// runHours lets one size run for hours of virtual time.
func (o *scaleOptions) runHours(cmd *cobra.Command) error {
	if err := o.ValidateHours(o.hours); err != nil {
		return usageError{err}
	}
	var stop func()
	o.Progress, stop = showCounts(cmd.ErrOrStderr(), "scale: %d of %d virtual minutes")
	h, err := testnet.MeasureHours(cmd.Context(), o.ScaleOptions, o.hours)
	stop()
	write := h.Write
	if o.json {
		write = h.WriteJSON
	}
	return finish(err, func() error { return write(cmd.OutOrStdout()) })
}

// runSums computes private sums. It refuses flags for agents.
func (o *scaleOptions) runSums(cmd *cobra.Command) error {
	s := testnet.SumScaleOptions{Contributors: o.Nodes, Dimension: o.Dimension, Seed: o.Seed}
	flags := cmd.Flags()
	if !flags.Changed("nodes") {
		s.Contributors = []int{1000, 10_000, 100_000, 1_000_000}
	}
	if !flags.Changed("dimension") {
		s.Dimension = []int{1024}
	}
	for _, name := range []string{"neighbours", "records", "private", "weather", "hours"} {
		if flags.Changed(name) {
			return usageError{fmt.Errorf("--%s is about agents, and private sums have none: leave it out, or --sums", name)}
		}
	}
	if err := s.Validate(); err != nil {
		return usageError{err}
	}
	var stop func()
	s.Progress, stop = showCounts(cmd.ErrOrStderr(), "scale: %d of %d contributions")
	rows, err := testnet.MeasureSums(cmd.Context(), s)
	stop()
	return finish(err, func() error { return o.reportSums(cmd.OutOrStdout(), rows, err == nil) })
}

func (o *scaleOptions) reportSums(w io.Writer, rows []testnet.SumScaleRow, complete bool) error {
	if o.json {
		return testnet.WriteSumScaleJSON(w, rows, complete)
	}
	if err := testnet.WriteSumScaleTable(w, rows); err != nil || complete {
		return err
	}
	_, err := fmt.Fprintln(w, "\nINTERRUPTED: sizes are missing.")
	return err
}
