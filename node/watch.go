package node

import (
	"context"
	"errors"
	"iter"

	"p2pnode/node/api"
)

// Events implements [api.Watcher].
func (n *Node) Events(ctx context.Context, since uint64) iter.Seq2[api.Event, error] {
	return n.diary.Events(ctx, since)
}

// errNoLogs says that nobody keeps the log's lines.
var errNoLogs = api.WrongRequest(errors.New("node: this process keeps no log; the daemon's is on its standard error"))

// Logs implements [api.Watcher].
func (n *Node) Logs(context.Context, int, bool) iter.Seq2[api.LogLine, error] {
	return func(yield func(api.LogLine, error) bool) { yield(api.LogLine{}, errNoLogs) }
}

// LogLevels implements [api.Watcher].
func (n *Node) LogLevels(context.Context) (api.LogLevels, error) { return nil, errNoLogs }

// SetLogLevel implements [api.Watcher].
func (n *Node) SetLogLevel(context.Context, string, string) error { return errNoLogs }
