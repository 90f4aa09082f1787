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

// Connection is the owner's view of a data directory. Close it when done.
type Connection struct {
	*client.Client
	release func() error
}

// Close drops the connection and, if no daemon held it, the directory.
func (c *Connection) Close() error { return errors.Join(c.Client.Close(), c.release()) }

// Connect connects to a directory; if no daemon runs, settings lie over its configuration.
// If its daemon says nothing for ten seconds, Connect, and later any request, fails with
// ErrSilent, however long the request itself may take.
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

// SocketPath is where the daemon of a directory listens.
func SocketPath(dir string) string { return filepath.Join(dir, datadir.SocketFile) }

// patience is how long [ConnectWaiting] waits for a daemon that starts or stops.
const patience = 30 * time.Second

// ConnectWaiting is Connect for a command that comes again and again: it waits while a
// daemon that starts or stops holds the directory and does not answer yet.
func ConnectWaiting(ctx context.Context, dir string, log *slog.Logger, over ...datadir.Setting) (*Connection, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
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

// Config is what a server serves of a node in a directory. Its caller adds what only a
// daemon has.
func Config(n *node.Node, dir string, log *slog.Logger) (server.Config, error) {
	if err := datadir.TokensForOwner(dir); err != nil {
		return server.Config{}, err
	}
	known, err := tokens.Open(filepath.Join(dir, datadir.TokensFile))
	return server.Config{Owner: n, Log: log, Tokens: known, Ready: n.Ready, Left: func() {}}, err
}

// serveHere serves a node that is at rest to this process alone.
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
