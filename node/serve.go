package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"p2pnode/node/api"
	"p2pnode/storage"
)

// Listen opens the unix socket of the data directory, for [Node.Serve]. Only the
// user who owns the directory can reach it.
func (n *Node) Listen() (net.Listener, error) { return api.Listen(n.dir) }

// Serve answers the owner's requests that arrive at the listener until ctx
// ends, or until one of them was to leave the network: then the daemon is to stop. It
// closes the listener.
func (n *Node) Serve(ctx context.Context, listener net.Listener) error {
	return api.Serve(ctx, listener, n, n.log)
}

// Connect returns the owner's view of a data directory: through the running daemon if there
// is one, otherwise by opening the directory itself. Close it when done. If the daemon says
// nothing for ten seconds, Connect, and later any request, fails with ErrSilent, however
// long the request itself may take.
func Connect(ctx context.Context, dir string, log *slog.Logger) (api.Owner, io.Closer, error) {
	c := api.NewClient(dir)
	switch err := c.Alive(ctx); {
	case err == nil:
		return c, c, nil
	case errors.Is(err, api.ErrSilent):
		return nil, nil, err
	}
	n, err := Open(dir, log)
	if errors.Is(err, storage.ErrLocked) {
		err = fmt.Errorf("%w (it does not answer on its socket; if it is starting or stopping, try again in a moment)", err)
	}
	if err != nil {
		return nil, nil, err
	}
	return n, n, nil
}

// patience is how long [ConnectWaiting] waits for a daemon that starts or stops.
const patience = 30 * time.Second

// ConnectWaiting is Connect for a command that comes again and again: it waits while a
// daemon that starts or stops holds the directory and does not answer yet.
func ConnectWaiting(ctx context.Context, dir string, log *slog.Logger) (api.Owner, io.Closer, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		owner, closer, err := Connect(ctx, dir, log)
		if !errors.Is(err, storage.ErrLocked) {
			return owner, closer, err
		}
		select {
		case <-limited.Done():
			return nil, nil, err
		case <-time.After(time.Second):
		}
	}
}
