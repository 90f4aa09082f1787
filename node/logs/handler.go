package logs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"p2pnode/node/api"
)

// handler writes the lines of one subsystem, and keeps the newest.
type handler struct {
	log       *Log
	subsystem string
	level     *slog.LevelVar
	out       slog.Handler
	attrs     []slog.Attr // given to With
	group     string      // given to WithGroup, followed by a point
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	write := func(a slog.Attr) bool {
		if !a.Equal(slog.Attr{}) {
			fmt.Fprintf(&text, " %s=%s", quoted(a.Key), quoted(a.Value.Resolve().String()))
		}
		return true
	}
	for _, a := range h.attrs {
		write(a)
	}
	r.Attrs(func(a slog.Attr) bool { return write(h.named(a)) })
	h.log.lines.Add(func(uint64) api.LogLine {
		return api.LogLine{Time: r.Time, Level: nameOf(r.Level), Subsystem: h.subsystem, Text: text.String()}
	})
	return h.out.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.out, with.attrs = h.out.WithAttrs(attrs), slices.Clone(h.attrs)
	for _, a := range attrs {
		with.attrs = append(with.attrs, h.named(a))
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	with.out, with.group = h.out.WithGroup(name), h.group+name+"."
	return &with
}

func (h *handler) named(a slog.Attr) slog.Attr {
	if !a.Equal(slog.Attr{}) { // an empty attribute must be ignored
		a.Key = h.group + a.Key
	}
	return a
}

// quoted quotes a text that could be misread without quotes.
func quoted(text string) string {
	special := func(r rune) bool { return r == ' ' || r == '"' || r == '=' || !strconv.IsPrint(r) }
	if text == "" || strings.ContainsFunc(text, special) {
		return strconv.Quote(text)
	}
	return text
}
