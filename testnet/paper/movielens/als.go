package movielens

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// rank is the length of a factor, as in Bellet et al. 2018.
const rank = 20

// factorise returns a factor for each movie, nil for a movie without ratings, by
// alternating least squares with weighted regularisation (Zhou, Wilkinson, Schreiber,
// Pan, "Large-scale parallel collaborative filtering for the Netflix prize", 2008):
// in turn for all users and all movies, the minimum over the others' factors of
//
//	sum over ratings of (stars - u.v)^2 + reg (sum_u n_u |u|^2 + sum_v n_v |v|^2),
//
// n being the number of ratings, from movies' factors that r draws, normal with the
// standard deviation start. That matters: ten iterations do not even out the lengths of
// the users' and the movies' factors.
func factorise(list []rating, reg, start float64, iterations int, r *rand.Rand) [][]float64 {
	ofUser, ofMovie := make([][]entry, users), make([][]entry, movies)
	for _, x := range list {
		ofUser[x.user] = append(ofUser[x.user], entry{x.movie, x.stars})
		ofMovie[x.movie] = append(ofMovie[x.movie], entry{x.user, x.stars})
	}
	left, right := make([][]float64, users), make([][]float64, movies)
	for i := range right {
		right[i] = make([]float64, rank)
		for k := range right[i] {
			right[i][k] = start * r.NormFloat64()
		}
	}
	for range iterations {
		solveAll(left, ofUser, right, reg)
		solveAll(right, ofMovie, left, reg)
	}
	return right
}

// entry is a rating seen from one side, with the number of the other side.
type entry struct {
	other int
	value float64
}

// solveAll sets each row to the ridge regression of its entries on the others'
// factors.
func solveAll(rows [][]float64, entries [][]entry, others [][]float64, reg float64) {
	a, b := mat.NewSymDense(rank, nil), mat.NewVecDense(rank, nil)
	var factor mat.Cholesky
	for i, list := range entries {
		rows[i] = nil
		if len(list) == 0 {
			continue
		}
		a.Zero()
		b.Zero()
		for _, e := range list {
			v := mat.NewVecDense(rank, others[e.other])
			a.SymRankOne(a, 1, v)
			b.AddScaledVec(b, e.value, v)
		}
		for k := range rank {
			a.SetSym(k, k, a.At(k, k)+reg*float64(len(list)))
		}
		rows[i] = make([]float64, rank)
		if factor.Factorize(a) {
			// The regularisation bounds the condition number, so there is no failure,
			// and no warning that matters.
			_ = factor.SolveVecTo(mat.NewVecDense(rank, rows[i]), b)
		}
	}
}
