package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"
)

// daemonTimeout is how long a daemon may take to say that it is alive.
const daemonTimeout = 10 * time.Second

// Client talks to a daemon over the unix socket of its data directory.
type Client struct {
	http    http.Client
	timeout time.Duration
	daemon  atomic.Int64 // process ID; 0: not known
}

// NewClient returns a client for the daemon of a data directory. It does not check whether
// there is one.
func NewClient(dir string) *Client {
	path := filepath.Join(dir, SocketFile)
	c := &Client{timeout: daemonTimeout}
	c.http.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
			if unix, ok := conn.(*net.UnixConn); ok {
				c.daemon.Store(int64(peerProcess(unix)))
			}
			return conn, err
		},
	}
	return c
}

// Close drops the connection.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Alive asks the daemon for a sign of life. If the daemon says nothing for ten seconds,
// Alive and every other request fail with ErrSilent, however long the request itself may
// take.
func (c *Client) Alive(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, "http://daemon/alive", nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err == nil {
		return response.Body.Close()
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("node: the daemon%s %w", c.process(), ErrSilent)
	}
	return err
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
			if err := c.Alive(watched); errors.Is(err, ErrSilent) {
				cancel(err)
			}
		}
	}()
	return watched, func() { cancel(nil) }
}

// Status implements [Owner].
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/status", nil, &s)
}

// Progress implements [Owner].
func (c *Client) Progress(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/progress", nil, &s)
}

// Budget implements [Owner].
func (c *Client) Budget(ctx context.Context) (b Budget, err error) {
	return b, c.call(ctx, http.MethodGet, "/budget", nil, &b)
}

// Verify implements [Owner].
func (c *Client) Verify(ctx context.Context) (v Verification, err error) {
	return v, c.call(ctx, http.MethodGet, "/verify", nil, &v)
}

// Ledger implements [Owner].
func (c *Client) Ledger(ctx context.Context) (lines []Line, err error) {
	return lines, c.call(ctx, http.MethodGet, "/ledger", nil, &lines)
}

// Statement implements [Owner].
func (c *Client) Statement(ctx context.Context) (s SignedStatement, err error) {
	return s, c.call(ctx, http.MethodGet, "/statement", nil, &s)
}

// Peers implements [Owner].
func (c *Client) Peers(ctx context.Context) (p []Peer, err error) {
	return p, c.call(ctx, http.MethodGet, "/peers", nil, &p)
}

// Leave implements [Owner].
func (c *Client) Leave(ctx context.Context) (f Farewell, err error) {
	return f, c.post(ctx, "/leave", struct{}{}, &f)
}

// Doctor implements [Owner].
func (c *Client) Doctor(ctx context.Context) (d Diagnosis, err error) {
	return d, c.call(ctx, http.MethodGet, "/doctor", nil, &d)
}

// Sums implements [Owner].
func (c *Client) Sums(ctx context.Context) (s Sums, err error) {
	return s, c.call(ctx, http.MethodGet, "/sums", nil, &s)
}

// Acquaintances implements [Owner].
func (c *Client) Acquaintances(ctx context.Context) (a []Acquaintance, err error) {
	return a, c.call(ctx, http.MethodGet, "/acquaintances", nil, &a)
}

// AddPeer implements [Owner].
func (c *Client) AddPeer(ctx context.Context, address string) (a Addition, err error) {
	return a, c.post(ctx, "/peers/add", address, &a)
}

// RemovePeer implements [Owner].
func (c *Client) RemovePeer(ctx context.Context, peerOrAddress string) error {
	return c.post(ctx, "/peers/remove", peerOrAddress, new(struct{}))
}

// Import implements [Owner].
func (c *Client) Import(ctx context.Context, csv io.Reader, o ImportOptions) (r ImportReport, err error) {
	options := url.Values{}
	if o.SkipBad {
		options.Set("bad", "skip")
	}
	if o.ID != "" {
		options.Set("id", o.ID)
	}
	if o.Name != "" {
		options.Set("name", o.Name)
	}
	if o.Again {
		options.Set("again", "yes")
	} else if err := CheckKnown(csv, func(file Digest) error { return c.Imported(ctx, o.File(file)) }); err != nil {
		return r, err
	}
	var bad *badLines
	err = c.call(ctx, http.MethodPost, "/records?"+options.Encode(), csv, &r)
	if errors.As(err, &bad) && o.ID != "" {
		return bad.report, ErrSomeBad
	} else if errors.As(err, &bad) {
		return bad.report, ErrBadLines
	}
	return r, err
}

// Put implements [Owner].
func (c *Client) Put(ctx context.Context, l Lines) (a Acknowledgement, err error) {
	return a, c.post(ctx, "/lines", l, &a)
}

// Imported implements [Owner].
func (c *Client) Imported(ctx context.Context, file File) error {
	return c.post(ctx, "/imported", file, new(struct{}))
}

// Records implements [Owner].
func (c *Client) Records(ctx context.Context, content bool) iter.Seq2[RecordInfo, error] {
	path := "/records"
	if content {
		path += "?content=yes"
	}
	return func(yield func(RecordInfo, error) bool) {
		err := c.send(ctx, http.MethodGet, path, nil, func(answer io.Reader) error {
			for lines := json.NewDecoder(answer); ; {
				var r RecordInfo
				if err := lines.Decode(&r); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					if gone := ctx.Err(); gone != nil {
						err = gone // the connection was closed for that
					}
					return fmt.Errorf("node: read the list of records: %w (the daemon's log says more)", err)
				}
				if !yield(r, nil) {
					return errStopped
				}
			}
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(RecordInfo{}, err)
		}
	}
}

// Delete implements [Owner].
func (c *Client) Delete(ctx context.Context, numbers []uint64) error {
	return c.post(ctx, "/delete", numbers, new(struct{}))
}

// Predict implements [Owner].
func (c *Client) Predict(ctx context.Context, row map[string]string) (p Prediction, err error) {
	return p, c.post(ctx, "/predict", row, &p)
}

// PredictRows implements [Owner].
func (c *Client) PredictRows(ctx context.Context, rows Rows) (a Answers, err error) {
	return a, c.post(ctx, "/predict/rows", rows, &a)
}

// Model implements [Owner].
func (c *Client) Model(ctx context.Context) (m Model, err error) {
	return m, c.call(ctx, http.MethodGet, "/model", nil, &m)
}

// Neighbours implements [Owner].
func (c *Client) Neighbours(ctx context.Context) (n Neighbours, err error) {
	return n, c.call(ctx, http.MethodGet, "/neighbours", nil, &n)
}

// Benefit implements [Owner].
func (c *Client) Benefit(ctx context.Context) (b []BenefitPoint, err error) {
	return b, c.call(ctx, http.MethodGet, "/benefit", nil, &b)
}

// Pause implements [Owner].
func (c *Client) Pause(ctx context.Context, reason string) error {
	return c.post(ctx, "/pause", reason, new(struct{}))
}

// Resume implements [Owner].
func (c *Client) Resume(ctx context.Context, reason string) error {
	return c.post(ctx, "/resume", reason, new(struct{}))
}

// Erase implements [Owner].
func (c *Client) Erase(ctx context.Context, confirm string) (e Erased, err error) {
	return e, c.post(ctx, "/erase", confirm, &e)
}

// LogLevels implements [Owner].
func (c *Client) LogLevels(ctx context.Context) (l LogLevels, err error) {
	return l, c.call(ctx, http.MethodGet, "/logs/levels", nil, &l)
}

// SetLogLevel implements [Owner].
func (c *Client) SetLogLevel(ctx context.Context, subsystem, level string) error {
	return c.post(ctx, "/logs/levels", LogLevels{subsystem: level}, new(struct{}))
}

// Events implements [Owner].
func (c *Client) Events(ctx context.Context, since uint64) iter.Seq2[Event, error] {
	return follow[Event](ctx, c, fmt.Sprintf("/events?since=%d", since))
}

// Logs implements [Owner].
func (c *Client) Logs(ctx context.Context, last int, more bool) iter.Seq2[LogLine, error] {
	return follow[LogLine](ctx, c, fmt.Sprintf("/logs?last=%d&follow=%t", last, more))
}

// follow reads lines of JSON as they come.
func follow[T any](ctx context.Context, c *Client, path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := c.send(ctx, http.MethodGet, path, nil, func(answer io.Reader) error {
			for lines := json.NewDecoder(answer); ; {
				var v T
				if err := lines.Decode(&v); errors.Is(err, io.EOF) || ctx.Err() != nil {
					return nil
				} else if err != nil {
					return fmt.Errorf("node: the daemon has ended: %w", err)
				}
				if !yield(v, nil) {
					return errStopped
				}
			}
		})
		if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield(*new(T), err)
		}
	}
}

// Members implements [Owner].
func (c *Client) Members(ctx context.Context) (m Membership, err error) {
	return m, c.call(ctx, http.MethodGet, "/members", nil, &m)
}

// ImportMembers implements [Owner].
func (c *Client) ImportMembers(ctx context.Context, list []byte) error {
	return c.post(ctx, "/members", list, new(struct{}))
}

// Backup implements [Owner]. A copy that breaks off is an error.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	return c.send(ctx, http.MethodGet, "/backup", nil, func(body io.Reader) error {
		if _, err := io.Copy(w, body); err != nil {
			return fmt.Errorf("node: copy the database: %w (the daemon's log says more)", err)
		}
		return nil
	})
}

func (c *Client) post(ctx context.Context, path string, parameter, into any) error {
	body, err := json.Marshal(parameter)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, path, bytes.NewReader(body), into)
}

// errStopped ends a list whose reader wants no more.
var errStopped = errors.New("node: enough of the list")

// badLines carries the report of a refused import out of call.
type badLines struct{ report ImportReport }

func (*badLines) Error() string { return ErrBadLines.Error() }

// call makes a request and reads the JSON of its answer.
func (c *Client) call(ctx context.Context, method, path string, body io.Reader, into any) error {
	return c.send(ctx, method, path, body, func(answer io.Reader) error { return json.NewDecoder(answer).Decode(into) })
}

// send makes a request and hands its answer to read. It fails if the answer reports an
// error.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, read func(io.Reader) error) error {
	ctx, stop := c.watch(ctx)
	defer stop()
	err := c.request(ctx, method, path, body, read)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader, read func(io.Reader) error) error {
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
	if response.StatusCode == http.StatusOK {
		return read(response.Body)
	}
	var f failure
	if err := json.NewDecoder(response.Body).Decode(&f); err != nil {
		return fmt.Errorf("node: the daemon answers %s", response.Status)
	}
	if f.Report != nil {
		return &badLines{*f.Report}
	}
	return told{f.Error, kinds[f.Kind]}
}
