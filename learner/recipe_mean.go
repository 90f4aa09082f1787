package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner/population"
	"p2pnode/privacy"
)

// meanRecipe is recipe B: one regression over everybody's records, or one discriminant
// analysis of their classes.
func meanRecipe() recipeKind {
	return recipeKind{
		name: "mean",
		check: func(c *checker, key string, t *Task, _ *Recipe) {
			c.check(t.Loss == "squared" || t.HasProbabilities(), key+".kind", "is \"mean\", which needs the squared loss, or one that gives classes probabilities; \"gradient\" takes any")
			c.check(t.Loss == "squared" || t.Constant > 0, key+".kind", "is \"mean\", which counts the records of a class by the constant, and that is 0; \"gradient\" needs none")
			c.check(t.Loss == "squared" || t.featureCount() > 0, key+".kind", "is \"mean\", which tells classes by columns, and there are none; \"gradient\" needs none")
			c.squares(key+".kind", t)
			c.check(!t.Classifies() || t.Width() > maxSquared || t.discriminant().Dimension(t.Width()) <= mostSummed, key+".kind",
				"is \"mean\", which makes %d numbers of so many columns and classes, %d at most; \"gradient\" takes more", t.discriminant().Dimension(t.Width()), mostSummed)
		},
		make: func(s *Summing) summing {
			if s.task.Classifies() {
				return &classSumming{s, s.task.discriminant()}
			}
			return &meanSumming{s, s.task.regression()}
		},
	}
}

const (
	// meanRidge is what [population.Regression] adds to eigenvalues, in units of their
	// noise. It was chosen on splits of School other than those reported.
	meanRidge = 5
	// meanBands is into how many bands labels are cut, see [population.Regression]: the
	// innermost reaches a 27th as far as labels can. Of made-up households, on seeds other than those
	// reported, four brought more than three or one.
	meanBands = 4
	// classRidge is meanRidge of a [population.Discriminant], chosen on made-up classes
	// of other kinds than those reported.
	classRidge = 3
)

// regression bounds records by the bounds of the task, and weighs their second moments
// as much as costs nothing: up to label / (sqrt2 length) the distance is that of the
// first moments alone.
func (t *Task) regression() population.Regression {
	length, label := t.FeatureNorm(), t.labelBound()
	return population.Regression{Scale: label / (math.Sqrt2 * length), Length: length, Label: label, Bands: meanBands, Ridge: meanRidge, Least: 1}
}

type meanSumming struct {
	*Summing
	regression population.Regression
}

func (s *meanSumming) dimension() int { return s.regression.Dimension(s.task.Width()) }

func (s *meanSumming) distance() float64 {
	return privacy.GramSensitivity(s.regression.Scale, s.regression.Length, s.regression.Label)
}

func (s *meanSumming) vector(train []Record, _ []float64) []float64 {
	return s.added(train, func(sum []float64, r *Record) { s.regression.Add(sum, r.X, r.Y) })
}

func (s *meanSumming) learn(known *Known, o *Opened, own []float64, _ int) (err error) {
	known.mean, err = s.regression.Learn(s.task.Width(), o.less(own), o.SD)
	return err
}

// discriminant bounds records by the bound of the task, and weighs second moments as regression
// does, with indicators of classes in place of labels.
func (t *Task) discriminant() population.Discriminant {
	d := population.Discriminant{Length: t.FeatureNorm(), Classes: t.classes(), Constant: t.Constant, Ridge: classRidge, Least: 1}
	d.Scale = indicatorLength(d.Classes) / (math.Sqrt2 * d.Length)
	return d
}

// classes is how many classes the target has.
func (t *Task) classes() int { return max(2, len(t.Target.Classes)) }

// indicatorLength is how long an indicator of one of k classes is.
func indicatorLength(k int) float64 { return math.Sqrt(1 - 1/float64(k)) }

// classSumming is meanSumming for classes.
type classSumming struct {
	*Summing
	discriminant population.Discriminant
}

func (s *classSumming) dimension() int { return s.discriminant.Dimension(s.task.Width()) }

func (s *classSumming) distance() float64 {
	return privacy.GramSensitivity(s.discriminant.Scale, s.discriminant.Length, indicatorLength(s.discriminant.Classes))
}

func (s *classSumming) vector(train []Record, _ []float64) []float64 {
	return s.added(train, func(sum []float64, r *Record) { s.discriminant.Add(sum, r.X, classOf(r.Y)) })
}

func (s *classSumming) learn(known *Known, o *Opened, own []float64, slots int) error {
	records := 0
	for _, m := range o.Slots {
		records += m
	}
	if own != nil {
		records -= slots
	}
	if records <= 0 { // nobody else
		known.mean = nil
		return nil
	}
	theta, err := s.discriminant.Learn(s.task.Width(), o.less(own), o.SD, records)
	if err != nil {
		return err
	}
	if s.task.loss().scores() == 1 { // the second class's less the first's
		p := s.task.Width()
		theta = floats.SubTo(make([]float64, p), theta[p:], theta[:p])
	}
	known.mean = theta
	return nil
}
