package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"p2pnode/node/api"
)

// get asks a question without parameters.
func get[T any](ctx context.Context, c *Client, path string) (v T, err error) {
	return v, c.send(ctx, call{method: http.MethodGet, path: path}, into(&v))
}

// post makes a request whose parameter is a JSON value.
func post[T any](ctx context.Context, c *Client, path string, parameter any) (v T, err error) {
	return v, c.order(ctx, http.MethodPost, path, parameter, into(&v))
}

// order makes a request whose parameter is a JSON value, and passes the answer to read.
func (c *Client) order(ctx context.Context, method, path string, parameter any, read func(io.Reader) error) error {
	body, err := json.Marshal(parameter)
	if err != nil {
		return err
	}
	return c.send(ctx, call{method, path, "application/json", bytes.NewReader(body)}, read)
}

// into reads an answer that is one JSON value.
func into(v any) func(io.Reader) error {
	return func(answer io.Reader) error { return json.NewDecoder(answer).Decode(v) }
}

// nothing reads an answer that only says that the request was done.
func nothing(io.Reader) error { return nil }

// call is a request.
type call struct {
	method, path string
	media        string // the media type of body
	body         io.Reader
}

// refused is an answer that reports an error.
type refused struct {
	error
	problem api.Problem
}

// Unwrap is for [errors.Is] and its kin.
func (r refused) Unwrap() error { return r.error }

// send makes a request and passes the answer to read. It fails if the answer reports an
// error.
func (c *Client) send(ctx context.Context, q call, read func(io.Reader) error) error {
	ctx, stop := c.watch(ctx)
	defer stop()
	err := c.request(ctx, q, read)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, api.ErrSilent) {
		return cause
	}
	return err
}

func (c *Client) request(ctx context.Context, q call, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, q.method, c.base+q.path, q.body)
	if err != nil {
		return err
	}
	if q.media != "" {
		request.Header.Set("Content-Type", q.media)
	}
	response, err := c.http.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, which would tell the user nothing
	}
	if own, ok := errors.AsType[unread](err); ok {
		return fmt.Errorf("client: read the file: %w", own)
	}
	if err != nil {
		return fmt.Errorf("client: the daemon does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusMultipleChoices {
		return read(response.Body)
	}
	var p api.Problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		return fmt.Errorf("client: the server answers %s", response.Status)
	}
	if p.Detail == "" { // the answer is not from a p2pnode
		p.Detail = "the server answers " + response.Status
	}
	return refused{p.Err(), p}
}

// errStopped ends a list when its reader wants no more of it.
var errStopped = errors.New("client: enough of the list")

// list reads an answer that has one line of JSON for each element, while it arrives.
func list[T any](ctx context.Context, c *Client, path, what string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := c.send(ctx, call{method: http.MethodGet, path: path}, func(answer io.Reader) error {
			for lines := json.NewDecoder(answer); ; {
				var v T
				if err := lines.Decode(&v); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					if gone := ctx.Err(); gone != nil {
						err = gone // that is why the connection was closed
					}
					return fmt.Errorf("client: read %s: %w (the daemon's log says more)", what, err)
				}
				if !yield(v, nil) {
					return errStopped
				}
			}
		})
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, err)
		}
	}
}
