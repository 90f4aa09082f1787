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
// band has a fraction of the noise, and an outer one that few labels reach hardly counts.
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
	products, labels, err := r.parts(p, sum)
	if err != nil {
		return nil, err
	}
	mean, _, err := r.learn(products, 1, labels, sd, nil)
	return mean, err
}

// parts takes a sum apart: the products of features, and those of features and labels, band by band.
func (r Regression) parts(p int, sum []float64) (products *mat.SymDense, labels []float64, err error) {
	if len(sum) != r.Dimension(p) {
		return nil, nil, errors.New("population: the sum of a regression has the wrong length")
	}
	folded := p * (p + 1) / 2
	return symmetric(p, sum[:folded], 1/r.Scale), sum[folded:], nil
}

// mostNoise is the largest number of parameters of which the noise is told, which takes 2 MB.
const mostNoise = 512

// learn is Learn, with the covariance of the noise in the parameters, as if noise did not change the
// inverse of the moments; nil if they are more than mostNoise. Shared is the share of the noise in
// what features have in common that is still there, see [calm]. Kept is the covariance of the noise
// in the model that was taken from the labels, nil for none: the ridge keeps a part of it there.
func (r Regression) learn(products *mat.SymDense, shared float64, labels []float64, sd float64, kept *mat.SymDense) (mean []float64, noise *mat.SymDense, err error) {
	p := products.SymmetricDim()
	var eigen mat.EigenSym
	if !eigen.Factorize(products, true) {
		return nil, nil, errors.New("population: the sum of a regression has numbers beyond float64")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	ridge, inverse := r.Least+r.Ridge*sd/r.Scale, eigen.Values(nil)
	for i, value := range inverse {
		inverse[i] = 1 / (max(value, 0) + ridge)
	}
	solve := func(x []float64) []float64 {
		var along mat.VecDense
		along.MulVec(vectors.T(), mat.NewVecDense(p, x))
		for i, by := range inverse {
			along.SetVec(i, by*along.AtVec(i))
		}
		mat.NewVecDense(p, x).MulVec(&vectors, &along)
		return x
	}
	mean, noise = r.labelled(p, labels, sd)
	solve(mean)
	if noise == nil {
		return mean, nil, nil
	}
	// The moments' noise, that of an entry off the diagonal, comes times the mean.
	std := sd / r.Scale * floats.Norm(mean, 2) / math.Sqrt2
	addDiagonal(noise, shared*std*std)
	if kept != nil {
		var left mat.SymDense
		left.ScaleSym(ridge*ridge, kept)
		noise.AddSym(noise, &left)
	}
	return mean, Turned(noise, solve), nil
}

// addDiagonal adds a number to each entry of the diagonal.
func addDiagonal(m *mat.SymDense, by float64) {
	for i := range m.SymmetricDim() {
		m.SetSym(i, i, m.At(i, i)+by)
	}
}

// calm takes noise of this standard deviation in the diagonal out of a matrix of moments, by the rule
// of James and Stein (1961): from what coordinates have in common, of which it returns the share that
// is left, and from how much each is more than the mean, but for the last one, which may be the
// constant.
func calm(products *mat.SymDense, sd float64) (shared float64) {
	p := products.SymmetricDim()
	var common, own []float64
	for i := range p {
		for j := i + 1; j < p; j++ {
			common = append(common, products.At(i, j))
		}
		own = append(own, products.At(i, i))
	}
	shared = signal(common, sd/math.Sqrt2)
	own = own[:p-1]
	mean, share := 0., 1.
	if len(own) > 2 {
		mean = floats.Sum(own) / float64(len(own))
		floats.AddConst(-mean, own)
		share = signal(own, sd)
	}
	for i := range p {
		for j := i + 1; j < p; j++ {
			products.SetSym(i, j, shared*products.At(i, j))
		}
		if i < len(own) {
			products.SetSym(i, i, mean+share*own[i])
		}
	}
	return shared
}

// labelled adds up what the bands say of the products of features and labels, and tells the covariance
// of the noise in it; nil for more than mostNoise parameters.
//
// Of jointly normal features and labels, the products of all bands are alike but for a factor that is
// not negative (Bussgang 1952), and those of inner bands have less noise. So what a band says counts in
// full as far as it repeats what the bands inside it say together. Of the rest it takes the share that
// is no noise, by the rule of James and Stein (1961), and so is left with that share of its variance.
func (r Regression) labelled(p int, sums []float64, sd float64) (total []float64, noise *mat.SymDense) {
	total = make([]float64, p)
	if p <= mostNoise {
		noise = mat.NewSymDense(p, nil)
	}
	for k, b := range r.bands() {
		own, std := slices.Clone(sums[k*p:][:p]), sd/b.gain
		floats.Scale(1/b.gain, own)
		inner, along, share := slices.Clone(total), 0., 1.
		square := floats.Dot(inner, inner)
		if square > 0 {
			along = max(0, floats.Dot(own, inner)/square)
			floats.AddScaled(own, -along, inner)
			share = signal(own, std)
		}
		floats.AddScaled(total, along, inner)
		floats.AddScaled(total, share, own)
		if noise == nil {
			continue
		}
		if along > 0 {
			more := along * (1 - share)
			noise = Turned(noise, func(x []float64) []float64 {
				onto := floats.Dot(x, inner) / square
				floats.Scale(1+more, x)
				floats.AddScaled(x, -more*onto, inner)
				return x
			})
			noise.SymRankOne(noise, (1-share)*std*std/square, mat.NewVecDense(p, inner))
		}
		addDiagonal(noise, share*std*std)
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
	noise      *mat.SymDense
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
	products, labels, err := r.parts(p, sum)
	if err != nil {
		return err
	}
	std, scales := sd/r.Scale, w.scales // std is that of the noise in products
	if scales == nil {
		scales = momentsOf(p, products, w.constant, std, max(1, slots)).scales(std)
	}
	shared := calm(products, std)
	kept := Turned(w.noise, func(weights []float64) []float64 { return scale(weights, w.scales, w.constant) })
	model, noise, err := r.learn(products, shared, labels, sd, kept)
	if err != nil {
		return err
	}
	if w.scales == nil {
		w.scales = scales
	} else {
		unscale(model, w.scales, w.constant)
		floats.Add(model, w.model)
		noise = Turned(noise, func(weights []float64) []float64 { return unscale(weights, w.scales, w.constant) })
	}
	w.model, w.noise = model, noise
	return nil
}

// Model is where the sums so far lead to, for records as they are.
func (w *RegressionWalk) Model() []float64 { return w.model }

// Noise is the covariance of the noise in Model, but for what noise did to the scales; nil: not known.
func (w *RegressionWalk) Noise() *mat.SymDense { return w.noise }

// AddAt adds a record to the vector of a device, at what a walk has in this round.
func (r Regression) AddAt(dst, x []float64, y float64, at []float64) {
	if at != nil {
		scales, model := at[:len(at)-len(x)], at[len(at)-len(x):]
		x, y = Scaled(x, scales), y-floats.Dot(x, model)
	}
	r.Add(dst, x, y)
}
