package learner

import (
	"cmp"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner/population"
)

// gradientRecipe is recipe D: rounds of clipped gradients at a public model.
func gradientRecipe() recipeKind {
	return recipeKind{
		name: "gradient",
		check: func(c *checker, key string, _ *Task, r *Recipe) {
			c.check(r.Rounds >= 0 && r.Rounds <= maxSumRounds, key+".rounds", "must be between 1 and %d, or left out", maxSumRounds)
		},
		make: func(s *Summing) summing { return &gradientSumming{Summing: s} },
	}
}

const (
	usualRounds  = 16
	maxSumRounds = 256
	// longStep is the factor by which the first steps are longer than is safe for
	// features that all point in one direction. Steps are halved when they prove too
	// long.
	longStep = 16
	// gradientClip is the clip, as a share of the longest possible gradient at the
	// model zero.
	gradientClip = 0.3
)

type gradientSumming struct {
	*Summing
	toModel
}

func (s *gradientSumming) dimension() int { return s.task.Dimension() }

func (s *gradientSumming) rounds() int { return cmp.Or(s.recipe.Rounds, usualRounds) }

func (s *gradientSumming) walk() Walk {
	return population.NewDescent(s.task.Dimension(), longStep/s.task.loss().smoothness(s.task.FeatureNorm()))
}

// clip is a share of the longest gradient that a record can have at the model zero.
func (s *gradientSumming) clip() float64 {
	norm := s.task.FeatureNorm()
	return gradientClip * s.task.loss().steepness(0, s.task.labelBound()) * norm
}

// distance is twice the clip: replacing a record replaces one vector that is at most as
// long as the clip.
func (s *gradientSumming) distance() float64 { return 2 * s.clip() }

func (s *gradientSumming) vector(train []Record, at []float64) []float64 {
	one := make([]float64, s.dimension())
	return s.added(train, func(sum []float64, r *Record) {
		clippedGradient(one, s.task.loss(), at, r.X, r.Y, s.clip())
		floats.Add(sum, one)
	})
}
