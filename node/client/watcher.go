package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"p2pnode/node/api"
)

// LogLevels implements [api.Watcher].
func (c *Client) LogLevels(ctx context.Context) (api.LogLevels, error) {
	return get[api.LogLevels](ctx, c, "/v1/logs/levels")
}

// SetLogLevels implements [api.Watcher].
func (c *Client) SetLogLevels(ctx context.Context, levels api.LogLevels) error {
	return c.order(ctx, http.MethodPut, "/v1/logs/levels", levels, nothing)
}

// Events implements [api.Watcher].
func (c *Client) Events(ctx context.Context, since uint64) iter.Seq2[api.Event, error] {
	return follow[api.Event](ctx, c, fmt.Sprintf("/v1/events?since=%d", since))
}

// Logs implements [api.Watcher].
func (c *Client) Logs(ctx context.Context, last int, more bool) iter.Seq2[api.LogLine, error] {
	return follow[api.LogLine](ctx, c, fmt.Sprintf("/v1/logs?last=%d&follow=%t", last, more))
}

// follow reads values as they arrive: lines of JSON, or the data of server-sent events.
// Only lines with a value begin with a brace.
func follow[T any](ctx context.Context, c *Client, path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := c.send(ctx, call{method: http.MethodGet, path: path}, func(answer io.Reader) error {
			for lines := bufio.NewReader(answer); ; {
				line, err := lines.ReadString('\n')
				if errors.Is(err, io.EOF) || ctx.Err() != nil {
					return nil
				} else if err != nil {
					return fmt.Errorf("client: the daemon has ended: %w", err)
				}
				line = strings.TrimPrefix(line, "data: ")
				if !strings.HasPrefix(line, "{") {
					continue
				}
				var v T
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					return fmt.Errorf("client: read what happened: %w", err)
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
