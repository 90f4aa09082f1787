package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	systemd "github.com/coreos/go-systemd/v22/daemon"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/local"
	"p2pnode/node/server"
)

// ownerSocket is the socket on which the owner asks the daemon of dir: the one that the
// service manager hands over (LISTEN_FDS), else a new one in dir.
func ownerSocket(dir string) (net.Listener, error) {
	given, err := activation.Listeners()
	switch {
	case err != nil:
		return nil, fmt.Errorf("take the service manager's socket: %w", err)
	case len(given) == 0:
		return server.Listen(local.SocketPath(dir))
	case len(given) > 1 || given[0] == nil || given[0].Addr().Network() != "unix":
		return nil, fmt.Errorf("the service manager hands over %d sockets; the daemon takes one, a unix socket that listens", len(given))
	}
	return given[0], nil
}

// statusEvery is how often the service manager is told how the node is doing.
const statusEvery = time.Minute

// supervised keeps the service manager informed until ctx ends: that the node is ready,
// how it is doing, that its loop still runs, and that it stops. It does nothing without
// a manager that listens (NOTIFY_SOCKET).
func supervised(ctx context.Context, n *node.Node, log *slog.Logger) error {
	if _, _, err := n.Begun(ctx); err != nil {
		return nil // the node did not get ready, and Run says why
	}
	listens, err := systemd.SdNotify(false, systemd.SdNotifyReady)
	if err != nil {
		log.Warn("the service manager cannot be told that the node is ready", "error", err)
	}
	if !listens {
		return nil
	}
	limit, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("the service manager's watchdog: %w", err)
	}
	every := statusEvery
	if limit > 0 {
		every = min(every, limit/3)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		report(ctx, n, every)
		select {
		case <-tick.C:
		case <-ctx.Done():
			_, _ = systemd.SdNotify(false, systemd.SdNotifyStopping) // the manager sees the end of the process too
			return nil
		}
	}
}

// report reports how the node is doing, if it answers within limit. If it does not, it
// sends nothing, and the watchdog acts.
func report(ctx context.Context, n *node.Node, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if n.Alive(ctx) != nil {
		return
	}
	s, err := n.Progress(ctx)
	if err != nil {
		return
	}
	_, _ = systemd.SdNotify(false, systemd.SdNotifyWatchdog+"\nSTATUS="+managerStatus(s)) // a manager that is away comes back
}

// managerStatus is what systemctl status shows.
func managerStatus(s api.Status) string {
	if len(s.Paused) > 0 {
		return pauseText(s.Paused)
	}
	with := fmt.Sprintf("%d records, %d neighbours", s.Records, s.Neighbours)
	if s.Privacy.SumsOnly {
		with = fmt.Sprintf("%d records, %d peers connected", s.Records, s.Connected)
	}
	switch {
	case s.Done && (s.Privacy.SumsOnly || s.Privacy.Unprotected):
		return with + "; " + doneLine(s.Privacy)
	case s.Done && s.Privacy.Waits():
		return fmt.Sprintf("%s; new records wait for %d more", with, s.Privacy.Missing)
	case s.Done:
		return with + "; the privacy budget is used up"
	case s.Privacy.Unbounded:
		return with + "; NO privacy guarantee"
	}
	return fmt.Sprintf("%s; %.0f %% of the privacy budget spent", with, 100*s.Privacy.Spent)
}
