package tabular

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// tally adds up the losses of a kind of model, node by node, over cells.
type tally struct{ loss, tests []float64 }

// add takes in one cell's losses of the models of that name.
func (t *tally) add(n paper.Numbers, model string) {
	if t.tests == nil {
		t.loss, t.tests = make([]float64, len(n["tests"])), make([]float64, len(n["tests"]))
	}
	for i, tests := range n["tests"] {
		t.loss[i] += n[model][i] * tests
		t.tests[i] += tests
	}
}

// means are the mean losses of the nodes.
func (t *tally) means() []float64 {
	return floats.DivTo(make([]float64, len(t.loss)), t.loss, t.tests)
}

// pooled is the mean loss over all test records.
func (t *tally) pooled() float64 { return floats.Sum(t.loss) / floats.Sum(t.tests) }

// spread is the standard deviation, or nil of a single value.
func spread(values []float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	return paper.Number(stat.StdDev(values, nil))
}

// Of the intervals of gains.
const (
	resamples     = 2000
	bootstrapSeed = 1
)

// gain sets the interval of the gain over the lone model in a row.
func gain(row *paper.Row, pairs []testnet.Pair) {
	v := testnet.Bootstrap(pairs, resamples, bootstrapSeed)
	if !math.IsNaN(v.Mean) {
		row.GainLow, row.GainHigh = paper.Number(v.Low), paper.Number(v.High)
	}
}
