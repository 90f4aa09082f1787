package node

import (
	"time"

	"p2pnode/learner"
)

// slot is the grid of publishing times.
const slot = 100 * time.Millisecond

// publicSlot says when a protected release is sent: at the first time of the grid after
// woke plus wait. wait is one slot and a public estimate of the work, so the time says
// nothing about how long the computation took. Times are on the agent's clock. Messages
// with the zero publicSlot are sent at once.
type publicSlot struct{ woke, wait time.Duration }

// at returns the time of the slot. A message that is late, on a slow or busy device, gets
// a time twice as far from the wake, and so on. That reveals less about how late it is
// than the next slot would.
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

// slotOf returns when the messages are sent that follow from a query made at the wake.
func slotOf(q *learner.Query, woke time.Duration) publicSlot {
	if !q.Mechanism.Protected() {
		return publicSlot{}
	}
	return publicSlot{woke, slot + work(q)}
}

const (
	// perCoordinate is the time allowed for a coordinate of one record's gradient, about
	// ten times what it takes on a desktop.
	perCoordinate = 100 * time.Nanosecond
	// perGradient is the time allowed for the rest of a gradient, in coordinates.
	// perNoise is the time allowed for drawing the noise of a coordinate, in gradients.
	perGradient, perNoise = 8, 100
	longestWork           = 24 * time.Hour
)

// work returns a generous estimate of the time for working the query out and drawing its
// noise. It depends on public values only: slots, coordinates and passes.
func work(q *learner.Query) time.Duration {
	gradients, coordinates := perNoise, 0
	for i := range q.Sums {
		gradients += q.Sums[i].Slots() * max(1, q.Passes)
		coordinates = q.Sums[i].Dimension() + perGradient
	}
	return time.Duration(min(float64(gradients)*float64(coordinates)*float64(perCoordinate), float64(longestWork)))
}
