package peering

import (
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	var w window
	var now time.Duration
	room := func(underWay, want int) {
		t.Helper()
		if got := w.room(now, underWay); got != want {
			t.Errorf("room for %d beside %d under way, want %d", got, underWay, want)
		}
	}
	room(0, 1)
	room(1, 0)
	for range 10 {
		w.answered()
	}
	room(0, 2)
	room(3, 0)
	for _, rest := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second} {
		w.failed(now, 0.5)
		room(0, 0)
		now += rest - 1
		room(0, 0)
		now++
		room(0, 1)
	}
	w.answered()
	w.failed(now, 0)
	now += time.Second / 2
	room(0, 1) // an answer makes the rest short again
}
