package movielens

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// planted are ratings of people and movies that follow the model of an analysis, with
// two factors, one known feature and a constant, and the same people's ratings of
// other movies without noise.
func planted(r *rand.Rand) (list, unseen []rating, known [][]float64) {
	const people, films = 150, 120
	factors := make([][]float64, films)
	for i := range factors {
		factors[i] = []float64{r.NormFloat64(), r.NormFloat64()}
		known = append(known, []float64{r.NormFloat64(), 1})
	}
	for u := range people {
		theta := []float64{0.6 + 0.1*r.NormFloat64(), 0.5 * r.NormFloat64(), 0.3 * r.NormFloat64(), 0.2 + 0.4*r.NormFloat64()}
		for i := range films {
			stars := floats.Dot(theta[:2], factors[i]) + floats.Dot(theta[2:], known[i])
			if r.IntN(3) == 0 {
				list = append(list, rating{u, i, stars + 0.5*r.NormFloat64()})
			} else {
				unseen = append(unseen, rating{u, i, stars})
			}
		}
	}
	return list, unseen, known
}

// The planted variance is 0.25, and what was planted is found: the error on unseen
// ratings is far below their own spread of about 1. Seeds are fixed.
func TestAnalysisFindsWhatWasPlanted(t *testing.T) {
	list, unseen, known := planted(rand.New(rand.NewPCG(1, 2)))
	a := analyse(list, known, 3, rand.New(rand.NewPCG(3, 4)))
	if math.Abs(a.variance-0.25) > 0.03 {
		t.Errorf("variance %.3f, want 0.25", a.variance)
	}
	var squares, spread float64
	for _, x := range unseen {
		e := x.stars - mat.Dot(a.people[x.user].mean, a.movies[x.movie].mean)
		squares += e * e
		spread += x.stars * x.stars
	}
	if got, all := squares/float64(len(unseen)), spread/float64(len(unseen)); got > 0.1*all {
		t.Errorf("mean square error %.3f of ratings whose mean square is %.3f", got, all)
	}
}

// A movie that nobody rated is known by its genres alone.
func TestAnalysisOfAMovieWithoutRatings(t *testing.T) {
	list, _, known := planted(rand.New(rand.NewPCG(5, 6)))
	known = append(known, []float64{2, 1})
	a := analyse(list, known, 3, rand.New(rand.NewPCG(3, 4)))
	last := a.movies[len(known)-1].mean.RawVector().Data
	if want := []float64{0, 0, 0, 2, 1}; !floats.EqualApprox(last, want, 1e-12) {
		t.Errorf("features %v, want %v", last, want)
	}
}

// The ridge regression on features() with the variance as penalty is the posterior
// mean of a person's model under N(mean, spread), by the textbook formula.
func TestFeaturesMakeTheRidgeThePosterior(t *testing.T) {
	list, unseen, known := planted(rand.New(rand.NewPCG(7, 8)))
	a := analyse(list, known, 3, rand.New(rand.NewPCG(3, 4)))
	x, expected := a.features()
	p := len(a.mean)

	ridge, plain := mat.NewSymDense(p, nil), mat.NewSymDense(p, nil)
	right, rightPlain := mat.NewVecDense(p, nil), mat.NewVecDense(p, nil)
	var inverse mat.Dense
	if err := inverse.Inverse(a.spread); err != nil {
		t.Fatal(err)
	}
	rightPlain.MulVec(&inverse, mat.NewVecDense(p, a.mean))
	rightPlain.ScaleVec(a.variance, rightPlain)
	for i := range p {
		ridge.SetSym(i, i, a.variance)
		for j := i; j < p; j++ {
			plain.SetSym(i, j, a.variance*inverse.At(i, j))
		}
	}
	for _, r := range list[:30] { // one person's
		v := mat.NewVecDense(p, x[r.movie])
		ridge.SymRankOne(ridge, 1, v)
		right.AddScaledVec(right, r.stars-expected[r.movie], v)
		plain.SymRankOne(plain, 1, a.movies[r.movie].mean)
		rightPlain.AddScaledVec(rightPlain, r.stars, a.movies[r.movie].mean)
	}
	model, _ := posterior(ridge, right)
	theta, _ := posterior(plain, rightPlain)
	for _, r := range unseen[:100] {
		got := expected[r.movie] + mat.Dot(model, mat.NewVecDense(p, x[r.movie]))
		if want := mat.Dot(theta, a.movies[r.movie].mean); math.Abs(got-want) > 1e-9 {
			t.Fatalf("movie %d: %v by ridge, %v by Bayes", r.movie, got, want)
		}
	}
}

// One step for a person and one for a movie against sums written out.
func TestMeetingsByTheirSums(t *testing.T) {
	list, _, known := planted(rand.New(rand.NewPCG(9, 10)))
	const k = 3
	a := analyse(list, known, k, rand.New(rand.NewPCG(3, 4)))
	p := len(a.mean)
	const movie = 5
	of := make([][]entry, len(known))
	h, b := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
	for j := range k {
		h.Set(j, j, a.variance/a.width[j])
	}
	for _, r := range list {
		if r.movie != movie {
			continue
		}
		of[movie] = append(of[movie], entry{r.user, r.stars})
		theta := a.people[r.user]
		for j := range k {
			b.SetVec(j, b.AtVec(j)+r.stars*theta.mean.AtVec(j))
			for l := range p {
				if l < k {
					h.Set(j, l, h.At(j, l)+theta.second.At(j, l))
				} else {
					b.SetVec(j, b.AtVec(j)-theta.second.At(j, l)*known[movie][l-k])
				}
			}
		}
	}
	var want mat.VecDense
	if err := want.SolveVec(h, b); err != nil {
		t.Fatal(err)
	}
	a.meetMovies(of, known)
	if got := a.movies[movie].mean.RawVector().Data[:k]; !floats.EqualApprox(got, want.RawVector().Data, 1e-9) {
		t.Errorf("factors %v, want %v", got, want.RawVector().Data)
	}

	s, m := a.people[0].second, a.movies[movie].second
	var trace mat.Dense
	trace.Mul(s, m)
	if got, want := product(s, m), mat.Trace(&trace); math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("product %v, trace %v", got, want)
	}
}
