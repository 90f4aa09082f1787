package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/testnet"
)

func TestProgressLine(t *testing.T) {
	start := time.Unix(0, 0)
	for _, c := range []struct {
		latest testnet.Progress
		want   string
	}{
		{testnet.Progress{}, "  12s reading the data"},
		{testnet.Progress{Method: testnet.Alone, Seed: 1, Nodes: 9}, "  12s alone: seed 1, tuning 9 models"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Started: 3}, "  12s private: seed 1, 3 of 9 nodes started"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Goal: 4, Linked: 3}, "  12s private: seed 1, 3 of 9 nodes have neighbours"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Goal: 4, Linked: 9, Settling: true}, "  12s private: seed 1, waiting until edges stand still"},
		{testnet.Progress{Method: testnet.Together, Seed: 2, Nodes: 9, Goal: 4, Linked: 9, Releases: 1.25, Done: 2}, "  12s together: seed 2, 1.2 of 4 releases, 2 of 9 nodes done"},
	} {
		p := &progress{start: start, now: func() time.Time { return start.Add(12 * time.Second) }}
		p.set(c.latest)
		if got := p.line(); got != c.want || len(got) > 79 {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// On a terminal the line is drawn anew every second, elsewhere a line is added
// every five, whatever the run reports.
func TestProgressIsShownInTime(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var w strings.Builder
			p := &progress{w: &w, terminal: terminal, now: time.Now, start: time.Now(), quit: make(chan struct{}), done: make(chan struct{})}
			go p.show()
			time.Sleep(20500 * time.Millisecond)
			p.stop()
			redraws, lines := strings.Count(w.String(), "\r\x1b[K"), strings.Count(w.String(), "\n")
			if terminal && (redraws != 21 || lines != 0) { // the last one clears
				t.Errorf("a terminal got %d redraws and %d lines in 20 s", redraws, lines)
			}
			if !terminal && (redraws != 0 || lines != 4) {
				t.Errorf("a file got %d redraws and %d lines in 20 s", redraws, lines)
			}
		})
	}
}
