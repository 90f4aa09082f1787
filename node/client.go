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

// Verify implements [Owner].
func (c *client) Verify(ctx context.Context) (v Verification, err error) {
	return v, c.call(ctx, http.MethodGet, "/verify", nil, &v)
}

// Ledger implements [Owner].
func (c *client) Ledger(ctx context.Context) (lines []Line, err error) {
	return lines, c.call(ctx, http.MethodGet, "/ledger", nil, &lines)
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

// Records implements [Owner].
func (c *client) Records(ctx context.Context, content bool) (list []RecordInfo, err error) {
	path := "/records"
	if content {
		path += "?content=yes"
	}
	return list, c.call(ctx, http.MethodGet, path, nil, &list)
}

// Delete implements [Owner].
func (c *client) Delete(ctx context.Context, numbers []uint64) error {
	return c.post(ctx, "/delete", numbers, new(struct{}))
}

// Predict implements [Owner].
func (c *client) Predict(ctx context.Context, row map[string]string) (p Prediction, err error) {
	return p, c.post(ctx, "/predict", row, &p)
}

// Backup implements [Owner]. A copy that breaks off is an error.
func (c *client) Backup(ctx context.Context, w io.Writer) error {
	response, err := c.send(ctx, http.MethodGet, "/backup", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("node: copy the database: %w (the daemon's log says more)", err)
	}
	return nil
}

func (c *client) post(ctx context.Context, path string, parameter, into any) error {
	body, err := json.Marshal(parameter)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, path, bytes.NewReader(body), into)
}

// badLines carries the report of a refused import out of call.
type badLines struct{ report ImportReport }

func (*badLines) Error() string { return ErrBadLines.Error() }

// call makes a request and reads the JSON of its answer.
func (c *client) call(ctx context.Context, method, path string, body io.Reader, into any) error {
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

// send makes a request; an answer that is no success is an error. The caller
// closes the body.
func (c *client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://daemon"+path, body)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the URL would tell the user nothing
	}
	if err != nil {
		return nil, fmt.Errorf("node: the daemon does not answer: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	var f failure
	if err := json.NewDecoder(response.Body).Decode(&f); err != nil {
		return nil, fmt.Errorf("node: the daemon answers %s", response.Status)
	}
	if f.Report != nil {
		return nil, &badLines{*f.Report}
	}
	return nil, errors.New(f.Error)
}
