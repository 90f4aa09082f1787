// Package turn says when to look at what is looked at from time to time: at moments that all
// who look have in common, so that a process wakes once for all of it. What a process costs
// that does nothing else is how often it wakes, whatever for.
package turn

import (
	"math/rand/v2"
	"time"
)

// phase is how far this process's turns are from multiples on the clock. Devices whose clocks
// agree would otherwise all ask each other at the same moment.
var phase = rand.N(time.Minute)

// Wait returns how long it is until a turn, and at least half as long as there is between
// two.
func Wait(every time.Duration) time.Duration {
	now := time.Now()
	return After(now.Add(every/2), every).Sub(now)
}

// After returns when a turn is next, at t or later. It is for what need not be exact and
// mostly never comes, like the end of somebody's patience: a timer that was stopped or moved
// may wake the process all the same.
func After(t time.Time, every time.Duration) time.Time {
	shifted := t.Add(-phase)
	if last := shifted.Truncate(every); !last.Equal(shifted) {
		t = t.Add(every - shifted.Sub(last))
	}
	return t
}
