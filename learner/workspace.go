package learner

import (
	"slices"
	"unsafe"

	"p2pnode/privacy"
)

// Workspace is shared by agents that one goroutine drives, so that a simulation of many
// agents allocates nothing while it runs, but for the means of models that there are with
// noise. The Ask and the Send of an [Output] lie in
// it: they last until the next call of any agent that shares it. A task is checked when
// the first of its agents is made, and must not change after that. The zero value is
// ready to use; a workspace is not safe for concurrent use.
type Workspace struct {
	// Vector, if set, returns the memory for the next shared model of learner
	// "personal", of length [Task.Dimension]. It may return the same memory again once
	// the agent has made another release and no receiver of the old model can look at
	// it any more: each has received a newer model from the agent, or lost the edge, or
	// will never receive it.
	Vector func() []float64
	// Between, if set, is called at each wake of learner "personal" after each record
	// and each neighbour. It is for a driver with small pieces of work of its own.
	Between func()

	checked        *Task
	loss           loss      // of the checked task: one for all agents, which stays in the cache
	zero           []float64 // the model at which all agents start
	gradient, mean []float64
	madeUp         []float64
	memory         privacy.Memory
	rows           privacy.Rows
	sums           []privacy.Sum
	query          Query
	send           [1]Message

	personals places[personal]
	edges     places[Edge]
	latest    places[latest]
	slots     places[slot]
}

// places allocates the things that agents own one after the other, in the order in
// which agents ask. A simulation has too many for a cache, and what an agent reads at a
// wake should lie together.
type places[T any] struct {
	free []T
	made int // size of the last allocation; the next is twice as large
}

// Share is what a workspace's agents of learner "personal" will need.
type Share struct {
	Workspace              *Workspace
	Agents, Edges, Records int
}

// Reserve makes room for what the agents of several workspaces own, so that each kind of
// thing lies in one block, in the order of the shares. It tells fresh of each block before
// anything is written to it.
func Reserve(shares []Share, fresh func(at unsafe.Pointer, size uintptr)) {
	var agents, edges, records int
	for i := range shares {
		s := &shares[i]
		agents, edges, records = agents+s.Agents, edges+s.Edges, records+s.Records
	}
	all := Workspace{}
	all.personals.reserve(agents, fresh)
	all.latest.reserve(edges, fresh)
	all.slots.reserve(records, fresh)
	for i := range shares {
		s := &shares[i]
		s.Workspace.personals.free = all.personals.take(s.Agents)
		s.Workspace.latest.free = all.latest.take(s.Edges)
		s.Workspace.slots.free = all.slots.take(s.Records)
	}
}

// reserve allocates memory for n things.
func (p *places[T]) reserve(n int, fresh func(at unsafe.Pointer, size uintptr)) {
	p.free = make([]T, n)
	show(fresh, p.free)
}

// leastPlaces is the size of the first allocation, and mostPlaces that of the last
// ones.
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

// vectors returns two vectors of length p with undefined content.
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

// check returns an error unless the task is valid. Without a workspace it validates the
// task every time.
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

// lossOf returns the loss of a task that was checked.
func (s *Workspace) lossOf(t *Task) loss {
	if s == nil {
		return t.loss()
	}
	return s.loss
}

// orNew returns s or, if s is nil, a new workspace for one call; then its content
// lasts.
func (s *Workspace) orNew() *Workspace {
	if s == nil {
		return new(Workspace)
	}
	return s
}

// zeros is the model at which agents of p parameters start. They share it, because
// nobody changes a model.
func (s *Workspace) zeros(p int) []float64 {
	if s == nil {
		return make([]float64, p)
	}
	if len(s.zero) != p {
		s.zero = make([]float64, p)
	}
	return s.zero
}

// vector returns memory for a model of p parameters.
func (s *Workspace) vector(p int) []float64 {
	if s == nil || s.Vector == nil {
		return make([]float64, p)
	}
	return s.Vector()
}

// clippedSums returns, for each active cohort, the sum of the clipped gradients of its
// records' losses at theta, as far as one answer has room for them: the oldest first. It is
// only the part of the data: the regulariser is public.
// An empty slot takes as long as a record.
func (s *Workspace) clippedSums(t *training, l loss, m privacy.Mechanism, theta []float64) []privacy.Sum {
	gradient, _ := s.vectors(len(theta))
	theta = flushed(theta)
	if p := len(theta) / l.scores(); len(s.madeUp) != p {
		s.madeUp = madeUp(make([]float64, p))
	}
	s.memory.Forget()
	s.sums = s.sums[:0]
	for i := range t.cohorts {
		c := &t.cohorts[i]
		if c.retired {
			continue
		}
		s.sums = append(s.sums, s.memory.NewSum(m, c.number, len(theta)))
		sum := &s.sums[len(s.sums)-1]
		if one, ok := l.(scalar); ok {
			for slots := range slices.Chunk(c.slots, privacy.MostRows) {
				s.addRows(sum, slots, one.f, theta)
			}
			continue
		}
		for k := range c.slots {
			s.addGradient(sum, &c.slots[k], l, theta, gradient)
			s.between()
		}
	}
	s.sums = m.Fitting(s.sums)
	return s.sums
}

// addRows adds the clipped gradients of some slots' losses at theta to a sum. With one
// score each is a number times the features, so it need not be written out, and two
// products are worked out at a time.
func (s *Workspace) addRows(sum *privacy.Sum, slots []slot, l scalarLoss, theta []float64) {
	s.rows.Empty()
	for k := range slots {
		x, _ := s.content(&slots[k])
		s.rows.Put(x)
	}
	for k := 0; k < len(slots); k += 2 {
		s.rows.Multiply(theta, k, min(k+2, len(slots)))
		s.between()
		s.between()
	}
	for k := range slots {
		_, y := s.content(&slots[k])
		s.rows.Scale(k, l.slope(s.rows.Product(k), y), slots[k].x != nil)
	}
	sum.AddRows(&s.rows)
}

// content is the record of a slot, or a made-up one if it is empty.
func (s *Workspace) content(r *slot) (x []float64, y float64) {
	if r.x == nil {
		return s.madeUp, madeUpLabel
	}
	return r.x, r.y
}

// addGradient adds the clipped gradient of a slot's loss at theta to a sum.
func (s *Workspace) addGradient(sum *privacy.Sum, r *slot, l loss, theta, gradient []float64) {
	x, y := s.content(r)
	l.gradient(gradient, theta, x, y)
	if r.x != nil {
		sum.Add(gradient)
	} else {
		sum.AddEmpty(gradient)
	}
}
