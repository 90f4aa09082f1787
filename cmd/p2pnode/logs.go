package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/local"
	"p2pnode/node/logs"
)

func logsCommand(o *options) *cobra.Command {
	var follow bool
	var last int
	c := &cobra.Command{
		Use:   "logs",
		Short: "Show the log of the running daemon",
		Long: `Show the newest lines of the running daemon's log, which it keeps in memory, and
with -f go on with each line as it is written. What a supervisor collects from
the daemon's standard error goes further back.`,
		Example: `  p2pnode logs
  p2pnode logs -f --last 0`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return usageError{fmt.Errorf("--last is %d; it is how many lines to show, or 0", last), cmd}
			}
			return showLogs(cmd, o, last, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until interrupted")
	c.Flags().IntVarP(&last, "last", "n", 100, "how many of the lines that are there")
	c.AddCommand(logLevelCommand(o))
	return c
}

func logLevelCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "level [SUBSYSTEM LEVEL]",
		Short: "Say what is logged of each subsystem, or change it until the daemon ends",
		Long: `Say what is logged of each subsystem of the running daemon, or change it until the
daemon ends. The subsystems are node, gossip, discovery, sums, api and libp2p, or
all; the levels are debug, info, warn, error and off.`,
		Example: `  p2pnode logs level
  p2pnode logs level discovery debug
  p2pnode logs level all info`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return fmt.Errorf("%s wants a subsystem and a level, as %s %s, or nothing", c.CommandPath(), logs.All, logs.Levels()[0])
			}
			return takes(0, 2)(c, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd, o, func(owner api.Owner, ctx context.Context) (api.LogLevels, error) {
				if len(args) == 2 {
					if err := owner.SetLogLevels(ctx, api.LogLevels{args[0]: args[1]}); err != nil {
						return nil, err
					}
				}
				return owner.LogLevels(ctx)
			}, levelsText)
		},
	}
	completeArguments(c, append(logs.Subsystems(), logs.All), logs.Levels())
	return c
}

func levelsText(levels api.LogLevels) string {
	var rows [][]any
	for _, subsystem := range slices.Sorted(maps.Keys(levels)) {
		rows = append(rows, []any{subsystem, levels[subsystem]})
	}
	return table(rows...)
}

// showLogs prints lines until they end or the user has seen enough.
func showLogs(cmd *cobra.Command, o *options, last int, follow bool) (err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	owner, err := local.Connect(ctx, o.dir, newLog(cmd, o, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owner.Close()) }()
	for line, err := range owner.Logs(ctx, last, follow) {
		if err != nil {
			return err
		}
		if err := printLine(cmd, o, line); err != nil {
			return err
		}
	}
	return nil
}

func printLine(cmd *cobra.Command, o *options, line api.LogLine) error {
	if o.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(line)
	}
	if line.Lost > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d lines came too fast and are not shown.\n", line.Lost)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %-5s %-9s %s\n",
		line.Time.Local().Format(time.DateTime), strings.ToUpper(line.Level), line.Subsystem, printable(line.Text))
	return err
}
