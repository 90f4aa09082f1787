package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/logs"
)

func kept(l *logs.Log, last int) (list []string) {
	for line, err := range l.Lines(context.Background(), last, false) {
		if err != nil {
			return []string{err.Error()}
		}
		list = append(list, fmt.Sprintf("%s %s %s", line.Level, line.Subsystem, line.Text))
	}
	return list
}

// Each subsystem has a level that changes while loggers are in use, for what is written and
// for what is kept.
func TestLevelsBySubsystem(t *testing.T) {
	var out bytes.Buffer
	l := logs.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}), slog.LevelInfo)
	node := slog.New(l.Handler(logs.Node)).With("node", "abc")
	gossip := logs.For(node, logs.Gossip)
	speak := func() {
		node.Debug("a detail")
		gossip.Debug("another", "peer", "x y", "count", 3)
	}
	speak()
	require.NoError(t, l.SetLevels(api.LogLevels{logs.Gossip: "debug"}))
	speak()
	require.NoError(t, l.SetLevels(api.LogLevels{logs.All: "off"}))
	speak()
	node.Error("nobody hears this")
	require.NoError(t, l.SetLevels(api.LogLevels{logs.Node: "warn"}))
	node.WithGroup("disk").Warn("full", "free", 0, slog.Attr{})
	want := []string{`debug gossip another node=abc peer="x y" count=3`, "warn node full node=abc disk.free=0"}
	if got := kept(l, 100); !slices.Equal(got, want) {
		t.Errorf("%q is kept; want %q", got, want)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], `subsystem=gossip node=abc peer="x y" count=3`) {
		t.Errorf("%q was written; want two lines", lines)
	}
	if got := l.Levels(); got[logs.Node] != "warn" || got[logs.Gossip] != "off" {
		t.Errorf("the levels are %v", got)
	}
	before := l.Levels()
	for _, wrong := range []api.LogLevels{{"gossip": "loud", "node": "debug", "all": "info"}, {"gossips": "info", "node": "debug"}} {
		if err := l.SetLevels(wrong); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%v: %v; want a wrong request", wrong, err)
		}
		if got := l.Levels(); !maps.Equal(got, before) {
			t.Errorf("%v was wrong, and changed the levels to %v", wrong, got)
		}
	}
}

// A logger of another kind serves all subsystems.
func TestOtherLoggers(t *testing.T) {
	other := slog.New(slog.DiscardHandler)
	if logs.Of(other) != nil || logs.For(other, logs.Gossip) != other {
		t.Error("a logger without levels is changed")
	}
}

func TestNewestLinesAreKept(t *testing.T) {
	l := logs.New(slog.DiscardHandler, slog.LevelInfo)
	log := slog.New(l.Handler(logs.Node))
	for i := range 2000 {
		log.Info(fmt.Sprint(i))
	}
	if got := kept(l, 2); !slices.Equal(got, []string{"info node 1998", "info node 1999"}) {
		t.Errorf("the last two are %q", got)
	}
	if got := kept(l, 1<<20); len(got) < 100 || len(got) > 1000 {
		t.Errorf("%d lines are kept", len(got))
	}
	if got := kept(l, 0); len(got) != 0 {
		t.Errorf("none are %q", got)
	}
}

// Who follows sees each line, or how many were lost; nobody waits.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logs.New(slog.DiscardHandler, slog.LevelInfo)
		log := slog.New(l.Handler(logs.Node))
		log.Info("old")
		ctx, cancel := context.WithCancel(t.Context())
		done, goOn := make(chan struct{}), make(chan struct{})
		var seen []api.LogLine
		go func() {
			defer close(done)
			for line := range l.Lines(ctx, 0, true) {
				if seen = append(seen, line); len(seen) == 1 {
					<-goOn
				}
			}
		}()
		synctest.Wait()
		log.Info("first")
		synctest.Wait()
		for range 2000 {
			log.Info("many")
		}
		close(goOn)
		synctest.Wait()
		cancel()
		<-done
		if len(seen) < 3 || seen[0].Text != "first" || seen[1].Lost == 0 || seen[1].Lost+uint64(len(seen)) != 2001 || seen[2].Lost != 0 {
			t.Errorf("%d lines were seen, and %d lost; want all 2001", len(seen), seen[1].Lost)
		}
	})
}
