package movielens

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// features are the known features of each movie.
type features struct {
	of    [][]float64 // by movie; zero for a movie of which nothing is known
	bound float64     // the largest l2 norm
}

const alsIterations = 10

// learnFeatures returns factors of the movies from the given ratings.
func learnFeatures(list []rating, reg, start float64, seed uint64) features {
	f := features{of: factorise(list, reg, start, alsIterations, rand.New(rand.NewPCG(seed, 1)))}
	for i := range f.of {
		if f.of[i] == nil {
			f.of[i] = make([]float64, rank)
		}
		f.bound = max(f.bound, floats.Norm(f.of[i], 2))
	}
	return f
}

// centred subtracts each user's mean.
func centred(list []rating) []rating {
	means := userMeans(list)
	out := make([]rating, len(list))
	for i, r := range list {
		out[i] = rating{r.user, r.movie, r.stars - means[r.user]}
	}
	return out
}

// training returns the ratings that are not used for the test.
func (s *split) training(list []rating) []rating {
	return s.keep(list, func(i int) bool { return !s.test[i] })
}

// donated returns all ratings of the donors.
func (s *split) donated(list []rating) []rating {
	return s.keep(list, func(i int) bool { return s.donor[list[i].user] })
}

func (s *split) keep(list []rating, wanted func(i int) bool) []rating {
	var kept []rating
	for i, r := range list {
		if wanted(i) {
			kept = append(kept, r)
		}
	}
	return kept
}
