package privacy

import (
	"math"

	"p2pnode/privacy/accountant"
)

func gaussianLaw() law {
	return law{
		name: Gaussian, draw: sampler.gaussian, std: untruncated(1),
		filters: []filter{
			{GaussianFilter, func(_ Terms, m Mechanism) float64 { return m.muSquared() }},
			{RenyiFilter, func(t Terms, m Mechanism) float64 { return up(t.Order / 2 * m.muSquared()) }},
		},
		step: Mechanism.gaussianDominating, renyi: accountant.GaussianRenyi, squares: true,
	}
}

// truncatedGaussianLaw bounds the noise at z scales, where tau = N e^{-z^2/2} for N
// coordinates costs e^eps tau, a thousandth of delta; see [truncationCharge].
func truncatedGaussianLaw() law {
	return law{
		name: TruncatedGaussian, draw: sampler.gaussian, std: truncatedGaussianStd,
		bound: func(d Design, scale float64) float64 {
			return math.Sqrt(2*(d.Budget.Epsilon+d.truncationMargin()+math.Log(float64(d.Dimension)))) * scale
		},
		step: Mechanism.gaussianDominating, renyi: accountant.GaussianRenyi, squares: true,
		tail: func(z float64) float64 { return -z * z / 2 },
	}
}

// NewGaussian returns a mechanism that clips each record's gradient to the l2
// norm clip and adds Gaussian noise of standard deviation sigma to each
// coordinate of the SUM (real units, not of the mean). The grid is such that
// sigma is 2^29 to 2^30 units; sigma is rounded up to a unit and clip down.
//
// It is an error when clip or sigma is not a finite number in
// [2^-500, 2^500], when sigma is over 2^29 times clip (no signal is left) and
// when clip is over 4096 times sigma (no protection is left).
func NewGaussian(clip, sigma float64) (Mechanism, error) { return newNoisy(Gaussian, clip, sigma) }

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

// gaussianStep is sensitivity over sigma, rounded up, on all records.
func (m Mechanism) gaussianStep() float64 { return up(float64(m.sensitivity()) / float64(m.sigma)) }

func (m Mechanism) gaussianDominating(int) (accountant.Step, error) {
	return accountant.Gaussian(m.gaussianStep()), nil
}

// truncatedGaussianStd is the standard deviation of standard normal noise within
// [-a, a]: its variance is 1 - 2 a phi(a) / (2 Phi(a) - 1).
func truncatedGaussianStd(a float64) float64 {
	return math.Sqrt(1 - a*math.Sqrt(2/math.Pi)*math.Exp(-a*a/2)/math.Erf(a/math.Sqrt2))
}
