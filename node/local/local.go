// Package local connects a command to a data directory: through the running daemon if there is
// one, otherwise to the same server inside this process.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/client"
	"p2pnode/node/datadir"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
	"p2pnode/storage"
)

// Connection is the owner's view of a data directory. The caller must close it.
type Connection struct {
	*client.Client
	release func() error
}

// Close closes the connection and, if no daemon has the directory, the directory.
func (c *Connection) Close() error { return errors.Join(c.Client.Close(), c.release()) }

// Connect connects to a directory. If no daemon runs, settings are applied to its
// configuration. If the daemon gives no sign of life for ten seconds, Connect, and later
// any request, fails with ErrSilent, even if the request itself may take longer.
func Connect(ctx context.Context, dir string, log *slog.Logger, over ...datadir.Setting) (*Connection, error) {
	socket := client.New(client.Socket(SocketPath(dir)))
	switch err := socket.Alive(ctx); {
	case err == nil:
		return &Connection{socket, func() error { return nil }}, nil
	case errors.Is(err, api.ErrSilent):
		return nil, err
	}
	n, err := node.Open(dir, log, over...)
	if errors.Is(err, storage.ErrLocked) {
		err = fmt.Errorf("%w (it does not answer on its socket; if it is starting or stopping, try again in a moment)", err)
	}
	if err != nil {
		return nil, err
	}
	c, err := Config(n, dir, log)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return serveHere(c, n.Close), nil
}

// Running reports whether a daemon answers for a directory.
func Running(ctx context.Context, dir string) bool {
	c := client.New(client.Socket(SocketPath(dir)))
	return errors.Join(c.Alive(ctx), c.Close()) == nil
}

// SocketPath returns the path at which the daemon of a directory listens.
func SocketPath(dir string) string { return filepath.Join(dir, datadir.SocketFile) }

// daemonWait is how long [ConnectWaiting] waits for a daemon that starts or stops.
const daemonWait = 30 * time.Second

// ConnectWaiting is Connect for a command that is run again and again. It waits while a
// daemon that is starting or stopping holds the directory and does not answer yet.
func ConnectWaiting(ctx context.Context, dir string, log *slog.Logger, over ...datadir.Setting) (*Connection, error) {
	limited, cancel := context.WithTimeout(ctx, daemonWait)
	defer cancel()
	for {
		c, err := Connect(ctx, dir, log, over...)
		if !errors.Is(err, storage.ErrLocked) {
			return c, err
		}
		select {
		case <-limited.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

// Config returns what a server serves for a node in a directory. The caller adds what
// only a daemon has.
func Config(n *node.Node, dir string, log *slog.Logger) (server.Config, error) {
	if err := datadir.TokensForOwner(dir); err != nil {
		return server.Config{}, err
	}
	known, err := tokens.Open(filepath.Join(dir, datadir.TokensFile))
	return server.Config{Owner: n, Log: log, Tokens: known, Ready: n.Ready, Left: func() {}}, err
}

// serveHere serves a node that does not run, to this process only.
func serveHere(c server.Config, release func() error) *Connection {
	ctx, stop := context.WithCancel(context.Background())
	here := newPipe()
	served := make(chan error, 1)
	go func() { served <- server.New(c).Serve(ctx, here, server.Socket{}) }()
	return &Connection{client.New(here.dial), func() error {
		stop()
		return errors.Join(<-served, release())
	}}
}
