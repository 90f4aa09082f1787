package node

import (
	"time"

	"p2pnode/learner"
)

// slot is the grid of publishing times.
const slot = 100 * time.Millisecond

// publicSlot is when a protected release goes out: at the first time of the grid that is at
// least wait after the wake. The wait is one slot and a public estimate of the work, so the
// time says nothing about how long the computation took. Times are on the agent's clock.
// Messages with the zero publicSlot go out at once.
type publicSlot struct{ woke, wait time.Duration }

// at returns the time of the slot. A message that is late, on a slow or busy device, waits
// for a time twice as far from the wake, and so on. That tells less of how late it is than
// the next slot would.
func (s publicSlot) at(now time.Duration) time.Duration {
	if s.wait == 0 {
		return 0
	}
	for wait := s.wait; ; wait *= 2 {
		if at := ((s.woke+wait)/slot + 1) * slot; at >= now {
			return at
		}
	}
}

// slotOf returns when the messages go out that follow from a query asked at the wake.
func slotOf(q *learner.Query, woke time.Duration) publicSlot {
	if !q.Mechanism.Protected() {
		return publicSlot{}
	}
	return publicSlot{woke, slot + work(q)}
}

const (
	// perCoordinate is what a coordinate of one record's gradient may take, about ten
	// times what it takes on a desktop.
	perCoordinate = 100 * time.Nanosecond
	// perGradient is the rest of a gradient's time, in coordinates, and perNoise the time
	// to draw the noise of a coordinate, in gradients.
	perGradient, perNoise = 8, 100
	longestWork           = 24 * time.Hour
)

// work is a generous estimate of how long it takes to work the query out and to draw
// its noise. It looks at public things only: slots, coordinates and passes.
func work(q *learner.Query) time.Duration {
	gradients, coordinates := perNoise, 0
	for i := range q.Sums {
		gradients += q.Sums[i].Slots() * max(1, q.Passes)
		coordinates = q.Sums[i].Dimension() + perGradient
	}
	return time.Duration(min(float64(gradients)*float64(coordinates)*float64(perCoordinate), float64(longestWork)))
}
