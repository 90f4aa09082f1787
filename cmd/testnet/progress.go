package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"p2pnode/testnet"
)

// progress shows how far the run is until it is stopped.
type progress struct {
	*display
	now   func() time.Time
	start time.Time

	mu     sync.Mutex
	latest testnet.Progress
}

// startProgress shows progress on w until stop is called.
func startProgress(w io.Writer, now func() time.Time) *progress {
	p := &progress{now: now, start: now()}
	p.display = show(w, p.line)
	return p
}

// set takes the latest progress; it is the callback of [testnet.Config].
func (p *progress) set(latest testnet.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = latest
}

// say writes a line that stays, with the seconds since the start.
func (p *progress) say(line string) {
	p.display.say(p.seconds() + " " + line)
}

func (p *progress) seconds() string { return fmt.Sprintf("%4.0fs", p.now().Sub(p.start).Seconds()) }

// line is the progress in a line short enough for a narrow terminal.
func (p *progress) line() string {
	p.mu.Lock()
	l := p.latest
	p.mu.Unlock()
	text := p.seconds()
	switch {
	case l.Nodes == 0:
		return text + " reading the data"
	case l.Method == testnet.Alone:
		return text + fmt.Sprintf(" %s: seed %d, tuning %d models", l.Method, l.Seed, l.Nodes)
	case l.Virtual && l.Sums > 0:
		return text + fmt.Sprintf(" %s: seed %d, simulating %d nodes, draw %d of %d", l.Method, l.Seed, l.Nodes, l.Sum, l.Sums)
	case l.Virtual:
		return text + fmt.Sprintf(" %s: seed %d, simulating %d nodes", l.Method, l.Seed, l.Nodes)
	case l.Sums > 0 && l.Sum == 0:
		return text + fmt.Sprintf(" %s: seed %d, the committee opens the sum", l.Method, l.Seed)
	case l.Sums > 0 && l.Paid < l.Nodes:
		return text + fmt.Sprintf(" %s: seed %d, sum %d of %d, %d of %d nodes have contributed", l.Method, l.Seed, l.Sum, l.Sums, l.Paid, l.Nodes)
	case l.Sums > 0:
		return text + fmt.Sprintf(" %s: seed %d, sum %d of %d, %d of %d nodes have the result", l.Method, l.Seed, l.Sum, l.Sums, l.Known, l.Nodes)
	case l.Linked > 0 && l.Method == testnet.Private:
		return text + fmt.Sprintf(" %s: seed %d, %d of %d nodes are connected to the committee", l.Method, l.Seed, l.Linked, l.Nodes)
	case l.Goal == 0:
		return text + fmt.Sprintf(" %s: seed %d, %d of %d nodes started", l.Method, l.Seed, l.Started, l.Nodes)
	case l.Releases == 0 && l.Settling:
		return text + fmt.Sprintf(" %s: seed %d, waiting until edges stand still", l.Method, l.Seed)
	case l.Releases == 0:
		return text + fmt.Sprintf(" %s: seed %d, %d of %d nodes have neighbours", l.Method, l.Seed, l.Linked, l.Nodes)
	}
	return text + fmt.Sprintf(" %s: seed %d, %.1f of %d releases, %d of %d nodes done", l.Method, l.Seed, l.Releases, l.Goal, l.Done, l.Nodes)
}
