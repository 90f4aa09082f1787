package learner

import (
	"math/rand/v2"
	"time"
)

// clock makes the wakes of an agent a Poisson process while the agent runs.
type clock struct {
	wakeMean float64 // in seconds
	schedule *rand.Rand
	next     time.Duration // the next wake; 0: not drawn yet
}

// arm returns the time of the next wake. The waiting time is exponential.
func (c *clock) arm(now time.Duration) time.Duration {
	if c.next == 0 {
		wait := c.wakeMean * c.schedule.ExpFloat64() * float64(time.Second)
		c.next = now + 1 + time.Duration(min(wait, float64(Never/4)))
	}
	return c.next
}

// due reports whether it is time to wake, and reports it once for each wake.
func (c *clock) due(now time.Duration) bool {
	if c.next == 0 || now < c.next {
		return false
	}
	c.next = 0
	return true
}
