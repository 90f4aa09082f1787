package movielens

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// analysis is what public ratings tell about movies and about the people who rate them.
// With k learned factors v and the known features z of a movie,
//
//	y = theta . [v, z] + noise of this variance,   theta ~ N(mean, spread) by person,
//	v ~ N(0, diag(width)) by movie,
//
// fitted by variational expectation maximisation (Lim and Teh, "Variational Bayesian
// approach to movie rating prediction", 2007, here with known features and a full
// spread). Movies with few ratings keep factors near 0, and only k has to be tuned.
type analysis struct {
	factors  int       // k
	movies   []belief  // of [v, z]; z is certain
	people   []belief  // of theta
	mean     []float64 // of theta
	spread   *mat.SymDense
	width    []float64
	variance float64
}

// belief is a distribution of a vector: its mean and E[x x'].
type belief struct {
	mean   *mat.VecDense
	second *mat.SymDense
}

// analysisRounds measured best on left-out ratings: later rounds fit the noise.
const analysisRounds = 20

// analysedFactors is k: four and ten measured about the same.
const analysedFactors = 6

// analyse fits k factors to ratings; stars are the ratings minus a public centre. known
// holds z by movie, with a constant at its end.
func analyse(list []rating, known [][]float64, k int, r *rand.Rand) *analysis {
	a := newAnalysis(known, k, r)
	ofPerson, ofMovie := make([][]entry, users), make([][]entry, len(known))
	for _, x := range list {
		ofPerson[x.user] = append(ofPerson[x.user], entry{x.movie, x.stars})
		ofMovie[x.movie] = append(ofMovie[x.movie], entry{x.user, x.stars})
	}
	a.people = make([]belief, users)
	for range analysisRounds {
		a.meetPeople(ofPerson)
		a.describePeople(ofPerson)
		a.meetMovies(ofMovie, known)
		a.describeMovies(ofMovie, len(list))
	}
	return a
}

func newAnalysis(known [][]float64, k int, r *rand.Rand) *analysis {
	p := k + len(known[0])
	a := &analysis{
		factors: k, movies: make([]belief, len(known)),
		mean: make([]float64, p), spread: mat.NewSymDense(p, nil), width: make([]float64, k), variance: 1,
	}
	for i := range p {
		a.spread.SetSym(i, i, 0.2)
	}
	a.mean[0] = 1 // the first factor starts as what all people see in a movie
	for j := range a.width {
		a.width[j] = 0.3
	}
	for i, z := range known {
		x := make([]float64, p)
		for j := range k {
			x[j] = 0.3 * r.NormFloat64()
		}
		copy(x[k:], z)
		a.movies[i] = believe(mat.NewVecDense(p, x), nil)
		for j := range k {
			a.movies[i].second.SetSym(j, j, x[j]*x[j]+0.05)
		}
	}
	return a
}

// believe makes a belief of a mean and the covariance of its first coordinates.
func believe(mean *mat.VecDense, covariance *mat.SymDense) belief {
	second := mat.NewSymDense(mean.Len(), nil)
	second.SymOuterK(1, mean)
	if covariance != nil {
		for i := range covariance.SymmetricDim() {
			for j := i; j < covariance.SymmetricDim(); j++ {
				second.SetSym(i, j, second.At(i, j)+covariance.At(i, j))
			}
		}
	}
	return belief{mean, second}
}

// posterior is N(H^-1 b, H^-1).
func posterior(h *mat.SymDense, b *mat.VecDense) (*mat.VecDense, *mat.SymDense) {
	var mean mat.VecDense
	var covariance mat.SymDense
	var factor mat.Cholesky
	factor.Factorize(h) // a prior's precision plus squares is positive definite
	_ = factor.SolveVecTo(&mean, b)
	_ = factor.InverseTo(&covariance)
	return &mean, &covariance
}

// meetPeople brings the beliefs of people's models up to date.
func (a *analysis) meetPeople(of [][]entry) {
	var factor mat.Cholesky
	var prior, h mat.SymDense
	var pull mat.VecDense
	factor.Factorize(a.spread)
	_ = factor.InverseTo(&prior)
	pull.MulVec(&prior, mat.NewVecDense(len(a.mean), a.mean))
	for u, list := range of {
		if list == nil {
			continue
		}
		h.ScaleSym(a.variance, &prior)
		b := mat.NewVecDense(len(a.mean), nil)
		b.ScaleVec(a.variance, &pull)
		for _, e := range list {
			h.AddSym(&h, a.movies[e.other].second)
			b.AddScaledVec(b, e.value, a.movies[e.other].mean)
		}
		mean, covariance := posterior(&h, b)
		covariance.ScaleSym(a.variance, covariance)
		a.people[u] = believe(mean, covariance)
	}
}

// describePeople fits the mean and the spread of their models.
func (a *analysis) describePeople(of [][]entry) {
	p := len(a.mean)
	mean, second := mat.NewVecDense(p, a.mean), mat.NewSymDense(p, nil)
	mean.Zero()
	var n float64
	for u := range of {
		if of[u] != nil {
			mean.AddVec(mean, a.people[u].mean)
			second.AddSym(second, a.people[u].second)
			n++
		}
	}
	mean.ScaleVec(1/n, mean)
	second.ScaleSym(1/n, second)
	a.spread.SymRankOne(second, -1, mean)
}

// meetMovies brings the beliefs of movies' factors up to date.
func (a *analysis) meetMovies(of [][]entry, known [][]float64) {
	k, p := a.factors, len(a.mean)
	for i, list := range of {
		h := mat.NewSymDense(k, nil)
		for j, w := range a.width {
			h.SetSym(j, j, a.variance/w)
		}
		b := mat.NewVecDense(k, nil)
		z := mat.NewVecDense(p-k, known[i])
		for _, e := range list {
			person := a.people[e.other]
			h.AddSym(h, person.second.SliceSym(0, k).(*mat.SymDense))
			b.AddScaledVec(b, e.value, person.mean.SliceVec(0, k))
			for j := range k { // minus what the known features explain
				b.SetVec(j, b.AtVec(j)-floats.Dot(upper(person.second, j)[k-j:], known[i]))
			}
		}
		v, covariance := posterior(h, b)
		covariance.ScaleSym(a.variance, covariance)
		mean := mat.NewVecDense(p, nil)
		mean.SliceVec(0, k).(*mat.VecDense).CopyVec(v)
		mean.SliceVec(k, p).(*mat.VecDense).CopyVec(z)
		a.movies[i] = believe(mean, covariance)
	}
}

// describeMovies fits the widths of the factors, over movies with ratings, and the
// variance of the n ratings.
func (a *analysis) describeMovies(of [][]entry, n int) {
	clear(a.width)
	var rated, squares float64
	for i, list := range of {
		if list == nil {
			continue
		}
		rated++
		m := a.movies[i]
		for j := range a.width {
			a.width[j] += m.second.At(j, j)
		}
		for _, e := range list {
			person := a.people[e.other]
			squares += e.value*e.value - 2*e.value*mat.Dot(m.mean, person.mean) + product(m.second, person.second)
		}
	}
	for j := range a.width {
		a.width[j] /= rated
	}
	a.variance = squares / float64(n)
}

// product is the trace of the product: E[(theta.x)^2] of independent beliefs.
func product(s, t *mat.SymDense) float64 {
	var sum float64
	for i := range s.SymmetricDim() {
		a, b := upper(s, i), upper(t, i)
		sum += 2*floats.Dot(a, b) - a[0]*b[0]
	}
	return sum
}

// upper is row i from the diagonal on.
func upper(s *mat.SymDense, i int) []float64 {
	raw := s.RawSymmetric()
	return raw.Data[i*raw.Stride+i : i*raw.Stride+raw.N]
}

// features returns, by movie, the average person's rating and features of unit spread.
// A person's model of the difference from the average is N(0, I) before any rating, so
// a ridge regression with penalty variance gives its posterior mean. With S = U'U the
// features are U [v, z].
func (a *analysis) features() (x [][]float64, offset []float64) {
	var factor mat.Cholesky
	var u mat.TriDense
	factor.Factorize(a.spread)
	factor.UTo(&u)
	x, offset = make([][]float64, len(a.movies)), make([]float64, len(a.movies))
	for i, m := range a.movies {
		x[i] = make([]float64, len(a.mean))
		mat.NewVecDense(len(a.mean), x[i]).MulVec(&u, m.mean)
		offset[i] = mat.Dot(m.mean, mat.NewVecDense(len(a.mean), a.mean))
	}
	return x, offset
}
