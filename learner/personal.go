package learner

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// newPersonal returns the agent of Bellet et al. 2018: asynchronous block
// coordinate descent on the joint objective Q (eq. 2) with private wakes
// (eq. 6). Its wakes are a Poisson process that depends on nothing but
// Schedule.
//
// A neighbour counts from its first message on. In the paper every agent starts
// at a common public point and unheard neighbours pull toward it; left out, they
// measured a little better, and one that never speaks does no harm.
func newPersonal(c Config) (Agent, error) {
	p := &personal{
		task: c.Task, loss: c.Task.loss(), self: c.Self, policy: c.Policy, made: c.Made,
		wakeMean: c.WakeMean, schedule: c.Schedule,
		model: make([]float64, c.Task.Dimension()),
	}
	return p, p.resume(c.Resume)
}

// personal is the agent of Task.Learner "personal".
type personal struct {
	task     *Task
	loss     loss
	self     ID
	policy   privacy.Policy
	wakeMean float64
	schedule *rand.Rand
	next     time.Duration // of the wake clock; 0 before the first input

	training training
	edges    []edge // sorted by peer
	round    uint64
	model    []float64 // as published: what the others saw is what it goes on from
	noiseStd float64
	made     int               // releases, for the policy
	asked    bool              // a query is at the door
	asking   privacy.Mechanism // of that query
}

// edge is a neighbour and the newest it said.
type edge struct {
	Edge
	heard Heard // Round 0: nothing yet, Model is nil
}

func (p *personal) resume(s *State) error {
	if s == nil {
		return nil
	}
	if len(s.Model) != len(p.model) || !finite(s.Model) {
		return fmt.Errorf("learner: the saved model does not fit the task, which has %d parameters", len(p.model))
	}
	p.round, p.noiseStd = s.Round, s.NoiseStd
	copy(p.model, s.Model)
	edges := make([]Edge, len(s.Heard))
	for i, h := range s.Heard {
		edges[i] = Edge{Peer: h.Peer, Weight: h.Weight}
	}
	p.setEdges(edges)
	for _, h := range s.Heard {
		if len(h.Model) != len(p.model) {
			return fmt.Errorf("learner: the saved model of %s does not fit the task", h.Peer)
		}
		if i, found := p.find(h.Peer); found {
			h.Model = slices.Clone(h.Model)
			p.edges[i].heard = h
		}
	}
	return nil
}

// Neighbours implements [Agent]. Edges without a positive finite weight, to
// itself, or named twice are ignored.
func (p *personal) Neighbours(now time.Duration, edges []Edge) Output {
	p.setEdges(edges)
	return p.output(now)
}

func (p *personal) setEdges(edges []Edge) {
	old := p.edges
	fresh := make([]edge, 0, len(edges))
	for _, e := range edges {
		if e.Weight > 0 && !math.IsInf(e.Weight, 0) && e.Peer != p.self {
			fresh = append(fresh, edge{Edge: e})
		}
	}
	slices.SortStableFunc(fresh, func(a, b edge) int { return cmp.Compare(a.Peer, b.Peer) })
	fresh = slices.CompactFunc(fresh, func(a, b edge) bool { return a.Peer == b.Peer })
	for i := range fresh {
		if k, found := findEdge(old, fresh[i].Peer); found {
			fresh[i].heard = old[k].heard
			fresh[i].heard.Weight = fresh[i].Weight
		}
	}
	p.edges = fresh
}

func findEdge(edges []edge, peer ID) (int, bool) {
	return slices.BinarySearchFunc(edges, peer, func(e edge, id ID) int { return cmp.Compare(e.Peer, id) })
}

func (p *personal) find(peer ID) (int, bool) { return findEdge(p.edges, peer) }

// Records implements [Agent].
func (p *personal) Records(add []Record, drop []Seq) error {
	if err := p.training.check(add, len(p.model)); err != nil {
		return err
	}
	p.training.add(add)
	p.training.drop(drop)
	return nil
}

// Receive implements [Agent].
func (p *personal) Receive(now time.Duration, m Message) (Output, error) {
	i, found := p.find(m.From)
	switch {
	case !found:
		return p.output(now), ErrStranger
	case m.Kind != KindModel || len(m.Real) != len(p.model) || !finite(m.Real) || !(m.NoiseStd >= 0) || math.IsInf(m.NoiseStd, 0):
		return p.output(now), ErrShape
	case m.Round <= p.edges[i].heard.Round:
		return p.output(now), ErrStale
	}
	p.edges[i].heard = Heard{Peer: m.From, Weight: p.edges[i].Weight, Round: m.Round, NoiseStd: m.NoiseStd, Model: m.Real}
	return p.output(now), nil
}

// Tick implements [Agent]. The clock goes on whatever happens: that a wake
// passes without a release is decided by public things, and wakes are cheap.
func (p *personal) Tick(now time.Duration) Output {
	due := p.next > 0 && now >= p.next
	if due {
		p.next = 0
	}
	out := p.output(now)
	if !due || p.asked || !p.training.active() || !p.listened() {
		return out
	}
	p.asking, p.asked = p.policy.Next(p.made)
	if p.asked {
		out.Ask = &Query{
			Round:     p.round + 1,
			Mechanism: p.asking,
			Sums:      p.training.sums(p.loss, p.asking, p.model),
		}
	}
	return out
}

// output re-arms the clock: exponential waiting times make the wakes a Poisson
// process.
func (p *personal) output(now time.Duration) Output {
	if p.next == 0 {
		wait := p.wakeMean * p.schedule.ExpFloat64() * float64(time.Second)
		p.next = now + 1 + time.Duration(min(wait, float64(Never/4)))
	}
	return Output{Next: p.next}
}

func (p *personal) listened() bool {
	return slices.ContainsFunc(p.edges, func(e edge) bool { return e.Live })
}

// Released implements [Agent]: the private wake of eq. 6. Everything here is a
// public function of the answer and of what was published before.
func (p *personal) Released(now time.Duration, a privacy.Answer) Output {
	out := p.output(now)
	if !p.asked {
		return out
	}
	p.asked = false
	p.training.retire(a.Cohorts)
	if a.Exhausted() {
		return out
	}
	m := max(1, a.Slots) // a batch may be empty; then the sum is noise alone
	lambda, c := p.task.regularisation(m), p.task.confidence(m)
	alpha := mixing(p.task.Mu, c, p.task.curvature(m))

	gradient := make([]float64, len(p.model))
	floats.AddScaled(gradient, 1/float64(m), a.Sum)
	floats.AddScaled(gradient, 2*lambda, p.model)
	neighbours, theirStd, heard := p.neighbourhood()
	next := step(p.model, neighbours, gradient, alpha, p.task.Mu, c)
	project(next, p.task.Radius)

	// The noise in the new model, per coordinate. It adds up as if the noises
	// were independent, which they are not quite: what I heard carries some of
	// what I sent. The data's share in the gradient only contracts the old noise.
	kept := 1 - alpha - 2*alpha*p.task.Mu*c*lambda
	if !heard {
		kept += alpha // its own noise once more, not another's
	}
	drawn := alpha * p.task.Mu * c * p.asking.NoiseStd() / float64(m)
	p.noiseStd = math.Hypot(math.Hypot(kept*p.noiseStd, alpha*theirStd), drawn)
	p.model = next
	p.made++
	p.round++
	out.Send = []Message{{From: p.self, Kind: KindModel, Round: p.round, NoiseStd: p.noiseStd, Real: next}}
	return out
}

// neighbourhood returns sum_j (W_ij/D_i) T_j over the neighbours heard so far,
// and the standard deviation of the noise in it. heard is false when there are
// none: then the agent agrees with itself.
func (p *personal) neighbourhood() (mean []float64, std float64, heard bool) {
	var degree float64
	for i := range p.edges {
		if p.edges[i].heard.Round > 0 {
			degree += p.edges[i].Weight
		}
	}
	if degree == 0 {
		return p.model, 0, false
	}
	mean = make([]float64, len(p.model))
	for i := range p.edges {
		if h := &p.edges[i].heard; h.Round > 0 {
			w := h.Weight / degree
			floats.AddScaled(mean, w, h.Model)
			std = math.Hypot(std, w*h.NoiseStd)
		}
	}
	return mean, std, true
}

// State implements [Agent].
func (p *personal) State() State {
	s := State{Round: p.round, Model: slices.Clone(p.model), NoiseStd: p.noiseStd}
	for i := range p.edges {
		if h := p.edges[i].heard; h.Round > 0 {
			h.Model = slices.Clone(h.Model)
			s.Heard = append(s.Heard, h)
		}
	}
	return s
}
