package population

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Regression is the recipe "mean" for the squared loss: one ridge regression over all
// records of all people. Personal models start at its solution. A record adds (Scale x
// x', y x). The first part is the upper triangle by rows, with entries off the diagonal
// times sqrt 2, so that a symmetric matrix and its vector have the same norm.
type Regression struct {
	Scale  float64 // alpha, weight of the second moments relative to the first, > 0
	Length float64 // R, bound on the features: longer ones are shortened
	Label  float64 // c: labels are clipped to [-c, c]
	// Ridge is the number of standard deviations of the noise in the second moments
	// that is added to each eigenvalue. Least is added too, whatever the noise.
	Ridge, Least float64
}

// Dimension is the length of the vector for p features.
func (r Regression) Dimension(p int) int { return p*(p+1)/2 + p }

// Add adds a record to the vector of a device.
func (r Regression) Add(dst, x []float64, y float64) {
	p, shorter, at := len(x), shortening(x, r.Length), 0
	for i := range p {
		for j := i; j < p; j++ {
			dst[at] += r.Scale * shorter * shorter * x[i] * x[j] * unfolded(i, j)
			at++
		}
	}
	floats.AddScaled(dst[at:], shorter*min(max(y, -r.Label), r.Label), x)
}

// shortening is the factor that makes x no longer than the bound.
func shortening(x []float64, bound float64) float64 {
	if norm := floats.Norm(x, 2); norm > bound {
		return bound / norm
	}
	return 1
}

// unfolded is the weight of entry i, j in the vector of a symmetric matrix.
func unfolded(i, j int) float64 {
	if i == j {
		return 1
	}
	return math.Sqrt2
}

// symmetric returns the matrix of such a vector, times scale.
func symmetric(p int, v []float64, scale float64) *mat.SymDense {
	m, at := mat.NewSymDense(p, nil), 0
	for i := range p {
		for j := i; j < p; j++ {
			m.SetSym(i, j, scale*v[at]/unfolded(i, j))
			at++
		}
	}
	return m
}

// Learn returns the mean of personal models with p parameters that an opened sum shows.
// Directions in which noise made the moments negative count as empty, so that the ridge
// keeps the mean near zero there.
func (r Regression) Learn(p int, sum []float64, sd float64) ([]float64, error) {
	folded := p * (p + 1) / 2
	if len(sum) != r.Dimension(p) {
		return nil, errors.New("population: the sum of a regression has the wrong length")
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric(p, sum[:folded], 1/r.Scale), true) {
		return nil, errors.New("population: the sum of a regression has numbers beyond float64")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var along, mean mat.VecDense
	along.MulVec(vectors.T(), mat.NewVecDense(p, sum[folded:]))
	ridge := r.Least + r.Ridge*sd/r.Scale
	for i, value := range eigen.Values(nil) {
		along.SetVec(i, along.AtVec(i)/(max(value, 0)+ridge))
	}
	mean.MulVec(&vectors, &along)
	return mean.RawVector().Data, nil
}
