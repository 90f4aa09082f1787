// Package client asks a server of the owner's interface. It has the methods of
// [p2pnode/node/api.Owner].
package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"p2pnode/node/api"
)

// daemonTimeout is how long a daemon may take to give a sign of life.
const daemonTimeout = 10 * time.Second

// Client talks to a server. All methods are safe for concurrent use.
type Client struct {
	http    http.Client
	base    string // the URL with which the server's addresses begin
	timeout time.Duration
	daemon  atomic.Int64 // process ID; 0: unknown
}

var _ api.Owner = (*Client)(nil)

// Dial opens a connection to a server.
type Dial func(ctx context.Context) (net.Conn, error)

// New returns a client of a server that dial reaches and that asks for no token. It does
// not check whether the server is there.
func New(dial Dial) *Client {
	c := &Client{base: "http://localhost", timeout: daemonTimeout}
	c.http.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if unix, ok := conn.(*net.UnixConn); ok {
				c.daemon.Store(int64(peerProcess(unix)))
			}
			return conn, err
		},
	}
	return c
}

// Socket dials the unix socket of a data directory.
func Socket(path string) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("it has ended, and its log says why: %w", err)
		}
		return conn, err
	}
}

// Close drops the connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Alive asks the daemon for a sign of life. If it gives none for ten seconds, Alive and
// all other requests fail with ErrSilent, even if the request itself may take longer.
func (c *Client) Alive(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, c.base+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err == nil {
		return response.Body.Close()
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("client: the daemon%s %w", c.process(), api.ErrSilent)
	}
	return err
}

// Ready says why the node does not take part in its network; nil: it does.
func (c *Client) Ready(ctx context.Context) error {
	return c.send(ctx, call{method: http.MethodGet, path: "/readyz"}, nothing)
}

// process names the daemon's process, if it is known.
func (c *Client) process() string {
	if pid := c.daemon.Load(); pid > 0 {
		return fmt.Sprintf(" (pid %d)", pid)
	}
	return ""
}

// watch ends a request's context, with ErrSilent as its cause, once the daemon
// gives no sign of life any more.
func (c *Client) watch(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(c.timeout)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			if err := c.Alive(watched); errors.Is(err, api.ErrSilent) {
				cancel(err)
			}
		}
	}()
	return watched, func() { cancel(nil) }
}
