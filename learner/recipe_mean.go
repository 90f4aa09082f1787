package learner

import (
	"math"

	"p2pnode/learner/population"
	"p2pnode/privacy"
)

// meanRecipe is recipe B: one regression over everybody's records.
func meanRecipe() recipeKind {
	return recipeKind{
		name: "mean",
		check: func(c *checker, key string, t *Task, _ *Recipe) {
			c.check(t.Loss == "squared", key+".kind", "is \"mean\", a regression: it needs the squared loss; \"gradient\" takes any")
			c.squares(key+".kind", t)
		},
		make: func(s *Summing) summing { return &meanSumming{s, s.task.regression()} },
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
	sum := make([]float64, s.dimension())
	for _, r := range train {
		if r.X != nil {
			s.regression.Add(sum, r.X, r.Y)
		}
	}
	return sum
}

func (s *meanSumming) learn(known *Known, o *Opened, own []float64, _ int) (err error) {
	known.mean, err = s.regression.Learn(s.task.Width(), o.less(own), o.SD)
	return err
}
