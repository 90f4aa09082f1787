package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Where a linear model is right, the bends of numbers and the coordinates that a [Map]
// appends only give a fit more ways to be wrong. So lone fits to the records without them
// compete with all others, weighed by the same evidence, and bends and a map cost little
// where they do not help.

// straight makes lone fits to records without bends and without the coordinates of the
// task's map.
type straight struct {
	*search
	pad func(theta []float64) []float64 // converts one of its models to one of the task's
}

// besideStraight makes the straight fits of a task with bends or a map. It returns false
// if it was stopped.
func (s *search) besideStraight(t *Task, train *Rows, yield func(PersonalModel) bool) bool {
	bent := func(f Feature) bool { return len(f.Bends) > 0 }
	if t.Map.Kind == "" && !slices.ContainsFunc(t.Features, bent) || t.Local.Fixed {
		return true
	}
	line := *t
	line.Map, line.Features = Map{}, slices.Clone(t.Features)
	for i := range line.Features {
		line.Features[i].Bends = nil
	}
	rows := new(Rows)
	for r := range train.All() {
		r.X = t.straightened(r.X)
		rows.Add(r)
	}
	of := &straight{search: newSearch(&line, rows, make([]float64, line.Dimension()))}
	of.pad = func(theta []float64) []float64 { return t.bent(theta, line.Width()) }
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

// straightened returns the coordinates of a row without bends and without a map: those of a
// number with bends say where between its ends it lies.
func (t *Task) straightened(x []float64) (line []float64) {
	at := 0
	for i := range t.Features {
		f := &t.Features[i]
		own := x[at : at+f.width()]
		at += len(own)
		if len(f.Bends) > 0 {
			own = []float64{floats.Dot(own, f.units())}
		}
		line = append(line, own...)
	}
	return append(line, x[at+t.Map.Features:]...)
}

// bent converts a model of rows that are straightened, with blocks of this width, to one of
// rows as they are, which gives them the same scores.
func (t *Task) bent(theta []float64, width int) (out []float64) {
	for k := range t.loss().scores() {
		line := block(theta, k, width)
		for i := range t.Features {
			f := &t.Features[i]
			if len(f.Bends) > 0 {
				for _, unit := range f.units() {
					out = append(out, line[0]*unit)
				}
				line = line[1:]
				continue
			}
			out = append(out, line[:f.width()]...)
			line = line[f.width():]
		}
		out = append(append(out, make([]float64, t.Map.Features)...), line...)
	}
	return out
}

// units are the coordinates that the knots of a number with bends would have without them.
func (f *Feature) units() []float64 {
	units := f.knots()
	for i, knot := range units {
		units[i] = f.unit(knot)
	}
	return units
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
