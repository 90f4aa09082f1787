package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/logs"
)

func runCommand(o *options) *cobra.Command {
	var verbose bool
	var set []string
	var access accessFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Take part in the network until interrupted",
		Long: `Take part in the network until interrupted. One line on standard output says
when the node is ready and how others reach it; logs go to standard error.
Ctrl-C once stops cleanly; twice stops at once, and nothing is lost either way.
The signal SIGHUP reads config.toml again, unless the logs go to a terminal: then
it means that the terminal was closed, and stops the node.

--set gives a key of config.toml another value for this run; the environment does
so, too, see "p2pnode config --help".`,
		Example: `  p2pnode run
  p2pnode run --api 127.0.0.1:8467
  p2pnode run --set dht=client --set keep_days=30
  p2pnode run --dir /var/lib/p2pnode --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := settings(set)
			if err != nil {
				return usageError{err, cmd}
			}
			o.settings = append(o.settings, append(list, access.settings(cmd.Flags().Changed)...)...)
			return runDaemon(cmd, o, verbose, func(_ context.Context, _ *node.Node, r ready) error { return show(cmd, o, r, ready.String) })
		},
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "log more")
	c.Flags().StringArrayVar(&set, "set", nil, "another value for a key of config.toml, as `KEY=VALUE`")
	access.register(c)
	return c
}

// daemonLog is the log of a daemon, and of the libraries in this process.
func daemonLog(cmd *cobra.Command, o *options, verbose bool) *slog.Logger {
	level, libraries := slog.LevelInfo, logs.Off // libp2p also returns the errors that it logs
	if verbose {
		level, libraries = slog.LevelDebug, slog.LevelDebug
	}
	log := logs.New(newLog(cmd, o, slog.LevelDebug).Handler(), level)
	log.Set(logs.LibP2P, libraries)
	others := log.Handler(logs.LibP2P)
	gologshim.SetDefaultHandler(others)
	// The same goes for what libraries print with Go's log package.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(slog.New(others))
	return slog.New(log.Handler(logs.Node))
}

// runDaemon runs the daemon. began is called when the node is ready; if it fails, the
// daemon ends. The first signal stops the daemon cleanly. After that the signal has its
// normal effect again, so that a second one ends the process at once, even while the
// stop is waiting.
func runDaemon(cmd *cobra.Command, o *options, verbose bool, began func(context.Context, *node.Node, ready) error) (err error) {
	log := daemonLog(cmd, o, verbose)
	o.warn(log)
	ends, reload, end := daemonSignals(cmd)
	defer end()
	ctx, stop := signal.NotifyContext(cmd.Context(), ends...)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		stop()
		log.Info("stopping; interrupt again to stop at once")
	})()
	n, err := node.Open(o.dir, log, o.settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if n.Sparing() && os.Getenv("GOMAXPROCS") == "" {
		// On one processor no thread has to wake another one for each packet, which is a
		// quarter of what a node without work costs.
		runtime.GOMAXPROCS(1)
	}
	// The doors come first, so that a client can ask as soon as the node is ready.
	at, err := openDoors(o, n, log, stop)
	if err != nil {
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return n.Run(ctx) })
	at.serve(ctx, parts)
	parts.Go(func() error { return supervised(ctx, n, log) })
	parts.Go(func() error { reloading(ctx, reload, n, log); return nil })
	parts.Go(func() error {
		addrs, paused, err := n.Begun(ctx)
		if err != nil {
			return nil // the node did not get ready, and Run says why
		}
		return began(ctx, n, ready{Peer: n.ID().String(), Addresses: append([]string{}, addrs...), Paused: paused, API: at.url})
	})
	return parts.Wait()
}

// ready says how others reach a running node.
type ready struct {
	Peer      string      `json:"peer"`
	Addresses []string    `json:"addresses"`
	Paused    []api.Pause `json:"paused,omitempty"` // it takes no part
	API       string      `json:"api,omitempty"`    // where the owner's interface is offered over a network
}

// String returns one line with one address (one for other machines, if there is one),
// and a line for the owner if the owner is served over a network.
func (r ready) String() string {
	owner := ""
	if r.API != "" {
		owner = fmt.Sprintf("Its owner's interface is at %s; \"p2pnode dashboard\" prints an address for a browser.\n", r.API)
	}
	if len(r.Paused) > 0 {
		return "Serving you alone: the node is " + pauseText(r.Paused) + ".\n" + owner
	}
	if len(r.Addresses) == 0 {
		return "Ready, but others cannot reach any of its addresses: give it one with the key listen in config.toml.\n" + owner
	}
	best := max(0, slices.IndexFunc(r.Addresses, func(a string) bool { return !loopback(a) }))
	return fmt.Sprintf("Ready. Others join with the ticket that \"p2pnode invite\" prints, or start from here: %s\n", r.Addresses[best]) + owner
}

func loopback(address string) bool {
	return strings.HasPrefix(address, "/ip4/127.") || strings.HasPrefix(address, "/ip6/::1/")
}
