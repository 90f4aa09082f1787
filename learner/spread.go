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
func (t *Task) spreads(train *Rows) []float64 {
	numbers := slices.ContainsFunc(t.Features, func(f Feature) bool { return f.usualVariance() > 0 })
	if !numbers || t.Normalise || t.Dimension() > exactParameters && t.Width() > exactColumns {
		return nil
	}
	spreads := make([]float64, t.featureCount())
	means := slices.Clone(spreads)
	for r := range train.All() {
		floats.AddScaled(means, 1/float64(train.Len()), r.X[:len(means)])
	}
	for r := range train.All() {
		for j, mean := range means {
			spreads[j] += (r.X[j] - mean) * (r.X[j] - mean)
		}
	}
	norm, at := t.usualNorm(), 0
	for i := range t.Features {
		f := &t.Features[i]
		usual := f.usualVariance() / (norm * norm)
		for j := range f.width() {
			if of := &spreads[at+j]; usual == 0 || *of == 0 {
				*of = 1
			} else {
				*of = math.Sqrt((*of/usual + 1) / float64(train.Len()))
			}
		}
		at += f.width()
	}
	for j := at; j < len(spreads); j++ { // of a map
		spreads[j] = 1
	}
	return spreads
}

// usualVariance is that of a number which is uniform in the range of the feature, as its
// coordinate; 0 if it is no number of a range.
func (f *Feature) usualVariance() float64 {
	if of := f.kind().variance; of != nil {
		return of(f)
	}
	return 0
}
