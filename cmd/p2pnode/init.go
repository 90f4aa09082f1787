package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

func initCommand(o *options) *cobra.Command {
	var (
		task      string
		listen    []string
		bootstrap []string
		profile   []float64
		epsilon   float64
		delta     float64
		releases  int
		wake      float64
		noMDNS    bool
		consent   string
	)
	c := &cobra.Command{
		Use:   "init",
		Short: "Make a data directory: an identity, a configuration and a task",
		Long: `Make a data directory: an identity key only you can read, config.toml with
your choices, and task.toml, which everybody in the network shares.

Nodes find each other on the local network by themselves. To reach others,
name one running node with --bootstrap.`,
		Example: `  p2pnode init
  p2pnode init --dir /var/lib/p2pnode --task mytask.toml --epsilon 0.5
  p2pnode init --bootstrap /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := node.LoadTask(task)
			if err != nil {
				return err
			}
			conf := node.DefaultConfig(t)
			conf.Bootstrap, conf.Profile, conf.MDNS, conf.Unprotected = bootstrap, profile, !noMDNS, consent
			flags := cmd.Flags()
			if flags.Changed("listen") {
				conf.Listen = listen
			}
			if flags.Changed("epsilon") {
				conf.Epsilon = epsilon
			}
			if flags.Changed("delta") {
				conf.Delta = delta
			}
			if flags.Changed("releases") {
				conf.Releases = releases
			}
			if flags.Changed("wake") {
				conf.WakeSeconds = wake
			}
			if err := node.Init(o.dir, t, conf); err != nil {
				return err
			}
			return printInit(cmd, o, conf)
		},
	}
	f := c.Flags()
	f.StringVar(&task, "task", "movies", "built-in task (movies, linear) or a task file ending in .toml")
	f.StringSliceVar(&listen, "listen", nil, "multiaddress to listen on (default every interface, any TCP port)")
	f.StringSliceVar(&bootstrap, "bootstrap", nil, "address of a running node, with /p2p/ and its ID")
	f.Float64SliceVar(&profile, "profile", nil, "your public profile, for tasks whose graph uses one; everybody can read it")
	f.Float64Var(&epsilon, "epsilon", 0, "privacy budget of each record (default the task's)")
	f.Float64Var(&delta, "delta", 0, "probability the guarantee may fail with (default the task's)")
	f.IntVar(&releases, "releases", 0, "how many releases share the budget (default the task's)")
	f.Float64Var(&wake, "wake", 0, "mean seconds between two releases (default the task's)")
	f.BoolVar(&noMDNS, "no-mdns", false, "do not look for nodes on the local network")
	f.StringVar(&consent, "unprotected", "", fmt.Sprintf("give up privacy: write %q", node.Consent))
	return c
}

func printInit(cmd *cobra.Command, o *options, conf node.Config) error {
	if o.json {
		return printJSON(cmd, map[string]any{"dir": o.dir, "epsilon": conf.Epsilon, "delta": conf.Delta, "protected": conf.Unprotected == ""})
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Made a node in %s.\n", o.dir)
	if conf.Unprotected != "" {
		fmt.Fprintln(out, "Its models will be sent WITHOUT any privacy guarantee.")
	} else {
		fmt.Fprintf(out, "Each record is protected with epsilon %v, delta %v, over at most %d releases.\n", conf.Epsilon, conf.Delta, conf.Releases)
	}
	fmt.Fprintf(out, "Next: p2pnode data import FILE.csv, then p2pnode run%s\n", dirHint(o))
	return nil
}

// dirHint repeats --dir where the user needed it.
func dirHint(o *options) string {
	if o.dir == defaultDir() {
		return ""
	}
	return " (each with --dir " + o.dir + ")"
}
