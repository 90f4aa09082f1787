package schemes

import (
	"fmt"
	"math"
	"slices"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

const (
	polarServers = 5
	polarWidth   = 10
	polarStart   = 15.5
	polarDecay   = 0.75
	// polarStep is a_1 on the mean gradient: .2 for records of squared norm 10, and ten
	// times that for records of norm 1.
	polarStep = 0.2 * polarWidth
	minimum   = "minimum-wait"
	averaged  = "client-averaged"
	basic     = "basic"
)

// polarSetting is one run of [Polar].
type polarSetting struct {
	delta            int    // steps between two consensus rounds
	update           string // of learner.Polar
	clients, records int
	steps            int
}

func (s polarSetting) key() string {
	return fmt.Sprintf("Delta %d, %s", s.delta, s.update)
}

func (s polarSetting) task() *learner.Task {
	t := baseTask("polar", "squared", polarWidth)
	t.Target.Min, t.Target.Max = -100, 100
	t.Rounds.Count, t.Rounds.Step = s.steps, polarStep/float64(s.clients)
	t.Polar = learner.Polar{
		Delta: s.delta, Update: s.update, Obfuscation: "both", Law: "gaussian",
		Decay: polarDecay, Sum: polarServers, Bound: 50, Additive: 5, Box: 300,
	}
	for i := range polarServers {
		t.Polar.Servers = append(t.Polar.Servers, string(sim.Name(i)))
	}
	return t
}

// run returns, for the model that the servers agree on after each consensus round, its
// excess risk and the slowdown: the number of steps taken, divided by the number in
// which gradient descent gets as far.
func (s polarSetting) run(seed uint64) (paper.Numbers, error) {
	q, err := newQuadratic(s.clients, s.records, seed)
	if err != nil {
		return nil, err
	}
	agreed, err := s.simulate(s.task(), q, seed)
	if err != nil {
		return nil, err
	}
	descent := q.descent(s.steps)
	return paper.Numbers{"excess": agreed, "descent": descent, "slowdown": slowdowns(agreed, descent, s.delta)}, nil
}

// simulate runs servers and clients: the excess risk after each consensus round.
func (s polarSetting) simulate(t *learner.Task, q *quadratic, seed uint64) ([]float64, error) {
	policy, err := t.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		return nil, err
	}
	edges := starOfServers(s.clients)
	agreed := make([]float64, s.steps/s.delta+1)
	r := run{
		task: t, edges: edges, records: append(make([][]learner.Record, polarServers), q.clients...),
		policies: slices.Repeat([]privacy.Policy{policy}, len(edges)),
		wrap: func(i int, a learner.Agent) learner.Agent {
			if i > 0 {
				return a
			}
			return broadcasts(a, func(step uint64, model []float64) {
				if k := int(step - 1); k%s.delta == 0 {
					agreed[k/s.delta] = q.excess(model)
				}
			})
		},
	}
	got, err := r.simulate(seed)
	if err != nil {
		return nil, err
	}
	if step := got.States[0].Round; step != uint64(s.steps)+1 {
		return nil, fmt.Errorf("schemes: the servers ended at step %d of %d", step-1, s.steps)
	}
	return agreed, nil
}

// starOfServers joins the servers with everybody. Clients need no edge to each other.
func starOfServers(clients int) [][]learner.Edge {
	edges := sim.Full(polarServers + clients)
	for i := polarServers; i < len(edges); i++ {
		edges[i] = edges[i][:polarServers]
	}
	return edges
}

// slowdowns are the steps after each consensus, divided by those of a descent that gets
// as far.
func slowdowns(agreed, descent []float64, delta int) []float64 {
	out := make([]float64, len(agreed))
	for k := 1; k < len(agreed); k++ {
		out[k] = float64(k*delta) / stepsTo(agreed[k], descent)
	}
	return out
}

// stepsTo is the number of steps after which a descent reaches the given excess risk.
// Between two steps the logarithm is interpolated linearly.
func stepsTo(excess float64, descent []float64) float64 {
	for k := 1; k < len(descent); k++ {
		if descent[k] <= excess {
			return float64(k-1) + math.Log(descent[k-1]/excess)/math.Log(descent[k-1]/descent[k])
		}
	}
	return float64(len(descent) - 1)
}
