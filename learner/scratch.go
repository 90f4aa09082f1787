package learner

import (
	"slices"

	"p2pnode/privacy"
)

// Scratch is working memory that agents driven by one goroutine share, so that a
// simulation of many allocates nothing while it runs. The Ask and the Send of an
// [Output] lie in it: they last until the next call of any agent that shares it.
// The zero value is ready; not safe for concurrent use.
type Scratch struct {
	gradient, mean []float64
	madeUp         []float64
	memory         privacy.Memory
	sums           []privacy.Sum
	query          Query
	send           [1]Message
}

// vectors returns two vectors of length p with anything in them.
func (s *Scratch) vectors(p int) (gradient, mean []float64) {
	s.gradient = slices.Grow(s.gradient[:0], p)[:p]
	s.mean = slices.Grow(s.mean[:0], p)[:p]
	return s.gradient, s.mean
}

// or returns s, or new memory if it is nil: then what lies in it lasts.
func (s *Scratch) or() *Scratch {
	if s == nil {
		return new(Scratch)
	}
	return s
}

// clippedSums returns, for each active cohort, the sum of the clipped gradients of
// its records' losses at theta. Only the data part: the regulariser is public. An empty
// slot takes the time of a record.
func (s *Scratch) clippedSums(t *training, l loss, m privacy.Mechanism, theta []float64) []privacy.Sum {
	gradient, _ := s.vectors(len(theta))
	theta = flushed(theta)
	p := len(theta) / l.scores()
	s.madeUp = madeUp(slices.Grow(s.madeUp[:0], p)[:p])
	s.memory.Forget()
	s.sums = s.sums[:0]
	for i := range t.cohorts {
		c := &t.cohorts[i]
		if c.retired {
			continue
		}
		s.sums = append(s.sums, s.memory.NewSum(m, c.number, len(theta)))
		sum := &s.sums[len(s.sums)-1]
		for k := range c.slots {
			if r := &c.slots[k]; r.x == nil {
				l.gradient(gradient, theta, s.madeUp, madeUpLabel)
				sum.AddEmpty(gradient)
			} else {
				l.gradient(gradient, theta, r.x, r.y)
				sum.Add(gradient)
			}
		}
	}
	return s.sums
}
