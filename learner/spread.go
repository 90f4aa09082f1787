package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// spreads says by how much less a fit pulls the weight of each coordinate before the
// constant, because the owner's numbers vary less there than their range allows. A range
// must hold everybody's numbers and be told by nobody's, so it is often far wider than one
// person's, and the same pull for all would expect the less of a column the wider its range is
// said to be. The pull is in proportion to the standard deviation, as in Pareto scaling (van
// den Berg et al., "Centering, scaling, and transformations", 2006): half way to columns of
// equal variance, which lose where they have a unit in common. A deviation counts one record
// of the range itself. What does not vary, and what is no number of a range, has 1. All have if
// spreads is nil: also where so many weights need a pull in common, see [spectrum].
func (t *Task) spreads(of deviations) []float64 {
	if of.squares == nil {
		return nil
	}
	spreads := make([]float64, len(of.squares))
	floats.AddConst(1, spreads)
	norm, at := t.usualNorm(), 0
	for i := range t.Features {
		f := &t.Features[i]
		if f.ranged() && of.squares[at] > 0 {
			usual := f.kind().square(f) / (norm * norm) // around the middle of the range: its variance
			spreads[at] = math.Sqrt((of.squares[at]/usual + 1) / of.records)
		}
		at += f.width()
	}
	return spreads
}

// aside is how far the owner's numbers lie to one side of the middle of their ranges: the sum of the
// squares of their means, as far as these are surely there, less their variance, each over its
// spread. It is 0 where they lie on both sides or do not vary, and where the target is no number or
// the model has no constant.
func (t *Task) aside(of deviations, spreads []float64) (aside float64) {
	if spreads == nil || t.Constant == 0 || t.lossKind().target != numberTarget {
		return 0
	}
	at := 0
	for i := range t.Features {
		f := &t.Features[i]
		if f.ranged() && of.squares[at] > 0 {
			variance := of.squares[at] / (of.records - 1)
			sure := max(0, math.Abs(of.means[at])-2*math.Sqrt(variance/of.records))
			aside += max(0, sure*sure-variance) / spreads[at]
		}
		at += f.width()
	}
	return aside
}

// deviations are the means of the features of all records, and the sums of the squares of how far
// each is from its mean.
type deviations struct {
	records        float64
	means, squares []float64 // nil where weights need a pull in common
}

func (t *Task) deviations(train *Rows) deviations {
	if !slices.ContainsFunc(t.Features, func(f Feature) bool { return f.ranged() }) || t.Normalise || t.Dimension() > exactParameters && t.Width() > exactColumns {
		return deviations{}
	}
	of := deviations{float64(train.Len()), make([]float64, t.featureCount()), make([]float64, t.featureCount())}
	first := train.pieces[0].x // counted from there, what does not vary is 0, and not nearly 0
	for r := range train.All() {
		for j := range of.means {
			of.means[j] += (r.X[j] - first[j]) / of.records
		}
	}
	for r := range train.All() {
		for j, mean := range of.means {
			off := r.X[j] - first[j] - mean
			of.squares[j] += off * off
		}
	}
	floats.Add(of.means, first[:len(of.means)])
	return of
}

// scaleFeatures multiplies the features of each block of v, which has the given width, by the
// spreads, in place.
func scaleFeatures(v []float64, width int, spreads []float64) {
	for k := 0; k < len(v); k += width {
		floats.Mul(v[k:k+len(spreads)], spreads)
	}
}
