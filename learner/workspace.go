package learner

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Workspace is what agents driven by one goroutine share, so that a simulation of many
// allocates nothing while it runs. The Ask and the Send of an [Output] lie in it: they
// last until the next call of any agent that shares it. A task is checked when the
// first of its agents is made, and must not change from then on. The zero value is
// ready; not safe for concurrent use.
type Workspace struct {
	// Vector, if set, gives learner "personal" the memory of its next shared model,
	// length [Task.Dimension]. It may be given out again once the agent has made
	// another release, and none of those who were sent it can look at it any more:
	// they took a newer one from the agent, or lost the edge, or never take it.
	Vector func() []float64
	// Between, if set, is called at each wake of learner "personal" whenever it has done
	// with a record or a neighbour: for a driver with a little to do all the time.
	Between func()

	checked        *Task
	loss           loss      // of the checked task: one for all, which stays in the cache
	zero           []float64 // where all agents start
	gradient, mean []float64
	madeUp         []float64
	memory         privacy.Memory
	sums           []privacy.Sum
	query          Query
	send           [1]Message

	personals places[personal]
	edges     places[Edge]
	latest    places[latest]
	slots     places[slot]
}

// places is memory for what agents have, one after the other in the order in which they took
// it: those of a simulation are too many for a cache, and each wakes in one go.
type places[T any] struct {
	free []T
	made int // the last time, twice as many as before
}

// leastPlaces are how many are made at first, and mostPlaces how many at last.
const leastPlaces, mostPlaces = 64, 1 << 14

// take returns memory for n things.
func (p *places[T]) take(n int) []T {
	if n > len(p.free) {
		p.made = max(n, leastPlaces, min(2*p.made, mostPlaces))
		p.free = make([]T, p.made)
	}
	taken := p.free[:n:n]
	p.free = p.free[n:]
	return taken
}

func (s *Workspace) newPersonal() *personal {
	if s == nil {
		return new(personal)
	}
	return &s.personals.take(1)[0]
}

func (s *Workspace) newEdges(n int) []Edge {
	if s == nil {
		return make([]Edge, n)
	}
	return s.edges.take(n)
}

func (s *Workspace) newLatest(n int) []latest {
	if s == nil {
		return make([]latest, n)
	}
	return s.latest.take(n)
}

func (s *Workspace) newSlots(n int) []slot {
	if s == nil {
		return make([]slot, n)
	}
	return s.slots.take(n)
}

// vectors returns two vectors of length p with anything in them.
func (s *Workspace) vectors(p int) (gradient, mean []float64) {
	s.gradient = slices.Grow(s.gradient[:0], p)[:p]
	s.mean = slices.Grow(s.mean[:0], p)[:p]
	return s.gradient, s.mean
}

func (s *Workspace) between() {
	if s != nil && s.Between != nil {
		s.Between()
	}
}

// check is an error unless the task is valid. Without a workspace it is asked every
// time.
func (s *Workspace) check(t *Task) error {
	if s == nil {
		return t.Validate()
	}
	if s.checked == t {
		return nil
	}
	if err := t.Validate(); err != nil {
		return err
	}
	s.checked, s.loss = t, t.loss()
	return nil
}

// lossOf is the loss of a task that was checked.
func (s *Workspace) lossOf(t *Task) loss {
	if s == nil {
		return t.loss()
	}
	return s.loss
}

// orNew returns s, or a workspace of its own for one call if it is nil: then what lies
// in it lasts.
func (s *Workspace) orNew() *Workspace {
	if s == nil {
		return new(Workspace)
	}
	return s
}

// zeros is the model at which agents of p parameters start: one for all, since nobody
// changes a model.
func (s *Workspace) zeros(p int) []float64 {
	if s == nil {
		return make([]float64, p)
	}
	if len(s.zero) != p {
		s.zero = make([]float64, p)
	}
	return s.zero
}

// vector is memory for a model of p parameters.
func (s *Workspace) vector(p int) []float64 {
	if s == nil || s.Vector == nil {
		return make([]float64, p)
	}
	return s.Vector()
}

// clippedSums returns, for each active cohort, the sum of the clipped gradients of
// its records' losses at theta. Only the data part: the regulariser is public. An empty
// slot takes the time of a record.
func (s *Workspace) clippedSums(t *training, l loss, m privacy.Mechanism, theta []float64) []privacy.Sum {
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
			s.addGradient(sum, &c.slots[k], l, theta, gradient)
			s.between()
		}
	}
	return s.sums
}

// addGradient adds the clipped gradient of a slot's loss at theta to a sum. With one
// score it is a number times the features, and need not be written anywhere.
func (s *Workspace) addGradient(sum *privacy.Sum, r *slot, l loss, theta, gradient []float64) {
	x, y := r.x, r.y
	if x == nil {
		x, y = s.madeUp, madeUpLabel
	}
	if one, ok := l.(scalar); ok && sum.AddScaled(one.f.slope(floats.Dot(theta, x), y), x, r.x != nil) {
		return
	}
	l.gradient(gradient, theta, x, y)
	if r.x != nil {
		sum.Add(gradient)
	} else {
		sum.AddEmpty(gradient)
	}
}
