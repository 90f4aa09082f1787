package compare

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
	"p2pnode/testnet/sim"
)

// Diffusion compares three ways to add noise in diffusion learning (Vlaski and
// Sayed, eq. 7-9, 20; see [learner.Diffusion]): their claim, at equal noise power
// of what is sent, and the same schemes at equal epsilon. The measures are the
// excess risks of the centroid, the mean of all agents' models which nobody holds
// or may publish, and of the agents' own models w_k.
//
// Twenty agents of 100 records each, 5 features, logistic loss with rho/2 ||w||^2,
// rho = 0.016. The step mu is for records of unit norm.
func Diffusion(ctx context.Context, o Options) ([]Row, error) {
	trials := []trial{loneTrial()}
	for _, h := range []horizon{{1, 100}, {.1, size(o, 500, 1000)}, {.01, size(o, 1500, 10000)}} {
		for _, noise := range []string{"none", "iid", "transmit-only", "graph-homomorphic"} {
			trials = append(trials, diffusionSetting{h, noise, equalPower}.trial())
		}
	}
	for _, h := range []horizon{{1, 10}, {1, 100}, {.1, 100}, {.01, size(o, 300, 1000)}} {
		for _, noise := range []string{"iid", "transmit-only", "graph-homomorphic"} {
			trials = append(trials, diffusionSetting{h, noise, equalEpsilon}.trial())
		}
	}
	return o.run(ctx, trials)
}

const (
	diffusionAgents  = 20
	diffusionRecords = 100
	diffusionWidth   = 5
	diffusionDegree  = 4
	diffusionLambda  = 0.008 // rho/2
	noisePower       = 2.    // variance of each coordinate of what is sent
)

// diffusionBudget is that of the comparison at equal epsilon, and its delta that
// of the epsilons at equal noise power.
var diffusionBudget = privacy.Budget{Epsilon: 1, Delta: 1e-5}

type horizon struct {
	mu     float64
	rounds int
}

type comparison string

const (
	equalPower   comparison = "equal power"
	equalEpsilon comparison = "equal epsilon"
)

type diffusionSetting struct {
	horizon
	noise string // of learner.Diffusion, or "none"
	by    comparison
}

func (s diffusionSetting) trial() trial {
	row := Row{
		Setting: fmt.Sprintf("%s, mu %g, %d rounds: %s", s.by, s.mu, s.rounds, s.noise),
		Valid:   "yes", Delta: diffusionBudget.Delta,
	}
	switch {
	case s.noise == "none":
		row.Delta, row.Valid = 0, "-"
	case s.by == equalEpsilon:
		row.Epsilon = diffusionBudget.Epsilon
	default:
		row.Epsilon = s.epsilon()
	}
	published := diffusionPublished[s]
	centroid, agents := row, row
	centroid.Measure, centroid.Published = "excess risk, centroid", published[0]
	agents.Measure, agents.Published = "excess risk, agents", published[1]
	return trial{rows: []Row{centroid, agents}, run: s.run}
}

// loneTrial is what agents reach who never send anything.
func loneTrial() trial {
	row := Row{Setting: "every agent alone, its own optimum", Valid: "-", Measure: "excess risk, agents", Published: ".0015"}
	return trial{rows: []Row{row}, run: func(seed uint64) ([]float64, error) {
		p := newLogisticProblem(seed)
		var agents float64
		for _, records := range p.records {
			agents += p.excess(minimiser(records)) / diffusionAgents
		}
		return []float64{agents}, nil
	}}
}

// diffusionPublished has, for the centroid and the agents, what an independent
// program found on other records of the same kind and with rho = 0.1: steps bring
// private states together faster there, and the graph-homomorphic epsilon is less.
var diffusionPublished = map[diffusionSetting][2]string{
	{horizon{1, 100}, "iid", equalPower}:                  {".131 (epsilon .50)", ".304 (epsilon .50)"},
	{horizon{1, 100}, "graph-homomorphic", equalPower}:    {".003 (epsilon 6.0)", ".458 (epsilon 6.0)"},
	{horizon{1, 10}, "iid", equalEpsilon}:                 {".006", ".011"},
	{horizon{1, 10}, "transmit-only", equalEpsilon}:       {".009", ".016"},
	{horizon{1, 10}, "graph-homomorphic", equalEpsilon}:   {".0007", ".248"},
	{horizon{1, 100}, "iid", equalEpsilon}:                {".039", ".087"},
	{horizon{1, 100}, "graph-homomorphic", equalEpsilon}:  {".088", "9.2"},
	{horizon{.1, 100}, "iid", equalEpsilon}:               {".0068", ".0075"},
	{horizon{.1, 100}, "graph-homomorphic", equalEpsilon}: {".0011", "2.01"},
}

func (s diffusionSetting) task() *learner.Task {
	t := baseTask("diffusion", "logistic", diffusionWidth)
	t.Lambda = diffusionLambda * diffusionRecords
	t.Rounds.Count, t.Rounds.Step = s.rounds, s.mu
	t.Diffusion.Noise = s.noise
	if s.noise == "none" {
		t.Diffusion.Noise = "iid"
	}
	return t
}

// diffusionGraph is the same in all runs, so that epsilons are.
func diffusionGraph() [][]learner.Edge { return sim.RandomGraph(diffusionAgents, diffusionDegree, 1) }

// carried is the conditional sensitivity of what an agent of self-weight a_kk
// releases, in units of the mean of the records (see [privacy.CarriedSensitivity]):
// a share r of what is private is left after a round, and of that a step of the
// strongly convex objective keeps 1 - mu rho.
func (s diffusionSetting) carried(self float64) privacy.CarriedSensitivity {
	c := privacy.ContractingSensitivity(s.mu, 1./diffusionRecords, 2*diffusionLambda)
	switch s.noise {
	case "transmit-only":
		c.Keep *= self
	case "iid":
		c.Keep = 0
	}
	return c
}

// epsilon is what the run costs a record at equal noise power, that of the agent
// who pays most.
func (s diffusionSetting) epsilon() float64 {
	var most float64
	for _, a := range selfWeights(diffusionGraph()) {
		carried, squares := s.carried(a), 0.
		for i := range s.rounds {
			d := carried.At(i + 1)
			squares += d * d / noisePower
		}
		most = max(most, math.Sqrt(squares))
	}
	return accountant.GaussianEpsilon(diffusionBudget.Delta, most)
}

// policy is the noise of an agent of self-weight a_kk.
func (s diffusionSetting) policy(t *learner.Task, self float64) (privacy.Policy, error) {
	if s.noise == "none" {
		return t.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	}
	if s.by == equalPower {
		// A scale for the sum of gradients, mu/m of which is in psi, or for m psi.
		scale := math.Sqrt(noisePower) * diffusionRecords
		if s.noise == "iid" {
			scale /= s.mu
		}
		m, err := privacy.NewGaussian(t.Clip, scale)
		return repeated(m), err
	}
	d := t.Design(privacy.Design{Budget: diffusionBudget, Releases: s.rounds})
	if s.noise != "iid" {
		// The task knows no degrees and designs for r = 1; the account charges what
		// it truly was, so that every scheme may use up the same budget.
		d.Carried = s.carried(self)
		d.Carried.Step *= diffusionRecords * (1 + 1e-6)
	}
	return d.Policy()
}

func (s diffusionSetting) run(seed uint64) ([]float64, error) {
	t, edges := s.task(), diffusionGraph()
	weights := selfWeights(edges)
	p := newLogisticProblem(seed)
	policies := make([]privacy.Policy, len(edges))
	for i := range policies {
		var err error
		if policies[i], err = s.policy(t, weights[i]); err != nil {
			return nil, err
		}
	}
	r, err := rounds(t, edges, p.records, policies, seed)
	if err != nil {
		return nil, err
	}
	centroid := make([]float64, diffusionWidth)
	var agents float64
	for i, state := range r.States {
		if s.by == equalEpsilon && r.Spent[i] < 0.9999 {
			return nil, fmt.Errorf("agent %d spent %v of its budget: it let its private model go, which is another scheme", i, r.Spent[i])
		}
		w := state.Model
		if t.Diffusion.Noise != "iid" && s.noise != "none" {
			if err := s.makePrivate(w, policies[i], weights[i], seed, i); err != nil {
				return nil, err
			}
		}
		floats.AddScaled(centroid, 1./diffusionAgents, w)
		agents += p.excess(w) / diffusionAgents
	}
	return []float64{p.excess(centroid), agents}, nil
}

// makePrivate turns the public mix of the last round, in which the own part is a_kk
// (phi + v), into the w_k that the agent keeps to itself, a_kk (phi + c v): no
// agent shows it, but here the seed of the noise is known.
func (s diffusionSetting) makePrivate(w []float64, p privacy.Policy, self float64, seed uint64, agent int) error {
	noise := sim.AgentNoise(seed, agent)
	var v []float64 // times the records
	for k := range s.rounds {
		m, _ := p.Next(k)
		m, err := m.Bounded(m.Scale(), len(w)) // any distance: it has no part in the noise
		if err != nil {
			return err
		}
		v = noise.Answer(m, []privacy.Sum{m.NewBounded(1, 1, make([]float64, len(w)))}).Sum
	}
	share := self // a_kk (1 - c)
	if s.noise == "graph-homomorphic" {
		share = 1
	}
	floats.AddScaled(w, -share/diffusionRecords, v)
	return nil
}

// selfWeights are the a_kk of the Metropolis rule.
func selfWeights(edges [][]learner.Edge) []float64 {
	degree := map[learner.ID]int{}
	for i := range edges {
		degree[sim.Name(i)] = len(edges[i])
	}
	weights := make([]float64, len(edges))
	for i := range edges {
		weights[i] = 1
		for _, e := range edges[i] {
			weights[i] -= 1 / (1 + float64(max(len(edges[i]), degree[e.Peer])))
		}
	}
	return weights
}
