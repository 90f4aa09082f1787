package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner/population"
	"p2pnode/privacy"
)

// meanRecipe is recipe B: a regression over everybody's records, or a discriminant
// analysis of their classes, in two rounds.
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
				return &classSumming{Summing: s, discriminant: s.task.discriminant()}
			}
			return &meanSumming{Summing: s, regression: s.task.regression()}
		},
	}
}

const (
	// numbersRidge and classesRidge are what [population.Regression] and
	// [population.Discriminant] add to eigenvalues, in units of their noise. They were chosen on
	// made-up numbers and classes, of other draws than those reported.
	numbersRidge = 2
	classesRidge = 3
	// meanBands is into how many bands labels are cut, see [population.Regression]: the
	// innermost reaches a 27th as far as labels can. Of made-up households, on seeds other than those
	// reported, four brought more than three or one.
	meanBands = 4
)

// regression bounds records by the bounds of the task, and weighs their second moments
// as much as costs nothing: up to label / (sqrt2 length) the distance is that of the
// first moments alone.
func (t *Task) regression() population.Regression {
	length, label := t.FeatureNorm(), t.labelBound()
	return population.Regression{Scale: label / (math.Sqrt2 * length), Length: length, Label: label, Bands: meanBands, Ridge: numbersRidge, Least: 1}
}

type meanSumming struct {
	*Summing
	toModel
	regression population.Regression
}

func (s *meanSumming) dimension() int { return s.regression.Dimension(s.task.Width()) }

func (s *meanSumming) distance() float64 {
	return privacy.GramSensitivity(s.regression.Scale, s.regression.Length, s.regression.Label)
}

func (s *meanSumming) rounds() int { return population.WalkRounds }

func (s *meanSumming) walk() Walk {
	return population.NewRegressionWalk(s.regression, s.task.Width(), s.task.Constant)
}

func (s *meanSumming) vector(train []Record, at []float64) []float64 {
	return s.added(train, func(sum []float64, r *Record) { s.regression.AddAt(sum, r.X, r.Y, at) })
}

// discriminant bounds records by the bound of the task, and weighs second moments as regression
// does, with indicators of classes in place of labels.
func (t *Task) discriminant() population.Discriminant {
	d := population.Discriminant{Length: t.FeatureNorm(), Classes: t.classes(), Constant: t.Constant, Ridge: classesRidge, Least: 1}
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
	toModel
	discriminant population.Discriminant
}

func (s *classSumming) dimension() int { return s.discriminant.Dimension(s.task.Width()) }

func (s *classSumming) distance() float64 {
	return privacy.GramSensitivity(s.discriminant.Scale, s.discriminant.Length, indicatorLength(s.discriminant.Classes))
}

func (s *classSumming) rounds() int { return population.WalkRounds }

func (s *classSumming) walk() Walk {
	return population.NewDiscriminantWalk(s.discriminant, s.task.Width())
}

func (s *classSumming) vector(train []Record, scales []float64) []float64 {
	return s.added(train, func(sum []float64, r *Record) {
		s.discriminant.Add(sum, population.Scaled(r.X, scales), classOf(r.Y))
	})
}

func (s *classSumming) learn(known *Known, o *Opened, own []float64, slots int) error {
	err := s.toModel.learn(known, o, own, slots)
	if s.task.loss().scores() == 1 { // the second class's less the first's
		p := s.task.Width()
		known.mean = floats.SubTo(make([]float64, p), o.Sum[p:], o.Sum[:p])
	}
	return err
}
