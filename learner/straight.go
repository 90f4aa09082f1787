package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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

// bends reports whether the task's models are more than straight.
func (t *Task) bends() bool {
	return t.Map.Kind != "" || slices.ContainsFunc(t.Features, func(f Feature) bool {
		_, weights := f.straight()
		return weights != nil
	})
}

// besideStraight makes the straight fits of a task with bends or a map. It returns false
// if it was stopped.
func (s *search) besideStraight(t *Task, train *Rows, yield func(PersonalModel) bool) bool {
	if !t.bends() || t.Local.Fixed {
		return true
	}
	line := *t
	line.Map, line.Features = Map{}, slices.Clone(t.Features)
	for i := range t.Features {
		line.Features[i], _ = t.Features[i].straight()
	}
	rows := new(Rows)
	for r := range train.All() {
		r.X = t.straightened(r.X)
		rows.Add(r)
	}
	of := &straight{search: newSearch(&line, rows, t.nearest(s.prior))}
	of.kappas = s.kappas
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

// nearest is the straight model, in its own coordinates, that differs least from a model at the
// knots of each feature. What all knots have in common is the constant's.
func (t *Task) nearest(theta []float64) (line []float64) {
	width := t.Width()
	for k := range t.loss().scores() {
		own, common := block(theta, k, width), 0.
		for i := range t.Features {
			f := &t.Features[i]
			_, weights := f.straight()
			part := own[:f.width()]
			own = own[len(part):]
			if weights == nil {
				line = append(line, part...)
				continue
			}
			fitted := leastSquares(weights, part, t.Constant > 0)
			line = append(line, fitted[:len(weights)]...)
			common += fitted[len(weights)]
		}
		line = append(line, own[t.Map.Features:]...)
		if t.Constant > 0 {
			line[len(line)-1] += common / (t.usualNorm() * t.Constant)
		}
	}
	return line
}

// leastSquares returns the factors of the rows whose sum is nearest to a vector and, if there may
// be one, of a row of ones.
func leastSquares(rows [][]float64, to []float64, ones bool) []float64 {
	m, n := len(rows), len(to)
	by := mat.NewDense(n, m+1, nil)
	for j, row := range rows {
		by.SetCol(j, row)
	}
	if ones {
		for i := range n {
			by.Set(i, m, 1)
		}
	}
	var normal mat.SymDense
	normal.SymOuterK(1, by.T())
	for j := range m + 1 {
		normal.SetSym(j, j, normal.At(j, j)+1e-9) // two rows may be one, as of a day by hours and as a circle
	}
	var factors mat.Cholesky
	var products, out mat.VecDense
	products.MulVec(by.T(), mat.NewVecDense(n, to))
	factors.Factorize(&normal)
	_ = factors.SolveVecTo(&out, &products) // what is positive definite has a solution
	return out.RawVector().Data
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
