package schemes

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

const (
	kmAgents     = 5
	kmRelaxation = 0.5
	kmNominal    = 0.01               // the paper's sensitivity of a released iterate
	forward      = "proximal"         // the paper's SPGD
	douglas      = "douglas-rachford" // its ADMM
)

// kmSetting is one run of [KM].
type kmSetting struct {
	loss, operator string
	law            law
	paid           bool   // the budget is for all releases together; otherwise for each
	graph          string // "ring", "star" or "full"
	agents         int
}

func (s kmSetting) key() string {
	paid := "each release"
	if s.law == noNoise {
		paid = fmt.Sprintf("%d iterations", s.rounds())
	} else if s.paid {
		paid = fmt.Sprintf("all %d releases", s.rounds())
	}
	where := ""
	if s.graph != "ring" || s.agents != kmAgents {
		where = fmt.Sprintf(", %s of %d", s.graph, s.agents)
	}
	return fmt.Sprintf("%s, %s%s: %s, %s", s.problem(), s.method(), where, s.law, paid)
}

func (s kmSetting) problem() string {
	if s.loss == "squared" {
		return "least squares"
	}
	return "logistic"
}

// method is what the paper calls the operator.
func (s kmSetting) method() string {
	if s.operator == forward {
		return "SPGD"
	}
	return "ADMM"
}

// constants are the step g and the bound C on a record's gradient, in the paper's
// units. The paper gives neither. With the noise of one release in each iteration, C is
// so large that nothing is clipped, since the paper's sensitivity is nominal anyway;
// the steps are such that 100 iterations end about where the paper's do. With all
// releases paid for, both were chosen for Gaussian noise from a coarse grid, on the
// seeds 101 to 104.
func (s kmSetting) constants() (g, c float64) {
	switch {
	case s.paid && s.operator == douglas:
		return 2, 1
	case s.paid && s.loss == "squared":
		return 0.4, 3
	case s.paid:
		return 1, 1
	case s.operator == douglas && s.loss == "squared":
		return 1, 200
	case s.operator == douglas:
		return 4, 200
	case s.loss == "squared":
		return 0.055, 200
	}
	return 0.25, 200
}

// rounds is the number of releases. Splitting has come to rest after 50.
func (s kmSetting) rounds() int {
	switch {
	case s.paid:
		return 20
	case s.operator == douglas:
		return 50
	}
	return 100
}

func (s kmSetting) task() *learner.Task {
	g, c := s.constants()
	t := baseTask("km", s.loss, kmWidth)
	if s.loss == "squared" {
		t.Target.Min, t.Target.Max = -20, 20
	}
	t.Rounds.Count, t.Rounds.Step, t.Clip = s.rounds(), g*kmBound*kmBound, c/kmBound
	t.KM = learner.KM{Operator: s.operator, Relaxation: kmRelaxation, L1: kmL1 / kmBound}
	return t
}

// policy is the noise of the releases of a task.
func (s kmSetting) policy(t learner.Task) (privacy.Policy, error) {
	if s.law == noNoise {
		return t.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	}
	if s.law.ofLaplace() && (s.operator == forward || !s.paid) {
		t.Clip *= math.Sqrt(kmWidth) // the same vectors in the l1 norm
	}
	if s.paid {
		return t.Design(privacy.Design{
			Budget: kmBudget, Releases: s.rounds(), Noise: s.law.ofProduct(), Accounting: privacy.CommittedPlan,
		}).Policy()
	}
	// The release is the sum of gradients, alpha g/m of which goes into the iterate, or
	// m times the prox, alpha/m of which does.
	unit := kmNominal * kmBound / kmRelaxation * kmRecords
	if s.operator == forward {
		unit /= t.Rounds.Step
	}
	m, err := s.law.mechanism(kmBudget, t.Clip, unit)
	return repeated(m), err
}

func (s kmSetting) edges() [][]learner.Edge {
	switch s.graph {
	case "star":
		return sim.Star(s.agents)
	case "full":
		return sim.Full(s.agents)
	}
	return sim.Ring(s.agents)
}

// run gives the error of the mean of what the agents released, by iteration.
func (s kmSetting) run(seed uint64) (paper.Numbers, error) {
	t := s.task()
	policy, err := s.policy(*t)
	if err != nil {
		return nil, err
	}
	p := newLasso(s.loss, s.agents, seed)
	models := make([][][]float64, s.agents) // by agent, what it released, from round 1 on
	r := run{
		task: t, edges: s.edges(), records: p.records, policies: slices.Repeat([]privacy.Policy{policy}, s.agents),
		wrap: func(i int, a learner.Agent) learner.Agent {
			return broadcasts(a, func(_ uint64, model []float64) { models[i] = append(models[i], slices.Clone(model)) })
		},
	}
	if _, err := r.rounds(seed); err != nil {
		return nil, err
	}
	rmse := make([]float64, t.Rounds.Count+1)
	for k := range rmse {
		mean := make([]float64, kmWidth)
		for i := range models {
			if k > 0 {
				floats.AddScaled(mean, 1/float64(s.agents), models[i][k-1])
			}
		}
		if s.operator == douglas {
			mean = p.prox(t.Rounds.Step, mean)
		}
		rmse[k] = p.rmse(mean)
	}
	return paper.Numbers{"rmse": rmse}, nil
}
