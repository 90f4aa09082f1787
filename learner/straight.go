package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner/population"
)

// Where a linear model is right, bends and the coordinates that a [Map] appends only give a
// fit more ways to be wrong. So fits to the records without them, alone and around the straight
// model that is nearest to the prior, compete with all others, weighed by the same evidence, and
// bends and a map cost little where they do not help.

// straight makes fits to records without bends and without the coordinates of the task's map.
type straight struct {
	*search
	pad func(theta []float64) []float64 // converts one of its models to one of the task's
}

// besideStraight makes the straight fits of a task with bends or a map. It returns false
// if it was stopped.
func (s *search) besideStraight(t *Task, train *Rows, yield func(PersonalModel) bool) bool {
	l := t.lines()
	if l == nil || t.Local.Fixed {
		return true
	}
	line := *t
	line.Map, line.Features = Map{}, nil
	for _, f := range l.features {
		line.Features = append(line.Features, f.feature)
	}
	rows := new(Rows)
	for r := range train.All() {
		r.X = l.straightened(r.X)
		rows.Add(r)
	}
	of := &straight{search: newSearch(&line, rows, l.nearest(s.prior))}
	of.kappas, of.noise, of.raw, of.least = s.kappas, population.Turned(s.noise, l.nearest), s.raw, s.least
	of.pad = func(theta []float64) []float64 { return l.bent(theta, line.Width()) }
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

// lines converts between a task's coordinates and those without bends and without a map.
type lines struct {
	task     *Task
	features []straightFeature
}

// straightFeature is a feature without bends.
type straightFeature struct {
	feature Feature
	width   int // of the feature with bends
	// weights say how much of each coordinate with bends each straight one has, and level is 1
	// at all coordinates with bends that add up to 1; nil: the feature has no bends.
	weights [][]float64
	level   []float64
}

// lines returns nil for a task without bends and without a map: its models are straight.
func (t *Task) lines() *lines {
	l := &lines{task: t}
	bends := t.Map.Kind != ""
	for i := range t.Features {
		f := &t.Features[i]
		own := straightFeature{feature: *f, width: f.width()}
		if of := f.kind().straight; of != nil {
			own.feature, own.weights, own.level = of(f)
		}
		bends = bends || own.weights != nil
		l.features = append(l.features, own)
	}
	if !bends {
		return nil
	}
	return l
}

// straightened returns the coordinates of a row without bends and without a map.
func (l *lines) straightened(x []float64) (straight []float64) {
	for _, f := range l.features {
		own := x[:f.width]
		x = x[f.width:]
		if f.weights == nil {
			straight = append(straight, own...)
		}
		for _, w := range f.weights {
			straight = append(straight, floats.Dot(own, w))
		}
	}
	return append(straight, x[l.task.Map.Features:]...)
}

// bent converts a model of rows that are straightened, with blocks of this width, to one of
// rows as they are, which gives them the same scores.
func (l *lines) bent(theta []float64, width int) (out []float64) {
	for k := range l.task.loss().scores() {
		own := block(theta, k, width)
		for _, f := range l.features {
			if f.weights == nil {
				out = append(out, own[:f.width]...)
				own = own[f.width:]
				continue
			}
			bent := make([]float64, f.width)
			for _, w := range f.weights {
				floats.AddScaled(bent, own[0], w)
				own = own[1:]
			}
			out = append(out, bent...)
		}
		out = append(append(out, make([]float64, l.task.Map.Features)...), own...)
	}
	return out
}

// nearest is the straight model, in its own coordinates, whose weights at the knots of each feature
// differ least from those of a model, or of what one of its scores has. What all knots have in common
// goes to the constant. What the coordinates of a map say is lost.
func (l *lines) nearest(theta []float64) (straight []float64) {
	t := l.task
	for k := range len(theta) / t.Width() {
		own, common := block(theta, k, t.Width()), 0.
		for _, f := range l.features {
			if f.weights == nil {
				straight = append(straight, own[:f.width]...)
			} else {
				fitted, level := f.nearest(own[:f.width], t.Constant > 0)
				straight, common = append(straight, fitted...), common+level
			}
			own = own[f.width:]
		}
		straight = append(straight, own[t.Map.Features:]...)
		if t.Constant > 0 {
			straight[len(straight)-1] += common / (t.usualNorm() * t.Constant)
		}
	}
	return straight
}

// nearest returns the straight weights nearest to those with bends, by least squares, and how much
// all knots have in common, which is 0 if there is no constant to take it.
func (f *straightFeature) nearest(bent []float64, constant bool) (straight []float64, level float64) {
	n := len(f.weights)
	by := mat.NewDense(f.width, n+1, nil)
	for i, w := range f.weights {
		by.SetCol(i, w)
	}
	if constant {
		by.SetCol(n, f.level)
	} else {
		by = by.Slice(0, f.width, 0, n).(*mat.Dense)
	}
	var fitted mat.VecDense
	if fitted.SolveVec(by, mat.NewVecDense(f.width, bent)) != nil {
		return make([]float64, n), 0 // knots that are hardly apart
	}
	all := append(fitted.RawVector().Data, 0)
	return all[:n], all[n]
}

// mixed is the mean of a model made from these candidates and of one made from straight fits,
// weighed by their evidence.
func (f *straight) mixed(theta []float64, candidates []candidate, line []float64, rivals []candidate) []float64 {
	if len(rivals) == 0 {
		return theta
	}
	share := 1 / (1 + math.Exp(together(candidates)-together(rivals)))
	out := f.pad(line)
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
