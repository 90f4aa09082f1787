package learner

import (
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// FitKnowing is [FitPersonal] with what is known of the population. Fits around the
// population's model are candidates beside those around the prior and the lone ones,
// and all are weighed alike. Theta is a model of records that [Known.Extend] made;
// Alone is as in FitPersonal. Without training records Theta is what the population
// knows.
func FitKnowing(t *Task, records []Record, prior []float64, k *Known) PersonalModel {
	return last(PersonalModelsKnowing(t, RowsOf(trainingRecords(records)), prior, Noise{}, k))
}

// PersonalModelsKnowing is [PersonalModels] with what is known of the population; see
// [FitKnowing].
func PersonalModelsKnowing(t *Task, train *Rows, prior []float64, noise Noise, k *Known) iter.Seq[PersonalModel] {
	prior = t.priorOr(prior)
	return func(yield func(PersonalModel) bool) {
		if train.Len() == 0 {
			yield(PersonalModel{Theta: k.outside(k.centre(t)), Alone: make([]float64, t.Dimension())})
			return
		}
		without, left := newSearch(t, train, prior), false
		without.noisy(noise)
		show := func(m PersonalModel) bool {
			if m.Theta != nil {
				m.Theta = k.pad(t, m.Theta)
			}
			left = !yield(m)
			return !left
		}
		if without.besideStraight(t, train, show) {
			without.within(t, train, show)
		}
		if left {
			return
		}
		extended, rows, centre := k.task(t), k.rows(t, train), k.centre(t)
		around := newSearch(extended, rows, centre)
		around.kappas, around.outside, around.noise = k.kappas(), k.outside, k.covariance(t)
		both := func(m PersonalModel) bool {
			theta := k.pad(t, without.model.Theta)
			if m.Theta != nil {
				share := 1 / (1 + math.Exp(without.logWeight()-around.logWeight()))
				floats.Scale(1-share, theta)
				floats.AddScaled(theta, share, m.Theta)
			}
			return yield(PersonalModel{Theta: theta, Alone: without.model.Alone})
		}
		own := k.items == nil && k.upper == nil // else coordinates are not the task's, and no line is one in them
		if !own || around.besideStraight(t, rows, func(PersonalModel) bool { return both(PersonalModel{}) }) {
			around.within(extended, rows, both)
		}
	}
}

// within makes the fits in the span of the records, if that is much smaller than the
// space of all models, and in coordinates in which the noise is as independent as the pull.
func (s *search) within(t *Task, train *Rows, yield func(PersonalModel) bool) {
	span, more := t.newSpan(train, s.prior, s.spreads, func() bool { return yield(s.model) })
	if !more {
		return
	}
	if span == nil && s.noise != nil && t.featureCount() > 0 && t.Dimension() <= exactParameters {
		span = t.wholeSpan(s.spreads)
	}
	if span != nil {
		outside := s.outside
		if s.noise != nil && span.coordinates() <= exactParameters {
			s.variance = span.turn(s.noise)
		}
		train, s.prior, s.spreads = span.inside(train), span.model(s.prior), nil
		if s.variance != nil && !s.raw {
			p := len(s.variance) - span.constant
			s.sizes = sizes(s.prior[:p], s.variance[:p])
		}
		s.outside = func(theta []float64) []float64 { return outside(span.outside(theta)) }
	}
	s.run(train, yield)
}

// logWeight is the logarithm of the total weight of all fits in the model. A model that
// is shown before the first fit is done weighs nothing.
func (s *search) logWeight() float64 {
	fits := s.rivals()
	if s.straight != nil {
		fits = slices.Concat(fits, s.straight.rivals())
	}
	return together(fits)
}

// The squares of the factors by which the offset and the popularity are divided. A
// larger one pulls the feature's weight more.
const (
	offsetPull  = 0.5
	popularPull = 1.5
)

// Extend returns a record with what people think of its key, inserted before the task's
// constant: the offset and the popularity, both 0 for a key that nobody knows. It is
// for records that are in no sum: those to predict, and those held out. If nothing is
// known of keys, it returns the record unchanged.
func (k *Known) Extend(t *Task, r Record) Record { return k.extend(t, r, nil) }

// Extended returns a model in the coordinates of the records that [Known.Extend] makes
// once the task's sums over keys are known: two more before the constant, both 0 in a
// model that does not know them. For a task without such sums it returns theta.
func (t *Task) Extended(theta []float64) []float64 {
	if !t.Sums.byKeys() || len(theta) != t.Dimension() {
		return theta
	}
	return slices.Insert(slices.Clone(theta), t.featureCount(), 0, 0)
}

// extend is Extend without the device's own votes, which own holds; nil: it has none.
func (k *Known) extend(t *Task, r Record, own []float64) Record {
	if k.items == nil {
		return r
	}
	var offset, popular float64
	switch key, ok := k.catalogue.At(r.Key); {
	case ok && own != nil:
		offset, popular = k.items.Without(own, key)
	case ok:
		offset, popular = k.items.Of(key)
	}
	x := make([]float64, 0, len(r.X)+2)
	x = append(x, r.X...)
	thought := pulled(offset, popular)
	r.X = slices.Insert(x, t.featureCount(), thought[:]...)
	return r
}

// pulled are the coordinates of what people think of a key. A fit pulls all features alike, and
// dividing a feature increases its pull.
func pulled(offset, popular float64) [2]float64 {
	return [2]float64{offset / math.Sqrt(offsetPull), popular / math.Sqrt(popularPull)}
}

// rows returns the training records in the coordinates of the fits around the
// population.
func (k *Known) rows(t *Task, train *Rows) *Rows {
	rows := new(Rows)
	for r := range train.All() {
		r = k.extend(t, r, k.own)
		if k.upper != nil { // nil: the prior is the same in all directions
			r.X = k.times(r.X, func(v *mat.VecDense) error { return v.SolveVec(k.upper.T(), v) })
		}
		rows.Add(r)
	}
	return rows
}

// task returns the task of these records. Their coordinates have a scale already.
func (k *Known) task(t *Task) *Task {
	extended := *t
	if k.items != nil {
		number := Feature{Kind: "number", Min: -1, Max: 1}
		extended.Features = append(slices.Clone(t.Features), number, number)
	}
	if k.upper != nil {
		extended.Features, extended.Map = []Feature{{Kind: "vector", Length: extended.featureCount()}}, Map{}
		extended.Local.Eta = 0.5 // that of a normal prior with variance 1
	}
	return &extended
}

// centre is the personal model that the population suggests, in the same coordinates.
// The offset has the weight 1 in it.
func (k *Known) centre(t *Task) []float64 {
	centre := k.pad(t, k.mean)
	if k.items != nil {
		centre[t.featureCount()] = math.Sqrt(offsetPull)
	}
	if k.upper != nil {
		centre = k.times(centre, func(v *mat.VecDense) error { v.MulVec(k.upper, v); return nil })
	}
	return centre
}

// covariance is that of the noise in the centre; nil: not known, or of no use to the fits.
func (k *Known) covariance(t *Task) *mat.SymDense {
	if k.items != nil || k.upper != nil || t.Local.Fixed { // other coordinates, or weights that are given
		return nil
	}
	return k.noise
}

// kappas are the factors of the centre around which the fits are made; 0 if the
// population suggests no centre. The mean of all people's models has noise in it, and
// if their models differ, it is shorter than they are; so half and twice the mean are
// tried too.
func (k *Known) kappas() []float64 {
	switch {
	case k.mean != nil:
		return []float64{1, 0.5, 2}
	case k.items != nil:
		return []float64{1}
	}
	return []float64{0}
}

// outside converts a model from the coordinates of the fits to those of extended
// records.
func (k *Known) outside(theta []float64) []float64 {
	if k.upper == nil || theta == nil {
		return theta
	}
	return k.times(theta, func(v *mat.VecDense) error { return v.SolveVec(k.upper, v) })
}

// times applies a change to the coordinates that the precision covers.
func (k *Known) times(theta []float64, change func(v *mat.VecDense) error) []float64 {
	n, _ := k.upper.Dims()
	out := slices.Clone(theta)
	_ = change(mat.NewVecDense(n, out[:n])) // a precision's factor is invertible
	return out
}

// pad converts a model of the task to one of extended records; nil stands for zero.
func (k *Known) pad(t *Task, theta []float64) []float64 {
	if theta == nil {
		theta = make([]float64, t.Dimension())
	}
	theta = slices.Clone(theta)
	if k.items != nil {
		theta = slices.Insert(theta, t.featureCount(), 0, 0)
	}
	return theta
}
