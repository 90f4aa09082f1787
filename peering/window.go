package peering

import "time"

const (
	largestWindow = 2
	firstRest     = time.Second
	longestRest   = 8 * time.Second
)

// window bounds how many new neighbours a node asks for at the same time. It begins
// at one and grows with each answer; a request that gets none makes it one again
// and lets the node rest, each time longer. When a machine or a link is so busy that
// requests time out, more of them would only keep each other from being answered.
type window struct {
	answers int // in a row
	rest    time.Duration
	until   time.Duration // no new requests before
}

// room is how many more requests there may be when so many are under way.
func (w *window) room(now time.Duration, underWay int) int {
	if now < w.until {
		return 0
	}
	return max(0, min(1+w.answers, largestWindow)-underWay)
}

func (w *window) answered() { w.answers, w.rest = w.answers+1, 0 }

// failed takes a random number in [0, 1), so that nodes do not come back in step.
func (w *window) failed(now time.Duration, random float64) {
	w.answers = 0
	w.rest = min(max(2*w.rest, firstRest), longestRest)
	w.until = now + time.Duration((0.5+random)*float64(w.rest))
}
