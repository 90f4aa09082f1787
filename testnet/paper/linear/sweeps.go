package linear

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet/paper"
)

// Constants of figure 2(a).
const (
	tradeOffEpsilon = 0.1
	tradeOffPeople  = 50 // how many people's fits are measured
)

// Numbers of updates of an agent in figure 2(a): for the reading and the shared models,
// and for the fits on the device, which take longer.
var (
	tradeOffUpdates = []int{1, 2, 5, 10, 20, 50, 100}
	silentUpdates   = []int{1, 4, 16, 64}
)

// Names of the curves of figure 2(a).
const (
	tradeOffReading = "reading"
	tradeOffShared  = "shared"
	tradeOffSilent  = "silent"
)

// tradeOff is figure 2(a): the mean accuracy by the number of updates.
func tradeOff(seed uint64, n, p int) (paper.Numbers, error) {
	d := draw(seed, n, p)
	out := paper.Numbers{}
	add := func(name string, accuracies []float64) {
		out[name] = append(out[name], stat.Mean(accuracies, nil))
	}
	for _, updates := range tradeOffUpdates {
		add(tradeOffReading, d.accuracies(figReading(tradeOffEpsilon, updates).descend(d, updates, seed)))
		s := sharedSetting
		s.releases = updates
		states, err := d.product(s, 2).learn(gaussian(tradeOffEpsilon), seed)
		if err != nil {
			return nil, err
		}
		add(tradeOffShared, d.accuracies(modelsOf(states)))
	}
	for _, updates := range silentUpdates {
		s := settingFor(n, p, gaussian(tradeOffEpsilon).Budget)
		s.releases = updates
		r := d.product(s, 2)
		states, err := r.learn(gaussian(tradeOffEpsilon), seed)
		if err != nil {
			return nil, err
		}
		add(tradeOffSilent, d.accuracies(r.finish(states, tradeOffPeople)))
	}
	return out, nil
}

// allocation says how a budget is spread over an agent's updates: share is that of the
// t-th of updates, before they are scaled to add up to the budget.
type allocation struct {
	name  string
	share func(t, updates int) float64
}

// contraction is C of proposition 2, the factor by which an update shrinks the error in
// the worst case; the paper's is no better.
func contraction(updates int) float64 { return math.Pow(0.96, 1/float64(updates)) }

var allocationsTried = []allocation{
	{"uniform", func(int, int) float64 { return 1 }},
	{"proposition 2", func(t, updates int) float64 { return math.Pow(contraction(updates), float64(t)/3) }},
	{"proposition 2 reversed", func(t, updates int) float64 { return math.Pow(contraction(updates), float64(updates-1-t)/3) }},
	{"growing by a tenth", func(t, _ int) float64 { return math.Pow(1.1, float64(t)) }},
	{"shrinking by a tenth", func(t, _ int) float64 { return math.Pow(0.9, float64(t)) }},
}

// allocationCase is one row of the table of allocations.
type allocationCase struct {
	name    string
	p       int
	epsilon float64
	updates int
	reading reading
}

var allocationCases = []allocationCase{
	{"reading of the figures, p = 100, eps = .1", 100, 0.1, 20, reading{mu: figMu, sum: true}},
	{"reading of the figures, p = 20, eps = .1", 20, 0.1, 20, reading{mu: figMu, sum: true}},
	{"equation 6 to the letter, p = 20, eps = 1", 20, 1, 10, reading{mu: literalMu}},
	{"equation 6 to the letter, p = 5, eps = 1", 5, 1, 10, reading{mu: literalMu}},
}

// allocations measures the mean accuracy of every case with every allocation. The
// budgets add up, as in proposition 2.
func allocations(seed uint64, n int) (paper.Numbers, error) {
	out := paper.Numbers{}
	for _, c := range allocationCases {
		d := draw(seed, n, c.p)
		for _, a := range allocationsTried {
			r := c.reading
			r.scale = spread(a, c.epsilon, c.updates)
			accuracies := d.accuracies(r.descend(d, c.updates, seed))
			out[c.name] = append(out[c.name], stat.Mean(accuracies, nil))
		}
	}
	return out, nil
}

// spread returns the noise of each update.
func spread(a allocation, epsilon float64, updates int) []float64 {
	var total float64
	for t := range updates {
		total += a.share(t, updates)
	}
	scale := make([]float64, updates)
	for t := range scale {
		scale[t] = 2 * total / (epsilon * a.share(t, updates))
	}
	return scale
}

// figReading is the reading that agrees with the paper's text about its figures.
func figReading(epsilon float64, updates int) reading {
	return reading{mu: figMu, sum: true, scale: published(epsilon, updates)}
}

// literalReading is equation 6 taken literally, with the noise L0 = 1 on raw features.
func literalReading(epsilon float64, updates int) reading {
	return reading{mu: literalMu, scale: published(epsilon, updates)}
}

func name(format string, epsilon float64) string { return fmt.Sprintf(format, epsilon) }
