package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// showCounts says on w how many of how many runs are done, until stop is called. set
// may be called from any goroutine.
func showCounts(w io.Writer, format string) (set func(done, all int), stop func()) {
	var done, all atomic.Int64
	set = func(d, a int) { done.Store(int64(d)); all.Store(int64(a)) }
	return set, showLine(w, func() string { return fmt.Sprintf(format, done.Load(), all.Load()) })
}

// showLine shows a line on w until stop is called: on a terminal one line that
// changes, elsewhere a new line now and then.
func showLine(w io.Writer, line func() string) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	terminal := isTerminal(w)
	go func() {
		defer close(ended)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for ticks := 0; ; ticks++ {
			select {
			case <-quit:
				if terminal {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
				switch {
				case terminal:
					fmt.Fprint(w, "\r\x1b[K"+line())
				case ticks%5 == 0:
					fmt.Fprintln(w, line())
				}
			}
		}
	}()
	return func() { close(quit); <-ended }
}
