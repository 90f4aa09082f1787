package peering

import "time"

const (
	largestWindow = 2
	firstRest     = time.Second
	longestRest   = 8 * time.Second
)

// window bounds how many new neighbours a node asks for at the same time. It begins
// at one and grows with each answer. A request that gets no answer sets it back to one
// and makes the node wait, longer each time. When a machine or a link is so busy that
// requests time out, more requests would only delay each other.
type window struct {
	answers int // in a row
	rest    time.Duration
	until   time.Duration // no new requests before
}

// room returns how many more requests the node may make.
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
