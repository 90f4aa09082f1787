package population

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Moments is the recipe "moments". It learns in which directions people differ, from
// the second moments of the mean of their records' slopes at a public model. A record's
// vector v is minus the gradient of its loss there. A device with m slots adds
//
//	m/(m + Records) (r r' - sum v v'/m^2),
//
// with r the mean of the v, as a triangle like that of [Regression]. The second term
// subtracts what chance alone adds to r r'. Devices with fewer than Least slots add
// zero. m counts slots; the v of an empty slot is zero.
type Moments struct {
	Clip    float64 // C, bound on the length of v
	Longest float64 // bound on the length of r
	Records float64 // kappa: a device with this many slots has the weight a half
	Least   int     // fewest slots
	// Gain is the ratio of the squares of models to the squares of the means of their
	// slopes.
	Gain float64
	// Floor is the prior variance of a direction in which the sum shows no difference.
	// Without it, a population that has nothing in common would lose what people know.
	Floor float64
}

// Dimension is the length of the vector for p features.
func (o Moments) Dimension(p int) int { return p * (p + 1) / 2 }

// Weight is the weight of a device with m slots.
func (o Moments) Weight(m int) float64 {
	if m < o.Least {
		return 0
	}
	return float64(m) / (float64(m) + o.Records)
}

// Of returns the vector of a device with these v in its slots; it does not change them.
func (o Moments) Of(p int, v [][]float64) []float64 {
	m := float64(len(v))
	dst, mean, weight := make([]float64, o.Dimension(p)), make([]float64, p), o.Weight(len(v))
	if weight == 0 {
		return dst
	}
	for _, one := range v {
		shorter := shortening(one, o.Clip)
		floats.AddScaled(mean, shorter/m, one)
		addSquare(dst, -weight*shorter*shorter/(m*m), one)
	}
	shorter := shortening(mean, o.Longest)
	addSquare(dst, weight*shorter*shorter, mean)
	return dst
}

// Learn returns the precision of a normal prior of personal models with p parameters,
// from the opened sum of devices whose weights add up to weight. Eigenvalues above the
// noise, whose largest is about sqrt(2p) sd (the edge of a Gaussian matrix), are kept
// one by one; the others share their mean.
func (o Moments) Learn(p int, sum []float64, sd, weight float64) (*mat.SymDense, error) {
	if len(sum) != o.Dimension(p) || !(weight > 0) {
		return nil, errors.New("population: the sum of moments has the wrong length, or nobody in it")
	}
	return o.precision(symmetric(p, sum, 1/weight), sd/weight)
}

// precision returns the precision for a matrix of moments; sd is the noise on its
// diagonal.
func (o Moments) precision(moments *mat.SymDense, sd float64) (*mat.SymDense, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(moments, true) {
		return nil, errors.New("population: the sum of moments has numbers beyond float64")
	}
	values := eigen.Values(nil)
	edge := math.Sqrt(2*float64(len(values))) * sd
	kept := func(value float64) bool { return value > edge+1e-12 }
	var rest, others float64
	for _, value := range values {
		if !kept(value) {
			rest, others = rest+value, others+1
		}
	}
	rest = max(0, rest/max(1, others))
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	p := len(values)
	out := mat.NewSymDense(p, nil)
	for i, value := range values {
		if !kept(value) {
			value = rest
		}
		out.SymRankOne(out, 1/max(o.Gain*value, o.Floor), vectors.ColView(i))
	}
	return out, nil
}
