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
var errNoLogs = api.WrongRequest(errors.New("node: no daemon is running here, and only a daemon keeps its log"))

// Logs implements [api.Watcher].
func (n *Node) Logs(ctx context.Context, last int, follow bool) iter.Seq2[api.LogLine, error] {
	if n.logs == nil {
		return func(yield func(api.LogLine, error) bool) { yield(api.LogLine{}, errNoLogs) }
	}
	return n.logs.Lines(ctx, last, follow)
}

// LogLevels implements [api.Watcher].
func (n *Node) LogLevels(context.Context) (api.LogLevels, error) {
	if n.logs == nil {
		return nil, errNoLogs
	}
	return n.logs.Levels(), nil
}

// SetLogLevels implements [api.Watcher].
func (n *Node) SetLogLevels(_ context.Context, levels api.LogLevels) error {
	if n.logs == nil {
		return errNoLogs
	}
	return n.logs.SetLevels(levels)
}
