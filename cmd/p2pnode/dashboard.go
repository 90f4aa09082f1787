package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/dashboard"
	"p2pnode/node/local"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
)

func dashboardCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "dashboard",
		Short: "Print an address that shows the node in a browser",
		Long: `Print an address that shows the node in a browser. It works once, for five
minutes; the browser stays signed in for a week. A daemon that was started with
--api serves the pages itself; otherwise this command does, until it is interrupted,
on this machine only.`,
		Example: `  p2pnode dashboard
  p2pnode dashboard --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			log := newLog(cmd, o, slog.LevelWarn)
			c, err := local.Connect(cmd.Context(), o.dir, log)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			code, err := c.NewCode(cmd.Context())
			if err != nil || code.URL != "" {
				return errors.Join(err, show(cmd, o, code, opened))
			}
			return serveDashboard(cmd, o, c, log)
		},
	}
}

func opened(c api.Code) string {
	return fmt.Sprintf("%s\nOpen this in a browser, once, until %s.\n", c.URL, c.Expires.Local().Format(time.TimeOnly))
}

// serveDashboard serves the pages from this process. It asks the same node as the
// command does.
func serveDashboard(cmd *cobra.Command, o *options, owner *local.Connection, log *slog.Logger) error {
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	network, err := server.ListenNetwork("127.0.0.1:0", nil)
	if err != nil {
		return err
	}
	known, err := tokens.Open("") // these tokens end with the command
	if err != nil {
		return errors.Join(err, network.Close())
	}
	s := server.New(server.Config{Owner: owner, Log: log, Tokens: known, URL: address(network, false), Left: stop,
		Ready: func() error { return owner.Ready(ctx) }, Pages: dashboard.Handler()})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, network, server.NewBearer(known, nil)) }()
	if err := show(cmd, o, s.Code(), opened); err != nil {
		return errors.Join(err, network.Close(), <-served)
	}
	if !o.json {
		fmt.Fprintln(cmd.OutOrStdout(), "The pages are there until you interrupt this command.")
	}
	return <-served
}
