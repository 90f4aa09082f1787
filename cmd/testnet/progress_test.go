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
		{testnet.Progress{Method: testnet.Broadcast, Seed: 1, Virtual: true, Nodes: 9}, "  12s broadcast: seed 1, simulating 9 nodes"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Virtual: true, Nodes: 9, Sums: 5, Sum: 2}, "  12s private: seed 1, simulating 9 nodes, draw 2 of 5"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Started: 3}, "  12s private: seed 1, 3 of 9 nodes started"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Started: 9, Linked: 3}, "  12s private: seed 1, 3 of 9 nodes are connected to the committee"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Linked: 9, Sums: 16, Sum: 2, Paid: 3}, "  12s private: seed 1, sum 2 of 16, 3 of 9 nodes have contributed"},
		{testnet.Progress{Method: testnet.Private, Seed: 1, Nodes: 9, Linked: 9, Sums: 16, Sum: 2, Paid: 9, Known: 4}, "  12s private: seed 1, sum 2 of 16, 4 of 9 nodes have the result"},
		{testnet.Progress{Method: testnet.Broadcast, Seed: 1, Nodes: 9, Goal: 4, Linked: 3}, "  12s broadcast: seed 1, 3 of 9 nodes have neighbours"},
		{testnet.Progress{Method: testnet.Broadcast, Seed: 1, Nodes: 9, Goal: 4, Linked: 9, Settling: true}, "  12s broadcast: seed 1, waiting until edges stand still"},
		{testnet.Progress{Method: testnet.Broadcast, Seed: 2, Nodes: 9, Goal: 4, Linked: 9, Releases: 1.25, Done: 2}, "  12s broadcast: seed 2, 1.2 of 4 releases, 2 of 9 nodes done"},
	} {
		p := &progress{start: start, now: func() time.Time { return start.Add(12 * time.Second) }}
		p.set(c.latest)
		if got := p.line(); got != c.want || len(got) > 79 {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A line that stays comes between those that change.
func TestProgressSays(t *testing.T) {
	for terminal, want := range map[bool]string{true: "\r\x1b[K  12s it is done\n", false: "  12s it is done\n"} {
		var w strings.Builder
		start := time.Unix(0, 0)
		p := &progress{display: &display{w: &w, terminal: terminal}, start: start, now: func() time.Time { return start.Add(12 * time.Second) }}
		if p.say("it is done"); w.String() != want {
			t.Errorf("got %q, want %q", w.String(), want)
		}
	}
}

// On a terminal the line is drawn anew every second, elsewhere a line is added
// every five, whatever the run reports.
func TestProgressIsShownInTime(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var w strings.Builder
			d := &display{w: &w, terminal: terminal, line: func() string { return "so far" }, quit: make(chan struct{}), done: make(chan struct{})}
			go d.run()
			time.Sleep(20500 * time.Millisecond)
			d.stop()
			redraws, lines := strings.Count(w.String(), "\r\x1b[K"), strings.Count(w.String(), "\n")
			if terminal && (redraws != 21 || lines != 0) { // the last one clears
				t.Errorf("a terminal got %d redraws and %d lines in 20 s", redraws, lines)
			}
			if !terminal && (redraws != 0 || lines != 2) {
				t.Errorf("a file got %d redraws and %d lines in 20 s", redraws, lines)
			}
		})
	}
}
