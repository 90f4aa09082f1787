package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"p2pnode/testnet"
)

// remoteFlags are the flags for collecting from nodes that run elsewhere.
type remoteFlags struct {
	addresses []string
	tokens    string // a file
}

func (f *remoteFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.addresses, "api", nil, "run nothing, and collect from nodes that run elsewhere, as https://192.0.2.7:8467/#PEERID; further addresses may follow")
	flags.StringVar(&f.tokens, "token-file", "", "a file with the token for --api, or with lines PEERID TOKEN")
}

func (f *remoteFlags) asked() bool { return len(f.addresses) > 0 || f.tokens != "" }

// args allows addresses if --api asks for them, and otherwise no arguments.
func (f *remoteFlags) args(cmd *cobra.Command, args []string) error {
	if f.asked() {
		return nil
	}
	return noArgs(cmd, args)
}

// onlyWith refuses flags that do not go with another one, because they would change nothing.
func onlyWith(cmd *cobra.Command, other, why string, goes ...string) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name != other && !slices.Contains(goes, flag.Name) {
			err = usageError{fmt.Errorf("--%s: does not go with --%s, %s", flag.Name, other, why)}
		}
	})
	return err
}

// needs refuses flags that change nothing without another one.
func needs(cmd *cobra.Command, other string, names ...string) error {
	for _, name := range names {
		if set := cmd.Flags().Changed; set(name) && !set(other) {
			return usageError{fmt.Errorf("--%s: goes with --%s", name, other)}
		}
	}
	return nil
}

// nodes are the nodes at the addresses of the command line.
func (f *remoteFlags) nodes(cmd *cobra.Command, args []string) (nodes []*testnet.Elsewhere, err error) {
	if err := onlyWith(cmd, "api", "whose nodes have been made", "token-file", "json", "out", "seed"); err != nil {
		return nil, err
	}
	switch {
	case len(f.addresses) == 0:
		return nil, usageError{errors.New("--token-file: goes with --api")}
	case f.tokens == "":
		return nil, usageError{errors.New("--api: the nodes want a token; make one for each with p2pnode token new, and name their file with --token-file")}
	}
	text, err := os.ReadFile(f.tokens)
	if err != nil {
		return nil, usageError{fmt.Errorf("--token-file: %w", err)}
	}
	tokens, err := testnet.ParseTokens(string(text))
	if err != nil {
		return nil, usageError{fmt.Errorf("--token-file %s: %w", f.tokens, err)}
	}
	for _, address := range append(f.addresses, args...) {
		n, err := testnet.NewElsewhere(address, tokens)
		if err != nil {
			return nil, usageError{fmt.Errorf("--api: %w", err)}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// collect makes one table of nodes that run elsewhere.
func (o *options) collect(cmd *cobra.Command, args []string) error {
	nodes, err := o.remote.nodes(cmd, args)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		defer n.Close()
	}
	if err := makeOut(o.out); err != nil {
		return err
	}
	var latest atomic.Pointer[testnet.Progress]
	latest.Store(&testnet.Progress{Nodes: len(nodes)})
	shown := show(cmd.ErrOrStderr(), func() string {
		p := latest.Load()
		return fmt.Sprintf("%d of %d nodes have used their budgets, %d have neighbours, %.1f releases each", p.Done, p.Nodes, p.Linked, p.Releases)
	})
	r, err := testnet.Collect(cmd.Context(), testnet.Collection{Nodes: nodes, Seed: o.seed,
		Progress: func(p testnet.Progress) { latest.Store(&p) },
		Missed:   func(m testnet.MissedOne) { shown.say(fmt.Sprintf("left out: %s: %s", m.Address, m.Why)) }})
	shown.stop()
	if err != nil {
		return err
	}
	return o.report(cmd, r)
}
