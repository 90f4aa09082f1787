package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"p2pnode/testnet"
)

// How often progress is shown: one line that changes on a terminal, a new line
// elsewhere.
const (
	redrawEvery = time.Second
	printEvery  = 5 * time.Second
)

// progress shows how far the run is until it is stopped.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	start    time.Time

	mu     sync.Mutex
	latest testnet.Progress

	quit, done chan struct{}
}

// startProgress shows progress on w until stop is called.
func startProgress(w io.Writer, now func() time.Time) *progress {
	p := &progress{w: w, terminal: isTerminal(w), now: now, start: now(), quit: make(chan struct{}), done: make(chan struct{})}
	go p.show()
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// set takes the latest progress; it is the callback of [testnet.Config].
func (p *progress) set(latest testnet.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = latest
}

// say writes a line that stays.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "%4.0fs %s\n", p.now().Sub(p.start).Seconds(), line)
}

// stop ends the display and waits for it.
func (p *progress) stop() {
	close(p.quit)
	<-p.done
}

func (p *progress) show() {
	defer close(p.done)
	every := printEvery
	if p.terminal {
		every = redrawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			if p.terminal {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		case <-tick.C:
			p.draw()
		}
	}
}

// draw writes the line that changes.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K"+p.line())
	} else {
		fmt.Fprintln(p.w, p.line())
	}
}

// line is the progress in a line short enough for a narrow terminal. The caller holds mu.
func (p *progress) line() string {
	l := p.latest
	text := fmt.Sprintf("%4.0fs", p.now().Sub(p.start).Seconds())
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
