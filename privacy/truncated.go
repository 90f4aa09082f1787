package privacy

import (
	"fmt"
	"math"
)

// maxTruncation is the largest bound on noise, in scales: a wider one cuts off
// nothing, its tail being below e^-4096, and the noise fits an int64.
const maxTruncation = 4096

// NewTruncatedGaussian is [NewGaussian] with each coordinate's noise kept within
// [-bound, bound] (real units), by drawing again: sigma is that of the law before
// truncation. In a plan it costs what the Gaussian costs and, once, what the
// truncation may tell. It bounds the message; at equal privacy it never has less
// variance than the Gaussian.
//
// bound is rounded up to the grid, since a wider law tells less. It is an error
// when it is not 1 to 4096 times sigma: noise of a narrower law would show an end,
// and with it a record, more often than any budget allows.
func NewTruncatedGaussian(clip, sigma, bound float64) (Mechanism, error) {
	return newTruncated(TruncatedGaussian, clip, sigma, bound)
}

// NewTruncatedLaplace is [NewLaplace] with each coordinate's noise kept within
// [-bound, bound] (Geng, Ding, Guo, Kumar 2018), rounded and checked as in
// [NewTruncatedGaussian].
func NewTruncatedLaplace(clip, scale, bound float64) (Mechanism, error) {
	return newTruncated(TruncatedLaplace, clip, scale, bound)
}

func newTruncated(law Noise, clip, scale, bound float64) (Mechanism, error) {
	m, err := newNoisy(law, clip, scale)
	if err != nil {
		return Mechanism{}, err
	}
	if !(bound >= scale && bound <= maxTruncation*scale) { // NaN too
		return Mechanism{}, fmt.Errorf("privacy: the bound on the noise is %.3g times its scale, choose a ratio from 1 to %d", bound/scale, maxTruncation)
	}
	m.bound = int64(math.Ceil(math.Ldexp(bound, -m.grid)))
	return m, nil
}

// Bound is the most that noise adds to or takes from a coordinate, as used, after
// rounding to the grid; 0 when the law is not truncated.
func (m Mechanism) Bound() float64 { return math.Ldexp(float64(m.bound), m.grid) }

// unitStd is the standard deviation of the law at scale 1.
func (m Mechanism) unitStd() float64 {
	a := float64(m.bound) / float64(m.sigma)
	switch m.noise {
	case Laplace:
		return math.Sqrt2
	case TruncatedLaplace:
		return truncatedLaplaceStd(a)
	case TruncatedGaussian:
		return truncatedGaussianStd(a)
	}
	return 1
}

// truncatedLaplaceStd is the standard deviation of Laplace noise of scale 1 within
// [-a, a]: its variance is 2 - (a^2 + 2a) / (e^a - 1).
func truncatedLaplaceStd(a float64) float64 { return math.Sqrt(2 - a*(a+2)/math.Expm1(a)) }

// truncatedGaussianStd is that of standard normal noise within [-a, a]: its
// variance is 1 - 2 a phi(a) / (2 Phi(a) - 1).
func truncatedGaussianStd(a float64) float64 {
	return math.Sqrt(1 - a*math.Sqrt(2/math.Pi)*math.Exp(-a*a/2)/math.Erf(a/math.Sqrt2))
}
