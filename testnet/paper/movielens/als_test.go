package movielens

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// factoriseSlowly is [factorise] as the formula has it: each row solves the normal
// equations, written out with all ratings looked at for each.
func factoriseSlowly(list []rating, reg float64, iterations int, r *rand.Rand) [][]float64 {
	left, right := mat.NewDense(users, rank, nil), mat.NewDense(movies, rank, nil)
	for i := range movies {
		for k := range rank {
			right.Set(i, k, r.NormFloat64())
		}
	}
	solve := func(rows, others *mat.Dense, side func(rating) (own, other int)) {
		n, _ := rows.Dims()
		for i := range n {
			a, b := mat.NewDense(rank, rank, nil), mat.NewDense(rank, 1, nil)
			for _, x := range list {
				own, other := side(x)
				if own != i {
					continue
				}
				for k := range rank {
					b.Set(k, 0, b.At(k, 0)+x.stars*others.At(other, k))
					a.Set(k, k, a.At(k, k)+reg)
					for l := range rank {
						a.Set(k, l, a.At(k, l)+others.At(other, k)*others.At(other, l))
					}
				}
			}
			var row mat.Dense
			if row.Solve(a, b) == nil {
				rows.SetRow(i, mat.Col(nil, 0, &row))
			}
		}
	}
	for range iterations {
		solve(left, right, func(x rating) (int, int) { return x.user, x.movie })
		solve(right, left, func(x rating) (int, int) { return x.movie, x.user })
	}
	all := make([][]float64, movies)
	for i := range all {
		all[i] = right.RawRowView(i)
	}
	return all
}

func TestFactorsAreThoseOfTheFormula(t *testing.T) {
	var list []rating
	for i, x := range made(2, 20).ratings {
		if i%13 == 0 {
			list = append(list, x)
		}
	}
	fast := factorise(list, 0.1, 1, 2, rand.New(rand.NewPCG(1, 1)))
	slow := factoriseSlowly(list, 0.1, 2, rand.New(rand.NewPCG(1, 1)))
	rated := make([]bool, movies)
	for _, x := range list {
		rated[x.movie] = true
	}
	for i := range fast {
		if (fast[i] != nil) != rated[i] {
			t.Fatalf("movie %d: factor %v, rated %v", i, fast[i], rated[i])
		}
		if rated[i] && floats.Distance(fast[i], slow[i], math.Inf(1)) > 1e-9 {
			t.Fatalf("movie %d: %v, want %v", i, fast[i], slow[i])
		}
	}
}
