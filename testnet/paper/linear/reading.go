package linear

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy/accountant"
	"p2pnode/testnet/sim"
)

// reading is one reading of the paper's algorithm, equations 4 and 6, on raw features
// in [-1, 1]. It runs in this plain loop and not through the agents, because no agent
// may add noise that differs from what it claims.
type reading struct {
	mu  float64
	sum bool // L_i is the sum of the records' losses, each with lambda_i = 1/m_i; else the mean
	// scale is the Laplace noise on the gradient of the mean, in units of 1/m: the
	// paper has 2 L0/(eps_i m_i) with L0 = 1. 0: no noise. With sum, the same number is
	// used for the gradient of the sum, which is why it hides so little.
	scale []float64   // one for each of an agent's updates, in order
	start [][]float64 // nil: zero
	// observed is called after each update, with the agent that made it; may be nil.
	observed func(agent int, models [][]float64)
}

// descend makes updates of each agent, in random order, and returns the models.
func (r reading) descend(d *problem, updates int, seed uint64) [][]float64 {
	s := newDescent(r, d)
	random := rand.New(rand.NewPCG(seed, 11))
	waiting, left := make([]int, len(d.people)), make([]int, len(d.people))
	for i := range waiting {
		waiting[i], left[i] = i, updates
	}
	for len(waiting) > 0 {
		k := random.IntN(len(waiting))
		i := waiting[k]
		s.update(i, updates-left[i], random)
		if left[i]--; left[i] == 0 {
			waiting[k] = waiting[len(waiting)-1]
			waiting = waiting[:len(waiting)-1]
		}
		if r.observed != nil {
			r.observed(i, s.models)
		}
	}
	return s.models
}

// descent is one run of a reading.
type descent struct {
	reading
	*problem
	models   [][]float64
	smooth   []float64 // L_i^loc, from the data as in the paper
	degree   []float64
	gradient []float64
}

func newDescent(r reading, d *problem) *descent {
	s := &descent{reading: r, problem: d, gradient: make([]float64, d.p)}
	for i := range d.people {
		m := float64(len(d.people[i].train.x))
		s.models = append(s.models, make([]float64, d.p))
		if r.start != nil {
			copy(s.models[i], r.start[i])
		}
		s.smooth = append(s.smooth, s.times(i)*(d.people[i].train.spectrum()/4+2/m))
		var degree float64
		for _, e := range d.edges[i] {
			degree += e.Weight
		}
		s.degree = append(s.degree, degree)
	}
	return s
}

// times is m_i if the loss is a sum, else 1.
func (s *descent) times(i int) float64 {
	if s.sum {
		return float64(len(s.people[i].train.x))
	}
	return 1
}

// update is equation 6 for the t-th update of agent i.
func (s *descent) update(i, t int, random *rand.Rand) {
	a := &s.people[i]
	m := float64(len(a.train.x))
	g, theta := s.gradient, s.models[i]
	a.train.gradient(g, theta)
	floats.AddScaled(g, 2/m, theta)
	floats.Scale(s.times(i), g)
	if t < len(s.scale) {
		for k := range g {
			g[k] += laplace(random, s.scale[t]/m)
		}
	}
	c := m / mostRecords
	alpha := 1 / (1 + s.mu*c*s.smooth[i])
	floats.Scale(1-alpha, theta)
	for _, e := range s.edges[i] {
		floats.AddScaled(theta, alpha*e.Weight/s.degree[i], s.models[sim.Number(e.Peer)])
	}
	floats.AddScaled(theta, -alpha*s.mu*c, g)
}

// mostRecords is the largest m of the problem: c_i = m_i / 100.
const mostRecords = 100

// gradient writes the gradient of the mean logistic loss.
func (e *examples) gradient(dst, theta []float64) {
	clear(dst)
	for k, x := range e.x {
		y := e.y[k]
		slope := -y / (1 + math.Exp(y*floats.Dot(theta, x)))
		floats.AddScaled(dst, slope/float64(len(e.x)), x)
	}
}

func laplace(r *rand.Rand, scale float64) float64 {
	x := scale * r.ExpFloat64()
	if r.IntN(2) == 0 {
		return -x
	}
	return x
}

// delta is the delta of the paper's accounting, exp(-5).
var delta = math.Exp(-5)

// published returns the noise of a reading: 2/eps_i for every update.
func published(epsilon float64, updates int) []float64 {
	scale := make([]float64, updates)
	for k := range scale {
		scale[k] = 2 / accountant.KairouzShare(epsilon, delta, updates)
	}
	return scale
}

// trueEpsilon is what such a reading really guarantees at delta, for the agent with
// most records and with features in [-1, 1]^p. Replacing one record moves the gradient
// of its loss, slope times x, by up to 2p in the l1 norm, and the mean of m of them by
// 2p/m.
func (r reading) trueEpsilon(p int) (float64, error) {
	groups := make([]accountant.Group, len(r.scale))
	for k, scale := range r.scale {
		moved := 2 * float64(p)
		if r.sum {
			moved *= mostRecords
		}
		groups[k] = accountant.Group{Step: accountant.Laplace(moved / scale), Count: 1}
	}
	loss, err := accountant.Compose(delta, groups...)
	if err != nil {
		return 0, err
	}
	return loss.Epsilon(delta), nil
}
