// Package logs is the log of a daemon: each subsystem has a level that can be changed while
// the daemon runs, and the newest lines are kept for the owner to read.
package logs

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"p2pnode/internal/ring"
	"p2pnode/node/api"
)

// The subsystems.
const (
	Node      = "node"
	Gossip    = "gossip"
	Discovery = "discovery"
	Sums      = "sums"
	API       = "api"
	LibP2P    = "libp2p" // and other libraries
)

// Subsystems returns the names of all subsystems.
func Subsystems() []string { return []string{Node, Gossip, Discovery, Sums, API, LibP2P} }

// All stands for every subsystem.
const All = "all"

// Off is above every level.
const Off = slog.LevelError + 4

// size is how many lines are kept: at the level info those of several days of a quiet
// node, in 100 kB.
const size = 500

// level is a level and its name.
type level struct {
	name  string
	level slog.Level
}

// levels lists all levels, ascending.
var levels = []level{{"debug", slog.LevelDebug}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError}, {"off", Off}}

// Levels returns the names of all levels, ascending.
func Levels() (names []string) {
	for _, l := range levels {
		names = append(names, l.name)
	}
	return names
}

// Log is where a daemon's lines go. Its methods are safe for concurrent use.
type Log struct {
	out    slog.Handler
	levels map[string]*slog.LevelVar // by subsystem
	lines  *ring.Ring[api.LogLine]
}

// New returns a log that writes lines of at least the given level to out. out must accept
// every level.
func New(out slog.Handler, least slog.Level) *Log {
	l := &Log{out: out, levels: make(map[string]*slog.LevelVar), lines: ring.New[api.LogLine](size)}
	for _, name := range Subsystems() {
		l.levels[name] = new(slog.LevelVar)
		l.levels[name].Set(least)
	}
	return l
}

// Handler returns the handler that writes the lines of a subsystem.
func (l *Log) Handler(subsystem string) slog.Handler {
	return &handler{log: l, subsystem: subsystem, level: l.levels[subsystem], out: l.out.WithAttrs([]slog.Attr{slog.String("subsystem", subsystem)})}
}

// For returns the logger of another subsystem, with the same attributes. If the logger
// belongs to no Log, For returns it unchanged.
func For(log *slog.Logger, subsystem string) *slog.Logger {
	h, ok := log.Handler().(*handler)
	if !ok {
		return log
	}
	return slog.New(h.log.Handler(subsystem).WithAttrs(h.attrs))
}

// Of returns the Log to which a logger belongs, or nil if there is none.
func Of(log *slog.Logger) *Log {
	if h, ok := log.Handler().(*handler); ok {
		return h.log
	}
	return nil
}

// Levels says from which level on each subsystem is logged.
func (l *Log) Levels() api.LogLevels {
	out := make(api.LogLevels, len(l.levels))
	for name, v := range l.levels {
		out[name] = nameOf(v.Level())
	}
	return out
}

// Set changes from which level on a subsystem is logged.
func (l *Log) Set(subsystem string, least slog.Level) { l.levels[subsystem].Set(least) }

// SetLevels is Set with names, for some subsystems, and All for those that are not named.
// With a name that is none it fails and changes nothing.
func (l *Log) SetLevels(names api.LogLevels) error {
	wanted := make(map[string]slog.Level, len(names))
	for subsystem, name := range names {
		i := slices.IndexFunc(levels, func(k level) bool { return k.name == name })
		if i < 0 {
			return api.WrongRequest(fmt.Errorf("node: there is no level %q; take one of %s", name, strings.Join(Levels(), ", ")))
		}
		if l.levels[subsystem] == nil && subsystem != All {
			return api.WrongRequest(fmt.Errorf("node: there is no subsystem %q; take %s or %s", subsystem, strings.Join(slices.Sorted(maps.Keys(l.levels)), ", "), All))
		}
		wanted[subsystem] = levels[i].level
	}
	for subsystem := range l.levels {
		least, named := wanted[subsystem]
		if !named {
			least, named = wanted[All]
		}
		if named {
			l.Set(subsystem, least)
		}
	}
	return nil
}

// nameOf returns the name of a level, or of the highest named level below it.
func nameOf(l slog.Level) string {
	name := levels[0].name
	for _, k := range levels {
		if k.level <= l {
			name = k.name
		}
	}
	return name
}

// Lines implements [api.Watcher.Logs].
func (l *Log) Lines(ctx context.Context, last int, follow bool) iter.Seq2[api.LogLine, error] {
	return func(yield func(api.LogLine, error) bool) {
		lines, first, more := l.lines.From(0)
		skip := max(0, len(lines)-max(0, last))
		lines, first = lines[skip:], first+uint64(skip)
		for next := first; ; {
			for i, line := range lines {
				if i == 0 {
					line.Lost = first - next
				}
				if !yield(line, nil) {
					return
				}
			}
			if next = first + uint64(len(lines)); !follow {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
			lines, first, more = l.lines.From(next)
		}
	}
}
