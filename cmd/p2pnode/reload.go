package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

// daemonSignals returns the signals that end a daemon, and a channel of those at which
// it reads its configuration again, until end is called. Closing the terminal ends the
// daemon.
func daemonSignals(cmd *cobra.Command) (ends []os.Signal, reload chan os.Signal, end func()) {
	ends, reload = []os.Signal{os.Interrupt, syscall.SIGTERM}, make(chan os.Signal, 1)
	if isTerminal(cmd.ErrOrStderr()) {
		return append(ends, syscall.SIGHUP), reload, func() {}
	}
	signal.Notify(reload, syscall.SIGHUP)
	return ends, reload, func() { signal.Stop(reload) }
}

// warn logs the variables of the environment that were perhaps meant as settings.
func (o *options) warn(log *slog.Logger) {
	for _, m := range o.misspelled {
		log.Warn("a variable of the environment "+m.Text, "variable", m.From)
	}
}

// reloading reads the configuration again at each signal until ctx ends.
func reloading(ctx context.Context, signals <-chan os.Signal, n *node.Node, log *slog.Logger) {
	for {
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		changes, err := n.Reload(ctx)
		if err != nil {
			log.Error("the configuration stays as it is, because it cannot be read again: " + message(err))
			continue
		}
		var taken, later []string
		for _, c := range changes {
			if c.Live {
				taken = append(taken, c.Key)
			} else {
				later = append(later, c.Key)
			}
		}
		var told []any
		if len(taken) > 0 {
			told = append(told, "taken up", taken)
		}
		if len(later) > 0 {
			told = append(told, "need a restart", later)
		}
		log.Info("the configuration was read again", told...)
	}
}
