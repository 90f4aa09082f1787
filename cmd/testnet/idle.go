package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/testnet"
)

const idleAbout = `Idle measures what a p2pnode daemon costs while nothing happens. It starts
daemons without records, waits until each is connected to 10 others, leaves them
alone, and then measures for some minutes: memory, processor time, and what they
send to keep in touch.

With root the daemons get a loopback interface of their own. Otherwise what other
programs send over this machine's is counted too. It takes Linux.`

// idleOptions are the flags of idle.
type idleOptions struct {
	testnet.IdleOptions
	named   string // the p2pnode to run; "": see locate
	minutes float64
	json    bool
}

func newIdle(dir string) *cobra.Command {
	o := &idleOptions{}
	o.Dir = dir
	cmd := &cobra.Command{
		Use:     "idle",
		Short:   "What a daemon costs while nothing happens",
		Long:    idleAbout,
		Example: "  testnet idle\n  testnet idle --power low\n  testnet idle --nodes 5 --minutes 1 --settle 10s --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.Nodes, "nodes", 11, "how many daemons; each connects to 10 others, or to all")
	f.Float64Var(&o.minutes, "minutes", 5, "how long to measure")
	f.DurationVar(&o.Settle, "settle", 90*time.Second, "how long to leave them alone first, once they are connected")
	f.StringVar(&o.Power, "power", "normal", "normal, or low: as in p2pnode init")
	f.BoolVar(&o.MDNS, "mdns", false, "let them look at the local network too")
	f.StringVar(&o.named, "p2pnode", "", "the p2pnode to run (default: the one beside testnet, or built from the source)")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func (o *idleOptions) run(cmd *cobra.Command) error {
	o.Program, o.Quiet = "p2pnode", time.Duration(o.minutes*float64(time.Minute))
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	var err error
	if o.Program, err = locate(cmd, o.named, o.Dir); err != nil {
		return err
	}
	cost, err := o.measure(cmd)
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case err != nil:
		return err
	}
	if err := o.report(cmd.OutOrStdout(), cost); err != nil {
		return err
	}
	if cmd.Context().Err() != nil {
		return errInterrupted
	}
	return nil
}

func (o *idleOptions) measure(cmd *cobra.Command) (*testnet.IdleCost, error) {
	var latest atomic.Pointer[testnet.IdleProgress]
	latest.Store(&testnet.IdleProgress{Nodes: o.Nodes})
	o.Progress = func(p testnet.IdleProgress) { latest.Store(&p) }
	defer show(cmd.ErrOrStderr(), func() string {
		p := latest.Load()
		if p.Linked < p.Nodes {
			return fmt.Sprintf("idle: %d of %d daemons have their neighbours", p.Linked, p.Nodes)
		}
		return fmt.Sprintf("idle: %.0f of %.0f s", p.Waited.Seconds(), p.Whole.Seconds())
	}).stop()
	return testnet.MeasureIdle(cmd.Context(), o.IdleOptions)
}

func (o *idleOptions) report(w io.Writer, c *testnet.IdleCost) error {
	if o.json {
		return testnet.WriteJSON(w, c)
	}
	mdns := ""
	if c.MDNS {
		mdns = ", mDNS"
	}
	fmt.Fprintf(w, "%d daemons, power %s%s, each with %d neighbours or more; the mean of %.0f s\n\n", c.Nodes, c.Power, mdns, c.Neighbours, c.Seconds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "processor\tsent\tpackets\twakeups\tRSS\tPSS\t")
	fmt.Fprintf(table, "%.1f s/hour\t%.2f MB/hour\t%.1f/s\t%.0f/s\t%.1f MB\t%.1f MB\t\n", c.CPU, c.Bytes/1e6, c.Packets, c.Wakeups, c.RSS/1e6, c.PSS/1e6)
	if err := table.Flush(); err != nil {
		return err
	}
	text := "\nRSS: memory, with what processes share. PSS: with its part of that. wakeups: of all threads.\n"
	if !c.Alone {
		text += "Sent and packets hold what other programs sent over this machine's loopback interface.\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
