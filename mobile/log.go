package mobile

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// logHandler passes the node's log to the listener, one line of text for each record:
// the message, then key=value. The log contains nothing private, because package node
// logs nothing private.
type logHandler struct {
	events *events
	line   *line
	text   slog.Handler // writes to line
}

// line is shared by the text handlers of one logger.
type line struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newLog(e *events) slog.Handler {
	l := new(line)
	return logHandler{e, l, slog.NewTextHandler(&l.buf, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// logLevel is the listener's number for a level.
func logLevel(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return LogError
	case level >= slog.LevelWarn:
		return LogWarn
	case level >= slog.LevelInfo:
		return LogInfo
	}
	return LogDebug
}

// Enabled implements [slog.Handler].
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.events.listener != nil && logLevel(level) >= h.events.level
}

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.buf.Reset()
	if err := h.text.Handle(ctx, r); err != nil {
		return err
	}
	h.events.log(logLevel(r.Level), strings.TrimSpace(strings.ReplaceAll(r.Message, "\n", " ")+" "+h.line.buf.String()))
	return nil
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.text = h.text.WithAttrs(attrs)
	return h
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler {
	h.text = h.text.WithGroup(name)
	return h
}
