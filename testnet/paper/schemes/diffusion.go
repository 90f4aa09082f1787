package schemes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

// calibration is how the noise of diffusion learning is set.
type calibration string

const (
	withoutNoise calibration = "no noise"
	// equalPower is how the paper compares: the same noise in every vector sent.
	equalPower calibration = "equal noise power"
	// The others are at equal epsilon. agentLevel protects all the data of an agent, of
	// which an iteration sees one record: pure epsilon, with Laplace noise for vectors
	// that are bounded in l2. agentPrinted charges graph-homomorphic noise by the
	// paper's (27), and the other noise by how far strong convexity lets two states get
	// apart.
	agentLevel   calibration = "equal epsilon, all data of an agent"
	agentPrinted             = agentLevel + byPrinted
	// recordLevel is for one record of a stream, which an iteration sees once.
	recordLevel calibration = "equal epsilon, one record of a stream"
	// budgeted is what a node does: 100 records in every iteration, with Gaussian
	// noise.
	budgeted calibration = "equal epsilon, one of 100 records"
)

const byPrinted = ", by (27)"

const (
	noisePower    = 2. // variance of each coordinate of what is sent
	budgetRecords = 100
	diffusionTail = 1e-5 // delta of Gaussian noise
)

// diffusionSetting is one run of [GraphHomomorphic].
type diffusionSetting struct {
	by      calibration
	scheme  string  // of learner.Diffusion
	mu      float64 // the step
	rounds  int
	lazy    int     // 1: Metropolis weights; 5: .8 I + .2 A
	epsilon float64 // at equal epsilon, for gradients of l2 norm at most 1; for budgeted it is used directly
}

// key is the name of the trial.
func (s diffusionSetting) key() string {
	if s.epsilon > 0 {
		return fmt.Sprintf("%s, epsilon %g", s.label(), s.claimed())
	}
	return s.label()
}

// label is the setting without its epsilon.
func (s diffusionSetting) label() string {
	by, printed := strings.CutSuffix(string(s.by), byPrinted)
	label := fmt.Sprintf("%s, mu %g, %d iterations", by, s.mu, s.rounds)
	if s.by != withoutNoise {
		label += ": " + s.scheme
	}
	if printed {
		label += byPrinted
	}
	if s.lazy > 1 {
		label += ", lazy graph"
	}
	return label
}

// slots is how many records an agent has at a time.
func (s diffusionSetting) slots() int {
	if s.by == budgeted {
		return budgetRecords
	}
	return 1
}

// step is mu for records divided by B.
func (s diffusionSetting) step() float64 { return s.mu * featureBound * featureBound }

func (s diffusionSetting) task() *learner.Task {
	t := baseTask("diffusion", "logistic", diffusionWidth)
	t.Lambda = diffusionRho / 2 / (featureBound * featureBound) * float64(s.slots())
	t.Rounds.Count, t.Rounds.Step = s.rounds, s.step()
	t.Diffusion.Noise = s.scheme
	return t
}

// carried is the conditional sensitivity of the releases of an agent with self-weight
// a_kk, in l2 and for gradients of norm 1, times the number of records (see
// [privacy.CarriedSensitivity]): the share r of the private part is left after a round,
// and a step of the strongly convex objective keeps 1 - mu rho of that.
func (s diffusionSetting) carried(self float64) privacy.CarriedSensitivity {
	c := privacy.ContractingSensitivity(s.step(), 1, diffusionRho/(featureBound*featureBound))
	switch s.scheme {
	case transmit:
		c.Keep *= self
	case iid:
		c.Keep = 0
	}
	if s.by == agentPrinted {
		c.Keep = 1
	}
	return c
}

// claimed is the epsilon of the run: gradients are as long as features, B.
func (s diffusionSetting) claimed() float64 {
	if s.by == budgeted {
		return s.epsilon
	}
	return s.epsilon * featureBound
}

// worth is the epsilon that one record of a stream pays at equal noise power: it is
// seen in the first round, and the private state of graph-homomorphic noise carries its
// effect to all later ones. No scheme of these runs depends on the weights.
func (s diffusionSetting) worth() float64 {
	c := s.carried(0)
	d, squares := c.Step, 0.
	for range s.rounds {
		squares += d * d
		d *= c.Keep
	}
	return accountant.GaussianEpsilon(diffusionTail, math.Sqrt(squares/noisePower)/featureBound)
}

// scale is the scale of the noise in a vector sent, for records divided by B and times
// their number.
func (s diffusionSetting) scale(self float64) float64 {
	c := s.carried(self)
	switch s.by {
	case equalPower:
		return math.Sqrt(noisePower) * featureBound
	case recordLevel: // how far the first record moves all rounds together
		return math.Sqrt(diffusionWidth) * c.At(s.rounds) / s.claimed()
	}
	var total float64
	for i := range s.rounds {
		total += c.At(i + 1)
	}
	return math.Sqrt(diffusionWidth) * total / s.claimed()
}

// policy is the noise of an agent of self-weight a_kk.
func (s diffusionSetting) policy(t *learner.Task, self float64) (privacy.Policy, error) {
	switch s.by {
	case withoutNoise:
		return t.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	case budgeted:
		d := t.Design(privacy.Design{Budget: privacy.Budget{Epsilon: s.epsilon, Delta: diffusionTail}, Releases: s.rounds})
		if s.scheme != iid {
			// The task does not know the weights and designs for r = 1. The account
			// charges the true r, so that every scheme may use up the same budget.
			d.Carried = s.carried(self)
			d.Carried.Step *= 1 + 1e-6
		}
		return d.Policy()
	}
	scale := s.scale(self)
	if s.scheme == iid {
		scale /= s.step() // it is added to the sum of gradients
	}
	noise, clip := privacy.NewLaplace, math.Sqrt(diffusionWidth)
	if s.by == equalPower {
		noise, clip = privacy.NewGaussian, 1
	}
	m, err := noise(clip, scale)
	return repeated(m), err
}

// build is the run with a seed, and its agents.
func (s diffusionSetting) build(seed uint64) (*run, []*holder, error) {
	t := s.task()
	random := rand.New(rand.NewPCG(seed, 11))
	edges := randomGraph(random)
	weights := selfWeights(edges, s.lazy)
	holders := make([]*holder, len(edges))
	r := &run{task: t, edges: edges, wrap: func(i int, a learner.Agent) learner.Agent {
		holders[i].Agent = a
		return holders[i].watch()
	}}
	for i := range edges {
		h := &holder{
			scheme: s.scheme, edges: edges[i], self: weights[i], lazy: s.lazy, slots: s.slots(), twin: sim.AgentNoise(seed, i),
		}
		holders[i] = h
		r.records = append(r.records, trainingRecords(h.slots, func() ([]float64, float64) {
			x := make([]float64, diffusionWidth)
			drawFeatures(random, x)
			return x, 1
		}))
		if h.slots == 1 {
			h.stream, h.record = rand.New(rand.NewPCG(seed, 100+uint64(i))), r.records[i][0].X
		}
		policy, err := s.policy(t, weights[i])
		if err != nil {
			return nil, nil, err
		}
		r.policies = append(r.policies, policy)
	}
	return r, holders, nil
}

// run returns the squared distances from the minimum, of the centroid (the mean of all
// agents' models) and of the agents' own models: as curves, and as means over the last
// half, if the run is long enough to have come to rest.
func (s diffusionSetting) run(seed uint64) (paper.Numbers, error) {
	r, holders, err := s.build(seed)
	if err != nil {
		return nil, err
	}
	got, err := r.rounds(seed)
	if err != nil {
		return nil, err
	}
	for i, spent := range got.Spent {
		if s.by == budgeted && spent < 0.9999 {
			return nil, fmt.Errorf("schemes: agent %d spent %v of its budget: it let its private model go, which is another scheme", i, spent)
		}
	}
	return deviations(holders), nil
}

// curvePoints is the number of points of a curve: each is a mean over one part of the
// run.
const curvePoints = 50

// deviations are the numbers of a run.
func deviations(holders []*holder) paper.Numbers {
	best := optimum()
	rounds := len(holders[0].held)
	centroid, agents := make([]float64, rounds), make([]float64, rounds)
	mean := make([]float64, diffusionWidth)
	for k := range rounds {
		clear(mean)
		for _, h := range holders {
			w := h.held[k]
			floats.Scale(1/featureBound, w)
			floats.AddScaled(mean, 1./float64(len(holders)), w)
			d := floats.Distance(w, best, 2)
			agents[k] += d * d / float64(len(holders))
		}
		d := floats.Distance(mean, best, 2)
		centroid[k] = d * d
	}
	return paper.Numbers{
		"centroid": thin(centroid), "agents": thin(agents),
		"rest": {stat.Mean(centroid[rounds/2:], nil), stat.Mean(agents[rounds/2:], nil)},
	}
}

// thin replaces each of curvePoints parts by its mean.
func thin(v []float64) []float64 {
	n := min(curvePoints, len(v))
	out := make([]float64, n)
	for i := range out {
		out[i] = stat.Mean(v[i*len(v)/n:(i+1)*len(v)/n], nil)
	}
	return out
}
