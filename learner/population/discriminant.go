package population

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Discriminant is the recipe "mean" for classes: one linear discriminant analysis of all
// records of all people (Fisher 1936; Hastie, Tibshirani, Friedman 2009, section 4.3). It
// gives the log odds of classes whose features are normal, each class with means of its own
// and all with one covariance, and needs nothing but sums of products, where a descent needs a sum
// for each step. Personal models start there. See [DiscriminantWalk].
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
// from the opened sum of so many record slots. They add up to zero over the classes. What a class's
// features differ from those of all is shrunk by the noise of its own sum (James and Stein 1961), and
// directions in which noise made the covariance negative count as empty, so that the ridge
// keeps the weights small there.
func (d Discriminant) Learn(p int, sum []float64, sd float64, slots int) ([]float64, error) {
	if len(sum) != d.Dimension(p) || slots < 1 {
		return nil, errors.New("population: the sum of a discriminant has the wrong length, or nobody in it")
	}
	all := d.moments(p, sum, sd, slots)
	n, mean, within := all.records, all.mean, all.around

	// The indicators add up to zero over the classes, and so does what is no noise.
	last, blocks, common, each := p-1, slices.Clone(sum[p*(p+1)/2:]), make([]float64, p), 1/float64(d.Classes)
	for k := range d.Classes {
		floats.AddScaled(common, each, blocks[k*p:][:p])
	}
	blockSD := sd * math.Sqrt(1-each)
	sizes, off := make([]float64, d.Classes), mat.NewDense(last, d.Classes, nil)
	for k := range sizes {
		block := blocks[k*p:][:p]
		floats.Sub(block, common)
		// A class has at least as many records as the noise in their number.
		sizes[k] = max(block[last]/d.Constant+n*each, blockSD/d.Constant, 1)
		own := block[:last]
		floats.AddScaled(own, -(sizes[k] - n*each), mean)
		floats.Scale(signal(own, blockSD)/sizes[k], own)
		off.SetCol(k, own)
		within.SymRankOne(within, -sizes[k], off.ColView(k))
	}
	return d.weights(within, off, mean, sizes, n, sd/d.Scale)
}

func (d Discriminant) moments(p int, sum []float64, sd float64, slots int) moments {
	return momentsOf(p, symmetric(p, sum[:p*(p+1)/2], 1/d.Scale), d.Constant, sd/d.Scale, slots)
}

// weights are those of the classes' scores: log size + (x - mean)' S off - off' S off / 2, with S
// the inverse of the covariance of n records.
func (d Discriminant) weights(within *mat.SymDense, off *mat.Dense, mean, sizes []float64, n, sd float64) ([]float64, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(within, true) {
		return nil, errors.New("population: the sum of a discriminant has numbers beyond float64")
	}
	var vectors, along, slopes mat.Dense
	eigen.VectorsTo(&vectors)
	along.Mul(vectors.T(), off)
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
		own[p-1] = (math.Log(size) - half - floats.Dot(mean, own[:p-1])) / d.Constant
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

// DiscriminantWalk leads through the two sums of a [Discriminant]. It makes one walk, and is not safe
// for concurrent use.
type DiscriminantWalk struct {
	discriminant Discriminant
	coordinates  int
	scales       []float64 // nil before the first sum
	model        []float64
}

// NewDiscriminantWalk starts a walk for records of so many coordinates, the constant among them.
func NewDiscriminantWalk(d Discriminant, coordinates int) *DiscriminantWalk {
	return &DiscriminantWalk{discriminant: d, coordinates: coordinates, model: make([]float64, d.Classes*coordinates)}
}

// At has the scales of this round for [Scaled], nil in the first one.
func (w *DiscriminantWalk) At() []float64 { return w.scales }

// Take reads the opened sum of a round, of so many record slots at At.
func (w *DiscriminantWalk) Take(sum []float64, sd float64, slots int) error {
	slots = max(1, slots)
	if w.scales == nil {
		d := w.discriminant
		w.scales = d.moments(w.coordinates, sum, sd, slots).scales(sd / d.Scale)
		return nil
	}
	model, err := w.discriminant.Learn(w.coordinates, sum, sd, slots)
	if err != nil {
		return err
	}
	for own := range slices.Chunk(model, w.coordinates) {
		unscale(own, w.scales, w.discriminant.Constant)
	}
	w.model = model
	return nil
}

// Model is that of [Discriminant.Learn] for records as they are; zeros before the last round.
func (w *DiscriminantWalk) Model() []float64 { return w.model }

// Noise is nil: fits around a model of classes did no better for knowing it.
func (w *DiscriminantWalk) Noise() *mat.SymDense { return nil }
