package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"

	"p2pnode/storage"
)

// Connect returns the owner's view of a data directory: through the running
// daemon if there is one, else by opening the directory itself. Close it when
// done.
func Connect(ctx context.Context, dir string, log *slog.Logger) (Owner, io.Closer, error) {
	c := newClient(dir)
	if c.alive(ctx) {
		return c, c, nil
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

// client talks to a daemon over the unix socket of its data directory.
type client struct{ http http.Client }

func newClient(dir string) *client {
	path := filepath.Join(dir, socketFile)
	return &client{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}}
}

// Close drops the connection.
func (c *client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func (c *client) alive(ctx context.Context) bool {
	var p []Peer
	return c.call(ctx, http.MethodGet, "/peers", nil, &p) == nil
}

// Status implements [Owner].
func (c *client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/status", nil, &s)
}

// Budget implements [Owner].
func (c *client) Budget(ctx context.Context) (b Budget, err error) {
	return b, c.call(ctx, http.MethodGet, "/budget", nil, &b)
}

// Peers implements [Owner].
func (c *client) Peers(ctx context.Context) (p []Peer, err error) {
	return p, c.call(ctx, http.MethodGet, "/peers", nil, &p)
}

// Import implements [Owner].
func (c *client) Import(ctx context.Context, csv io.Reader, skipBad bool) (r ImportReport, err error) {
	path := "/records"
	if skipBad {
		path += "?bad=skip"
	}
	var bad *badLines
	err = c.call(ctx, http.MethodPost, path, csv, &r)
	if errors.As(err, &bad) {
		return bad.report, ErrBadLines
	}
	return r, err
}

// Predict implements [Owner].
func (c *client) Predict(ctx context.Context, row map[string]string) (p Prediction, err error) {
	body, err := json.Marshal(row)
	if err != nil {
		return p, err
	}
	return p, c.call(ctx, http.MethodPost, "/predict", bytes.NewReader(body), &p)
}

// badLines carries the report of a refused import out of call.
type badLines struct{ report ImportReport }

func (*badLines) Error() string { return ErrBadLines.Error() }

func (c *client) call(ctx context.Context, method, path string, body io.Reader, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://daemon"+path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the URL would tell the user nothing
	}
	if err != nil {
		return fmt.Errorf("node: the daemon does not answer: %w", err)
	}
	defer response.Body.Close()
	d := json.NewDecoder(response.Body)
	if response.StatusCode == http.StatusOK {
		return d.Decode(into)
	}
	var f failure
	if err := d.Decode(&f); err != nil {
		return fmt.Errorf("node: the daemon answers %s", response.Status)
	}
	if f.Report != nil {
		return &badLines{*f.Report}
	}
	return errors.New(f.Error)
}
