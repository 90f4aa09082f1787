// Package turn says when to look at what is looked at from time to time: when the clock
// shows a multiple, so that a process wakes once for all of it. What a process costs that
// does nothing else is how often it wakes, whatever for.
package turn

import "time"

// Wait returns how long it is until the clock shows a multiple of a duration, and at least
// half as long as that.
func Wait(every time.Duration) time.Duration {
	now := time.Now()
	return After(now.Add(every/2), every).Sub(now)
}

// After returns when the clock shows a multiple of a duration next, at t or later. It is for
// what need not be exact and mostly never comes, like the end of somebody's patience: a
// timer that was stopped or moved may wake the process all the same.
func After(t time.Time, every time.Duration) time.Time {
	if last := t.Truncate(every); !last.Equal(t) {
		t = t.Add(every - t.Sub(last))
	}
	return t
}
