package linear

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// source of the published numbers.
const source = "Bellet et al. 2018, figure 2(b)"

// publishedAccuracy is figure 2(b), by the number of features.
var publishedAccuracy = map[int]map[string]float64{
	2:   {together: .9272, "1.05": .9272, "0.55": .9255, "0.15": .9146, local: .8905},
	5:   {together: .9192, "1.05": .9145, "0.55": .9067, "0.15": .8845, local: .8581},
	10:  {together: .9208, "1.05": .9051, "0.55": .8878, "0.15": .8437, local: .8222},
	25:  {together: .9006, "1.05": .8817, "0.55": .8652, "0.15": .8032, local: .7593},
	50:  {together: .8989, "1.05": .8590, "0.55": .8299, "0.15": .7471, local: .7041},
	75:  {together: .8867, "1.05": .8371, "0.55": .7974, "0.15": .7074, local: .6799},
	100: {together: .8760, "1.05": .8141, "0.55": .7678, "0.15": .6863, local: .6604},
}

// method is one way to learn, in all dimensions.
type method struct {
	name    string
	key     string // of the cells, with p, the seed and, where there is one, eps
	numbers string // name in the cells
	paper   string // name in publishedAccuracy
	epsilon float64
	delta   float64 // 0: the paper's
	valid   bool
	truth   func(p int) (float64, error) // the epsilon that holds, if epsilon does not
}

// tunedAlone is what the others are compared with.
var tunedAlone = method{name: "alone, tuned", key: loneKey, numbers: accuracy}

// methods in the order of the rows.
func methods() []method {
	list := []method{
		{name: "target models", key: readingsKey, numbers: target},
		{name: "alone, lambda = 1/m", key: readingsKey, numbers: local, paper: local},
		tunedAlone,
		{name: "together, not private", key: togetherKey, numbers: together, paper: together},
	}
	for _, eps := range epsilons {
		number := fmt.Sprint(eps)
		list = append(list,
			method{name: "reading of the figures", key: readingsKey, numbers: name(fig, eps), paper: number, epsilon: eps, truth: truthOf(figReading, eps, figUpdates)},
			method{name: "reading of the figures, 200 updates", key: readingsKey, numbers: name(longFig, eps), paper: number, epsilon: eps, truth: truthOf(figReading, eps, longFigUpdates)},
			method{name: "equation 6 to the letter", key: readingsKey, numbers: name(literal, eps), epsilon: eps, truth: truthOf(literalReading, eps, 1)},
			method{name: "Laplace, features at unit l1 norm", key: readingsKey, numbers: name(pure, eps), epsilon: eps, valid: true},
			method{name: "Gaussian, shared models", key: readingsKey, numbers: name(shared, eps), epsilon: eps, valid: true},
			method{name: "Gaussian, with silent fit", key: silentKey, numbers: accuracy, epsilon: eps, valid: true},
		)
	}
	return append(list,
		method{name: "Gaussian, with silent fit, delta 1e-6", key: strictKey, numbers: accuracy, epsilon: epsilons[0], delta: strict, valid: true},
		method{name: "private sum, no graph, delta 1e-6", key: sumKey, numbers: accuracy, epsilon: sumEpsilon, delta: strict, valid: true},
		method{name: "sum without noise, no graph", key: sumKey, numbers: withoutNoise},
		method{name: "newcomers, who added nothing to the private sum", key: sumKey, numbers: newcomers, epsilon: sumEpsilon, delta: strict, valid: true})
}

// truthOf delays the computation of what a reading guarantees until it is needed.
func truthOf(read func(float64, int) reading, epsilon float64, updates int) func(p int) (float64, error) {
	return func(p int) (float64, error) { return read(epsilon, updates).trueEpsilon(p) }
}

// cell is the key of a method's numbers among n agents.
func (m method) cell(n, p int, seed uint64) string {
	switch m.key {
	case readingsKey, togetherKey:
		return fmt.Sprintf(m.key, p, seed)
	case loneKey, sumKey:
		return fmt.Sprintf(m.key, n, p, seed)
	}
	return fmt.Sprintf(m.key, n, p, m.epsilon, seed)
}

// values are everyone's accuracies in each finished seed.
func (m method) values(done paper.Done, n, p int, seeds []uint64) (all [][]float64) {
	for _, seed := range seeds {
		if v := done[m.cell(n, p, seed)][m.numbers]; v != nil {
			all = append(all, v)
		}
	}
	return all
}

// mean is the mean over seeds of the mean over people, with the standard deviation over
// seeds, and the smallest and the largest.
type mean struct{ value, spread, low, high float64 }

func meanOf(all [][]float64) mean {
	means := make([]float64, len(all))
	for i, v := range all {
		means[i] = stat.Mean(v, nil)
	}
	return spanOf(means)
}

func spanOf(values []float64) mean {
	m := mean{value: stat.Mean(values, nil), low: values[0], high: values[0]}
	for _, v := range values {
		m.low, m.high = min(m.low, v), max(m.high, v)
	}
	if len(values) > 1 {
		m.spread = stat.StdDev(values, nil)
	}
	return m
}

// row returns the row of a method at one dimension; ok reports whether there is one.
func (s sizes) row(done paper.Done, m method, n, p int) (r paper.Row, ok bool, err error) {
	all := m.values(done, n, p, s.seeds)
	if len(all) == 0 {
		return r, false, nil
	}
	a := meanOf(all)
	r = paper.Row{
		Setting: fmt.Sprintf("p=%d, n=%d: %s", p, n, m.name), Seeds: len(all), Valid: m.valid,
		Measure: "accuracy", Accuracy: &a.value,
	}
	if len(all) > 1 {
		r.Spread = &a.spread
	}
	if m.epsilon > 0 {
		r.Epsilon, r.Delta = &m.epsilon, paper.Number(delta)
		if m.delta > 0 {
			r.Delta = &m.delta
		}
	}
	if m.truth != nil {
		truth, err := m.truth(p)
		if err != nil {
			return r, false, err
		}
		r.TrueEps = &truth
	}
	if v, there := publishedAccuracy[p][m.paper]; there && n == 100 {
		r.Published, r.Source = &v, source
	}
	s.gain(&r, done, m, n, p)
	return r, true, nil
}

// gain compares a method with the tuned lone models, person by person.
func (s sizes) gain(r *paper.Row, done paper.Done, m method, n, p int) {
	pairs := s.pairs(done, m, n, p)
	if len(pairs) == 0 {
		return
	}
	var sum float64
	for _, pair := range pairs {
		sum += learner.Accuracy.Of(pair.Alone)
	}
	r.Alone = paper.Number(sum / float64(len(pairs)))
	if m.key != loneKey {
		gain := testnet.Bootstrap(pairs, resamples, s.seeds[0])
		r.GainLow, r.GainHigh = &gain.Low, &gain.High
	}
}

// pairs are everyone's error shares with a method, beside those of the tuned lone
// models.
func (s sizes) pairs(done paper.Done, m method, n, p int) (pairs []testnet.Pair) {
	for _, seed := range s.seeds {
		by, with := done[tunedAlone.cell(n, p, seed)][accuracy], done[m.cell(n, p, seed)][m.numbers]
		for i := range by {
			if with == nil {
				break
			}
			pairs = append(pairs, testnet.Pair{Person: len(pairs), Alone: learner.Accuracy.Loss(by[i]), With: learner.Accuracy.Loss(with[i])})
		}
	}
	return pairs
}

// verdict is that of valid privacy at the largest epsilon. It is for 25 features, as in
// the paper, if these were computed.
func (s sizes) verdict(done paper.Done) string {
	private := method{key: silentKey, numbers: accuracy, epsilon: epsilons[0]}
	free := method{key: togetherKey, numbers: together}
	for _, p := range []int{25, 20} {
		if pairs := s.pairs(done, private, s.agents, p); len(pairs) > 0 {
			return testnet.Judge(testnet.Evidence{Pairs: pairs, Free: s.pairs(done, free, s.agents, p), Seed: s.seeds[0]}).String()
		}
	}
	return ""
}

// resamples of a bootstrap; it is small because there are many rows.
const resamples = 2000
