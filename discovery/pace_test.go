package discovery

import (
	"testing"
	"testing/synctest"
	"time"
)

func quietly() bool { return false }

// rested is how long one rest takes.
func rested(t *testing.T, p *pace, rare bool, changed <-chan struct{}, news func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	p.rest(t.Context(), rare, changed, news)
	return time.Since(start)
}

func within(t *testing.T, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("rested %v, want %v to %v", got, low, high)
	}
}

func TestThePaceSlowsDownAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{first: 200 * time.Millisecond, longest: 5 * time.Minute, grow: 1.5}
		within(t, rested(t, &p, false, nil, quietly), p.first/2, 2*p.first)
		for range 30 {
			p.rest(t.Context(), false, nil, quietly)
		}
		within(t, rested(t, &p, false, nil, quietly), p.longest/2, 2*p.longest)

		// Everybody vanishes: what was enough no longer is.
		p = pace{first: 200 * time.Millisecond, longest: 5 * time.Minute, grow: 1.5}
		gone := time.Now().Add(time.Minute)
		vanished := func() bool { return time.Now().After(gone) }
		within(t, rested(t, &p, true, nil, vanished), time.Minute, time.Minute+lookEvery)
		within(t, rested(t, &p, false, nil, quietly), p.first/2, 2*p.first)
		within(t, rested(t, &p, false, nil, quietly), p.first/2, 3*p.first)

		// The interfaces change.
		p.pause = p.longest
		changed := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(changed) })
		within(t, rested(t, &p, true, changed, quietly), 3*time.Second, 3*time.Second)
		within(t, rested(t, &p, false, nil, quietly), p.first/2, 2*p.first)
	})
}

// TestANodeWithEnoughStaysAtRest counts the looks of a day.
func TestANodeWithEnoughStaysAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{first: 3 * time.Second, longest: 10 * time.Minute, grow: 2}
		looks := 0
		for start := time.Now(); time.Since(start) < 24*time.Hour; looks++ {
			p.rest(t.Context(), true, nil, quietly)
		}
		// The mean of jitter is the pause: 144, with a standard deviation below 4.
		if looks < 110 || looks > 180 {
			t.Errorf("%d looks in a day", looks)
		}
	})
}
