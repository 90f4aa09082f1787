package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Where a linear model is right, the coordinates that a [Map] appends only give a fit
// more ways to be wrong. So lone fits to the records without those coordinates compete
// with all others, weighed by the same evidence, and a map costs little where it does
// not help.

// straight makes lone fits to records without the coordinates of the task's map.
type straight struct {
	*search
	pad func(theta []float64) []float64 // converts one of its models to one of the task's
}

// besideStraight makes the straight fits of a task with a map. It returns false if it
// was stopped.
func (s *search) besideStraight(t *Task, train *Rows, yield func(PersonalModel) bool) bool {
	if t.Map.Kind == "" || t.Local.Fixed {
		return true
	}
	line, n, d := *t, t.coordinates(), t.Map.Features
	line.Map = Map{}
	rows := new(Rows)
	for r := range train.All() {
		r.X = slices.Delete(slices.Clone(r.X), n, n+d)
		rows.Add(r)
	}
	of := &straight{search: newSearch(&line, rows, make([]float64, line.Dimension()))}
	of.pad = func(theta []float64) []float64 { return line.padded(theta, n, d) }
	left := false
	of.within(&line, rows, func(m PersonalModel) bool {
		if m.Theta != nil {
			m = PersonalModel{Theta: of.pad(m.Theta), Alone: of.pad(m.Alone)}
		}
		left = !yield(m)
		return !left
	})
	s.straight = of
	return !left
}

// padded inserts d zeros at coordinate n of each block of a model.
func (t *Task) padded(theta []float64, n, d int) []float64 {
	var out []float64
	for k := range t.loss().scores() {
		out = append(out, slices.Insert(slices.Clone(block(theta, k, t.Width())), n, make([]float64, d)...)...)
	}
	return out
}

// mixed is the mean of a model made from these candidates and of the straight fits,
// weighed by their evidence.
func (f *straight) mixed(theta []float64, candidates []candidate) []float64 {
	share := 1 / (1 + math.Exp(together(candidates)-together(f.alone)))
	out := f.pad(f.model.Alone)
	floats.Scale(share, out)
	floats.AddScaled(out, 1-share, theta)
	return out
}

// together is the logarithm of the candidates' total weight; -Inf for none.
func together(candidates []candidate) float64 {
	logWeights := []float64{math.Inf(-1)}
	for _, c := range candidates {
		logWeights = append(logWeights, c.logWeight)
	}
	return floats.LogSumExp(logWeights)
}
