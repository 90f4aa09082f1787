package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Where a straight line is right, what a [Map] appends only gives a fit more to be wrong
// about. So the lone fits to the records without it are rivals of all others, weighed by the
// same evidence, and a map costs little where it does not help.

// straight is the lone fits to records without what the task's map appends.
type straight struct {
	*search
	pad func(theta []float64) []float64 // a model of theirs as one of the task's
}

// besideStraight makes the straight fits of a task with a map, and reports whether it was
// let.
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

// padded is a model with d zeros more in each block, from coordinate n on.
func (t *Task) padded(theta []float64, n, d int) []float64 {
	var out []float64
	for k := range t.loss().scores() {
		out = append(out, slices.Insert(slices.Clone(block(theta, k, t.Width())), n, make([]float64, d)...)...)
	}
	return out
}

// mixed is a model that these candidates make, with what the straight fits weigh beside them.
func (f *straight) mixed(theta []float64, candidates []candidate) []float64 {
	share := 1 / (1 + math.Exp(together(candidates)-together(f.alone)))
	out := f.pad(f.model.Alone)
	floats.Scale(share, out)
	floats.AddScaled(out, 1-share, theta)
	return out
}

// together is the logarithm of what candidates weigh together; of none, of zero.
func together(candidates []candidate) float64 {
	logWeights := []float64{math.Inf(-1)}
	for _, c := range candidates {
		logWeights = append(logWeights, c.logWeight)
	}
	return floats.LogSumExp(logWeights)
}
