package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// How often a display shows its line: one that changes on a terminal, a new one
// elsewhere.
const (
	redrawEvery = time.Second
	printEvery  = 10 * time.Second
)

// clearLine is the terminal's sequence for an empty line.
const clearLine = "\r\x1b[K"

// display shows how far something is, in a line, until it is stopped.
type display struct {
	w          io.Writer
	terminal   bool
	line       func() string
	mu         sync.Mutex // one line is written at a time
	quit, done chan struct{}
}

// show shows the present line on w until stop is called.
func show(w io.Writer, line func() string) *display {
	d := &display{w: w, terminal: isTerminal(w), line: line, quit: make(chan struct{}), done: make(chan struct{})}
	go d.run()
	return d
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (d *display) run() {
	defer close(d.done)
	every := printEvery
	if d.terminal {
		every = redrawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-d.quit:
			if d.terminal {
				fmt.Fprint(d.w, clearLine)
			}
			return
		case <-tick.C:
			d.draw()
		}
	}
}

// draw writes the line that changes.
func (d *display) draw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.terminal {
		fmt.Fprint(d.w, clearLine+d.line())
	} else {
		fmt.Fprintln(d.w, d.line())
	}
}

// say writes a line that stays.
func (d *display) say(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.terminal {
		fmt.Fprint(d.w, clearLine)
	}
	fmt.Fprintln(d.w, line)
}

// stop ends the display and waits for it.
func (d *display) stop() {
	close(d.quit)
	<-d.done
}

// showCounts says on w how many of how many runs are done, until stop is called. set
// may be called from any goroutine.
func showCounts(w io.Writer, format string) (set func(done, all int), stop func()) {
	var done, all atomic.Int64
	set = func(d, a int) { done.Store(int64(d)); all.Store(int64(a)) }
	return set, show(w, func() string { return fmt.Sprintf(format, done.Load(), all.Load()) }).stop
}
