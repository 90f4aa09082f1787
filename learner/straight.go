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
	line := *t
	line.Map, line.Features = Map{}, slices.Clone(t.Features)
	bends := false
	for i := range t.Features {
		f, weights := t.Features[i].straight()
		line.Features[i] = f
		bends = bends || weights != nil
	}
	if t.Map.Kind == "" && !bends || t.Local.Fixed {
		return true
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

// straight returns the feature without bends, as its kind says.
func (f *Feature) straight() (line Feature, weights [][]float64) {
	if of := f.kind().straight; of != nil {
		return of(f)
	}
	return *f, nil
}

// straightened returns the coordinates of a row without bends and without a map.
func (t *Task) straightened(x []float64) (line []float64) {
	at := 0
	for i := range t.Features {
		f := &t.Features[i]
		own := x[at : at+f.width()]
		at += len(own)
		_, weights := f.straight()
		if weights == nil {
			line = append(line, own...)
		}
		for _, w := range weights {
			line = append(line, floats.Dot(own, w))
		}
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
			_, weights := f.straight()
			own := line[:len(weights)]
			if weights == nil {
				own = line[:f.width()]
				out = append(out, own...)
			} else {
				bent := make([]float64, f.width())
				for j, w := range weights {
					floats.AddScaled(bent, own[j], w)
				}
				out = append(out, bent...)
			}
			line = line[len(own):]
		}
		out = append(append(out, make([]float64, t.Map.Features)...), line...)
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
