package learner

import (
	"errors"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner/population"
	"p2pnode/privacy"
)

// momentsRecipe is recipe C: the second moments of people's mean slopes at the model
// zero. The slope of a record is its features times minus half its label.
func momentsRecipe() recipeKind {
	return recipeKind{
		name: "moments",
		check: func(c *checker, key string, t *Task, _ *Recipe) {
			c.check(t.Loss == "logistic", key+".kind", "is \"moments\", which is made for labels +1 and -1: it needs the logistic loss")
			c.check(t.featureCount() > 0, key+".kind", "is \"moments\", which tells people apart by columns, and there are none; \"gradient\" needs none")
			c.squares(key+".kind", t)
		},
		make: func(s *Summing) summing { return &momentsSumming{Summing: s, moments: s.task.moments()} },
	}
}

// The constants of recipe C for features of norm 1; they were chosen on other seeds than
// those reported.
const (
	momentsLongest = 0.6 / 2.58 // bound on the length of a person's mean of label times features
	momentsRecords = 200
	// momentsGain times p^2 is the ratio of the squares of models to the squares of
	// slopes: with isotropic features the mean slope of a weak model theta is
	// theta/(2p).
	momentsGain = 11.1
	// momentsFloor is the variance of scores that a direction without a visible
	// difference is given.
	momentsFloor = 2. / 9
)

func (t *Task) moments() population.Moments {
	p := float64(t.featureCount())
	return population.Moments{
		Clip: 1, Longest: momentsLongest, Records: momentsRecords, Least: MomentsLeast,
		Gain: momentsGain * p * p, Floor: momentsFloor,
	}
}

// MomentsLeast is how many training records a device needs for a sum of the kind "moments" to say
// something of it.
const MomentsLeast = 10

type momentsSumming struct {
	*Summing
	oneSum
	moments population.Moments
}

func (s *momentsSumming) dimension() int { return s.moments.Dimension(s.task.featureCount()) }

func (s *momentsSumming) distance() float64 {
	m := s.moments
	return privacy.MomentsSensitivity(m.Clip, m.Longest, m.Records, m.Least)
}

// vector counts all training records as slots. A deleted record has no features and
// counts as zero.
func (s *momentsSumming) vector(train []Record, _ []float64) []float64 {
	p := s.task.featureCount()
	v := make([][]float64, len(train))
	for i, r := range train {
		v[i] = make([]float64, p)
		if r.X != nil {
			floats.ScaleTo(v[i], sign(r.Y), r.X[:p])
		}
	}
	return s.moments.Of(p, v)
}

// learn knows nothing of how people differ if the sum says nothing of others.
func (s *momentsSumming) learn(known *Known, o *Opened, own []float64, slots int) error {
	var weight float64
	for _, m := range o.Slots {
		weight += s.moments.Weight(m)
	}
	if own != nil {
		weight -= s.moments.Weight(slots)
	}
	if weight <= 0 { // nobody but this device has records enough
		known.upper = nil
		return nil
	}
	precision, err := s.moments.Learn(s.task.featureCount(), o.less(own), o.SD, weight)
	if err != nil {
		return err
	}
	var factor mat.Cholesky
	if !factor.Factorize(precision) {
		return errors.New("the precision is beyond float64")
	}
	known.upper = new(mat.TriDense)
	factor.UTo(known.upper)
	return nil
}
