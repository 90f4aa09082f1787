package population

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Regression is the recipe "mean" for the squared loss: one ridge regression over all
// records of all people. Personal models start at its solution. A record adds (Scale x
// x', x y'), where y has the parts of its label in some bands. The first part is the upper
// triangle by rows, with entries off the diagonal times sqrt 2, so that a symmetric matrix and
// its vector have the same norm.
//
// The range of labels that everybody may know is often far wider than usual labels are, and
// noise that hides the widest label would drown these. So a label is cut into bands by its
// distance from zero, each of which reaches a third as far as the next, and each part is weighed
// so that all parts together are no longer than Label: bands cost no privacy. The sum of an inner
// band has a fraction of the noise, and an outer one that few labels reach is left out.
type Regression struct {
	Scale  float64 // alpha, weight of the second moments relative to the first, > 0
	Length float64 // R, bound on the features: longer ones are shortened
	Label  float64 // c: labels are clipped to [-c, c]
	Bands  int     // into which labels are cut; 0: one
	// Ridge is the number of standard deviations of the noise in the second moments
	// that is added to each eigenvalue. Least is added too, whatever the noise.
	Ridge, Least float64
}

// band is a part of the range of labels: how far they reach beyond low, at most to high, times
// gain.
type band struct{ low, high, gain float64 }

// part is the label's part in the band.
func (b band) part(label float64) float64 {
	return math.Copysign(b.gain*max(0, min(math.Abs(label), b.high)-b.low), label)
}

// bands are those of the regression, the innermost first. The square of the longest label is
// divided among them by the roots of their widths. Beside the noise of a single band, that of
// four is then 1.09 times as much, of the inner three .48, of two .22 and of the first .11.
func (r Regression) bands() []band {
	list := make([]band, max(1, r.Bands))
	var roots, low float64
	for k := range list {
		high := r.Label / math.Pow(3, float64(len(list)-1-k))
		list[k] = band{low: low, high: high}
		roots += math.Sqrt(high - low)
		low = high
	}
	for k, b := range list {
		width := b.high - b.low
		list[k].gain = r.Label / width * math.Sqrt(math.Sqrt(width)/roots)
	}
	return list
}

// Dimension is the length of the vector for p features.
func (r Regression) Dimension(p int) int { return p*(p+1)/2 + max(1, r.Bands)*p }

// Add adds a record to the vector of a device.
func (r Regression) Add(dst, x []float64, y float64) {
	p, shorter := len(x), shortening(x, r.Length)
	rest := dst[addSquare(dst, r.Scale*shorter*shorter, x):]
	for k, b := range r.bands() {
		floats.AddScaled(rest[k*p:][:p], shorter*b.part(y), x)
	}
}

// addSquare adds scale x x' to dst, which begins with the vector of a symmetric matrix, and
// returns how long that is.
func addSquare(dst []float64, scale float64, x []float64) (length int) {
	for i := range x {
		for j := i; j < len(x); j++ {
			dst[length] += scale * x[i] * x[j] * unfolded(i, j)
			length++
		}
	}
	return length
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
	mean, _, err := r.learn(p, sum, sd)
	return mean, err
}

// learn is Learn, with the variance of the noise in each parameter if the others are known, as if
// noise did not change the inverse of the moments.
func (r Regression) learn(p int, sum []float64, sd float64) (mean, variance []float64, err error) {
	folded := p * (p + 1) / 2
	if len(sum) != r.Dimension(p) {
		return nil, nil, errors.New("population: the sum of a regression has the wrong length")
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric(p, sum[:folded], 1/r.Scale), true) {
		return nil, nil, errors.New("population: the sum of a regression has numbers beyond float64")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	products, noise := r.products(p, sum[folded:], sd)
	var along, of mat.VecDense
	along.MulVec(vectors.T(), mat.NewVecDense(p, products))
	ridge, inverse := r.Least+r.Ridge*sd/r.Scale, eigen.Values(nil)
	for i, value := range inverse {
		inverse[i] = 1 / (max(value, 0) + ridge)
		along.SetVec(i, along.AtVec(i)*inverse[i])
	}
	of.MulVec(&vectors, &along)
	noise = math.Hypot(noise, sd/r.Scale*mat.Norm(&of, 2)) // the moments' noise comes times the mean
	variance = make([]float64, p)
	for i := range variance {
		var precision float64
		for j, x := range vectors.RawRowView(i) {
			precision += math.Pow(x/inverse[j], 2)
		}
		variance[i] = noise * noise / precision
	}
	return of.RawVector().Data, variance, nil
}

// products adds up what the bands say of the products of features and labels, and how much noise
// is in each. Of every band but the innermost it takes the share that is no noise, by the rule of
// James and Stein (1961).
func (r Regression) products(p int, sums []float64, sd float64) (total []float64, noise float64) {
	total = make([]float64, p)
	for k, b := range r.bands() {
		own, share := sums[k*p:][:p], 1.
		if k > 0 {
			share = signal(own, sd)
		}
		floats.AddScaled(total, share/b.gain, own)
		noise = math.Hypot(noise, sd*share/b.gain)
	}
	return total, noise
}

// RegressionWalk leads through the two sums of a [Regression]. Labels of the second one are what the
// model of the first one leaves of them, which mostly lies in the inner bands. It makes one walk,
// and is not safe for concurrent use.
type RegressionWalk struct {
	regression Regression
	constant   float64
	scales     []float64 // nil before the first sum
	model      []float64
	variance   []float64
}

// NewRegressionWalk starts a walk for records of so many coordinates, of which the last one is the
// constant unless that is 0.
func NewRegressionWalk(r Regression, coordinates int, constant float64) *RegressionWalk {
	return &RegressionWalk{regression: r, constant: constant, model: make([]float64, coordinates)}
}

// At has the public values of this round for [Regression.AddAt], the scales and the model so far;
// nil in the first one.
func (w *RegressionWalk) At() []float64 {
	if w.scales == nil {
		return nil
	}
	return slices.Concat(w.scales, w.model)
}

// Take reads the opened sum of a round, of so many record slots at At.
func (w *RegressionWalk) Take(sum []float64, sd float64, slots int) error {
	r, p := w.regression, len(w.model)
	model, variance, err := r.learn(p, sum, sd)
	if err != nil {
		return err
	}
	if w.scales == nil {
		products := symmetric(p, sum[:p*(p+1)/2], 1/r.Scale)
		w.scales = momentsOf(p, products, w.constant, sd/r.Scale, max(1, slots)).scales(sd / r.Scale)
	} else {
		unscale(model, w.scales, w.constant)
		unscaleVariance(variance, w.scales)
		floats.Add(model, w.model)
	}
	w.model, w.variance = model, variance
	return nil
}

// Model is where the sums so far lead to, for records as they are.
func (w *RegressionWalk) Model() []float64 { return w.model }

// Variance is that of the noise in each number of Model if the others are known, but for what noise
// did to the scales.
func (w *RegressionWalk) Variance() []float64 { return w.variance }

// AddAt adds a record to the vector of a device, at what a walk has in this round.
func (r Regression) AddAt(dst, x []float64, y float64, at []float64) {
	if at != nil {
		scales, model := at[:len(at)-len(x)], at[len(at)-len(x):]
		x, y = Scaled(x, scales), y-floats.Dot(x, model)
	}
	r.Add(dst, x, y)
}
