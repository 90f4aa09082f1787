package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"p2pnode/node"
)

func runCommand(o *options) *cobra.Command {
	var verbose bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Take part in the network until interrupted",
		Long: `Take part in the network until interrupted. Logs go to standard error.
Ctrl-C once stops cleanly; twice stops at once, and nothing is lost either way.`,
		Example: `  p2pnode run
  p2pnode run --dir /var/lib/p2pnode --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			options := &slog.HandlerOptions{Level: level}
			var handler slog.Handler = slog.NewTextHandler(os.Stderr, options)
			if o.json {
				handler = slog.NewJSONHandler(os.Stderr, options)
			}
			n, err := node.Open(o.dir, slog.New(handler))
			if err != nil {
				return err
			}
			defer n.Close()
			parts, ctx := errgroup.WithContext(cmd.Context())
			parts.Go(func() error { return n.Run(ctx) })
			parts.Go(func() error { return n.Serve(ctx) })
			return parts.Wait()
		},
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "log more")
	return c
}
