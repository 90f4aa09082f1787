package compare

import (
	"context"
	"fmt"
	"math"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// Polar measures what the obfuscation of POLAR-SGD costs in speed: over Delta steps
// between two consensus rounds the weights add up to M, so that with M = S servers
// the mean of the servers moves as in one step of gradient descent (see
// [learner.Polar]). Rows are the sub-optimality after so many steps, without
// obfuscation by gradient descent with the same steps a_k, and then the slowdown:
// the steps taken over those in which gradient descent comes as far.
//
// Five servers, five clients of 40 records each with models of their own, least
// squares in 10 dimensions, minimum-wait, multiplicative and additive obfuscation.
// With records of unit norm steps are ten times those of the published numbers, for
// records whose squared norm is ten; so is the norm of the models, which makes both
// start at 15.5 above the optimum.
func Polar(ctx context.Context, o Options) ([]Row, error) {
	steps := []int{100, 500, 1000}
	if o.Full {
		steps = append(steps, 2000, 4000)
	}
	var trials []trial
	for _, n := range steps {
		trials = append(trials, plainTrial(n))
		for _, delta := range []int{10, 20, 50} {
			trials = append(trials, polarTrial(delta, n))
		}
	}
	return o.run(ctx, trials)
}

const (
	polarServers = 5
	polarClients = 5
	polarWidth   = 10
	polarRecords = 40
	polarStart   = 15.5
	polarDecay   = 0.75
	polarStep    = 0.2 * polarWidth // on the mean gradient
)

const (
	polarInvalid = "no: obfuscation is no differential privacy"
	subOptimal   = "sub-optimality"
)

// polarPublished is by steps for gradient descent, then Delta 10, 20 and 50.
var polarPublished = map[int][4]string{
	100:  {"5.6e-3", ".72", "1.7", "3.9"},
	500:  {"4.8e-5", ".044", ".17", ".71"},
	1000: {"7.9e-6", ".009", ".046", ".25"},
	2000: {"1.9e-6", ".0014", ".0092", ".070"},
	4000: {"7e-7", "1.6e-4", "1.4e-3", "1.5e-2"},
}

func plainTrial(steps int) trial {
	return trial{
		rows: []Row{{
			Setting: fmt.Sprintf("%d steps, gradient descent", steps),
			Valid:   "-", Measure: subOptimal, Published: polarPublished[steps][0],
		}},
		run: func(seed uint64) ([]float64, error) { return newSquaredProblem(seed).descent(steps)[steps:], nil },
	}
}

func polarTrial(delta, steps int) trial {
	column := map[int]int{10: 1, 20: 2, 50: 3}[delta]
	row := Row{
		Setting: fmt.Sprintf("%d steps, Delta %d", steps, delta),
		Valid:   polarInvalid, Measure: subOptimal, Published: polarPublished[steps][column],
	}
	slowdown := row
	slowdown.Measure, slowdown.Published = "slowdown", fmt.Sprintf("about %d", delta)
	return trial{rows: []Row{row, slowdown}, run: func(seed uint64) ([]float64, error) {
		p := newSquaredProblem(seed)
		got, err := p.obfuscated(delta, steps, seed)
		if err != nil {
			return nil, err
		}
		return []float64{got, float64(steps) / stepsTo(got, p.descent(steps))}, nil
	}}
}

// stepsTo is after how many steps a descent comes to the given excess risk: between
// two steps its logarithm is taken to be straight.
func stepsTo(excess float64, descent []float64) float64 {
	for k := 1; k < len(descent); k++ {
		if descent[k] <= excess {
			return float64(k-1) + math.Log(descent[k-1]/excess)/math.Log(descent[k-1]/descent[k])
		}
	}
	return float64(len(descent) - 1)
}

func polarTask(delta, steps int) *learner.Task {
	t := baseTask("polar", "squared", polarWidth)
	t.Target.Min, t.Target.Max = -100, 100
	t.Rounds.Count, t.Rounds.Step = steps, polarStep/polarClients
	t.Polar = learner.Polar{
		Delta: delta, Update: "minimum-wait", Obfuscation: "both", Law: "gaussian",
		Decay: polarDecay, Sum: polarServers, Bound: 50, Additive: 5, Box: 300,
	}
	for i := range polarServers {
		t.Polar.Servers = append(t.Polar.Servers, string(sim.Name(i)))
	}
	return t
}

// obfuscated is the excess risk of what the servers agree on after so many steps.
func (p *squaredProblem) obfuscated(delta, steps int, seed uint64) (float64, error) {
	t := polarTask(delta, steps)
	policy, err := t.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		return 0, err
	}
	edges := sim.Full(polarServers + polarClients)
	r, err := simulate(t, edges, append(make([][]learner.Record, polarServers), p.clients...), same(policy, len(edges)), seed)
	if err != nil {
		return 0, err
	}
	if got := r.States[0].Round; got < uint64(steps) {
		return 0, fmt.Errorf("the servers ended at step %d of %d", got, steps)
	}
	return p.excess(r.States[0].Model), nil
}
