package population

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Discriminant is the recipe "mean" for classes: one linear discriminant analysis of all
// records of all people (Fisher 1936; Hastie, Tibshirani, Friedman 2009, section 4.3). It
// gives the log odds of classes whose features are normal, each class with means of its own
// and all with one covariance, and needs nothing but sums that devices add up at once, where
// a descent needs a sum for each step. Personal models start there.
//
// A record adds (Scale x x', x y'). The first part is a triangle like that of [Regression]; y
// has 1 - 1/Classes at the record's class and -1/Classes at the others, so that it is
// sqrt(1 - 1/Classes) long.
type Discriminant struct {
	Scale    float64 // alpha, weight of the second moments relative to the first, > 0
	Length   float64 // R, bound on the features: longer ones are shortened
	Classes  int     // at least 2
	Constant float64 // the last coordinate of each x, > 0
	// Ridge is the number of standard deviations of the noise in the second moments that
	// is added to each eigenvalue of the covariance, and Least is added too.
	Ridge, Least float64
}

// Dimension is the length of the vector for p features, the constant among them.
func (d Discriminant) Dimension(p int) int { return p*(p+1)/2 + d.Classes*p }

// Add adds a record of a class, from 0 on, to the vector of a device.
func (d Discriminant) Add(dst, x []float64, class int) {
	p, shorter := len(x), shortening(x, d.Length)
	rest := dst[addSquare(dst, d.Scale*shorter*shorter, x):]
	for k := range d.Classes {
		y := -1 / float64(d.Classes)
		if k == class {
			y++
		}
		floats.AddScaled(rest[k*p:][:p], shorter*y, x)
	}
}

// Learn returns the scores' weights of each class, for p features one class after the other,
// from the opened sum of so many records. They add up to zero over the classes. What a class's
// features differ from those of all is shrunk by the noise in it (James and Stein 1961), and
// directions in which noise made the covariance negative count as empty, so that the ridge
// keeps the weights small there.
func (d Discriminant) Learn(p int, sum []float64, sd float64, records int) ([]float64, error) {
	folded := p * (p + 1) / 2
	if len(sum) != d.Dimension(p) || records < 1 {
		return nil, errors.New("population: the sum of a discriminant has the wrong length, or nobody in it")
	}
	n, last := float64(records), p-1
	second := symmetric(p, sum[:folded], 1/d.Scale)
	mean := make([]float64, last) // of all records' features
	for i := range mean {
		mean[i] = second.At(i, last) / d.Constant / n
	}
	within := mat.NewSymDense(last, nil)
	within.CopySym(second)
	within.SymRankOne(within, -n, mat.NewVecDense(last, mean))

	sizes, off := d.sizes(sum[folded:], n, sd), mat.NewDense(last, d.Classes, nil)
	for k, size := range sizes {
		own := append([]float64(nil), sum[folded+k*p:][:last]...)
		// The indicators less 1/Classes add up to n_k - n/Classes.
		floats.AddScaled(own, -(size - n/float64(d.Classes)), mean)
		floats.Scale(signal(own, sd)/size, own)
		off.SetCol(k, own)
		within.SymRankOne(within, -size, off.ColView(k))
	}
	return d.weights(within, off, mean, sizes, sd/d.Scale)
}

// sizes are how many of n records each class has, at least as many as the noise in that. They add
// up to n.
func (d Discriminant) sizes(sums []float64, n, sd float64) []float64 {
	sizes, p := make([]float64, d.Classes), len(sums)/d.Classes
	for k := range sizes {
		sizes[k] = max(sums[k*p+p-1]/d.Constant+n/float64(d.Classes), sd/d.Constant, 1)
	}
	floats.Scale(n/floats.Sum(sizes), sizes)
	return sizes
}

// weights are those of the classes' scores: log size + (x - mean)' S off - off' S off / 2, with S
// the inverse of the covariance.
func (d Discriminant) weights(within *mat.SymDense, off *mat.Dense, mean, sizes []float64, sd float64) ([]float64, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(within, true) {
		return nil, errors.New("population: the sum of a discriminant has numbers beyond float64")
	}
	var vectors, along, slopes mat.Dense
	eigen.VectorsTo(&vectors)
	along.Mul(vectors.T(), off)
	n := floats.Sum(sizes)
	for i, value := range eigen.Values(nil) {
		floats.Scale(n/(max(value, 0)+d.Least+d.Ridge*sd), along.RawRowView(i))
	}
	slopes.Mul(&vectors, &along)
	p := len(mean) + 1
	theta, centre := make([]float64, d.Classes*p), make([]float64, p)
	for k, size := range sizes {
		own := theta[k*p:][:p]
		mat.Col(own[:p-1], k, &slopes)
		half := mat.Dot(off.ColView(k), slopes.ColView(k)) / 2
		own[p-1] = (math.Log(size/n) - half - floats.Dot(mean, own[:p-1])) / d.Constant
		floats.AddScaled(centre, 1/float64(d.Classes), own)
	}
	for k := range sizes {
		floats.Sub(theta[k*p:][:p], centre)
	}
	return theta, nil
}

// signal is the share of a sum that is no noise of this standard deviation in each coordinate, by
// the rule of James and Stein (1961).
func signal(sum []float64, sd float64) float64 {
	square := floats.Dot(sum, sum)
	if square == 0 {
		return 1
	}
	return max(0, 1-float64(len(sum))*sd*sd/square)
}
