package schemes

import (
	"fmt"
	"math"

	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
)

// kmBudget is the budget of DP-dKM's experiments.
var kmBudget = privacy.Budget{Epsilon: 0.5, Delta: 1e-3}

// law is a way to set the noise of one release of one number that a record moves by 1.
type law string

// The laws of DP-dKM; two of them also in a version that holds.
const (
	noNoise           law = "no noise"
	laplace           law = "Laplace"
	gaussianClassic   law = "Gaussian, classic"
	gaussianExact     law = "Gaussian, exact"
	truncatedLaplace  law = "truncated Laplace"
	truncatedGaussian law = "truncated Gaussian, valid"
	theorem6          law = "truncated Gaussian, theorem 6"
)

var allLaws = []law{laplace, gaussianClassic, gaussianExact, truncatedLaplace, truncatedGaussian, theorem6}

// noise is the law at a budget: its parameter, and where it is truncated, 0 if it is
// not.
//
//   - Gaussian, classic: sqrt(2 ln(1.25/delta))/epsilon; exact: Balle and Wang 2018.
//   - Truncated Laplace: definition 6 (Geng et al. 2018).
//   - Theorem 6: standard deviation 1/sqrt(2 epsilon), and the bound at which one end
//     of the truncated law has the mass delta.
func (l law) noise(b privacy.Budget) (scale, bound float64) {
	switch l {
	case laplace:
		return 1 / b.Epsilon, 0
	case gaussianClassic:
		return math.Sqrt(2*math.Log(1.25/b.Delta)) / b.Epsilon, 0
	case gaussianExact:
		return 1 / b.Mu(), 0
	case truncatedLaplace:
		return accountant.TruncatedLaplaceFor(b.Epsilon, b.Delta, 1)
	case truncatedGaussian:
		return accountant.TruncatedGaussianFor(b.Epsilon, b.Delta, 1)
	}
	sigma := 1 / math.Sqrt(2*b.Epsilon)
	return sigma, theorem6Bound(sigma, b.Delta)
}

// theorem6Bound is the bound at which the end of a normal law of the given standard
// deviation, from bound - 1 to bound, has the mass delta after truncation.
func theorem6Bound(sigma, delta float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/sigma/math.Sqrt2) / 2 }
	low, high := 0.5, 1+40*sigma
	for range 200 {
		middle := (low + high) / 2
		if (phi(1-middle)-phi(-middle))/(2*phi(middle)-1) > delta {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// truncates reports whether the law has a bound.
func (l law) truncates() bool {
	return l == truncatedLaplace || l == truncatedGaussian || l == theorem6
}

// ofLaplace reports whether the law protects vectors by their l1 norm.
func (l law) ofLaplace() bool { return l == laplace || l == truncatedLaplace }

// ofProduct is the law in the terms of package privacy.
func (l law) ofProduct() privacy.Noise {
	switch l {
	case laplace:
		return privacy.Laplace
	case truncatedLaplace:
		return privacy.TruncatedLaplace
	case truncatedGaussian:
		return privacy.TruncatedGaussian
	}
	return privacy.Gaussian
}

// mechanism has the noise of the law at the budget, times unit.
func (l law) mechanism(b privacy.Budget, clip, unit float64) (privacy.Mechanism, error) {
	scale, bound := l.noise(b)
	switch {
	case l == truncatedLaplace:
		return privacy.NewTruncatedLaplace(clip, scale*unit, bound*unit)
	case l == laplace:
		return privacy.NewLaplace(clip, scale*unit)
	case l.truncates():
		return privacy.NewTruncatedGaussian(clip, scale*unit, bound*unit)
	}
	return privacy.NewGaussian(clip, scale*unit)
}

// std is the standard deviation of the noise.
func (l law) std(b privacy.Budget) (float64, error) {
	m, err := l.mechanism(b, 0.5, 1)
	return m.NoiseStd(), err
}

// trueDelta is the delta of this many releases at the epsilon of the budget, for a
// record that moves one number by 1 in each.
func (l law) trueDelta(b privacy.Budget, releases int) (float64, error) {
	scale, bound := l.noise(b)
	var step accountant.Step
	switch {
	case l == laplace:
		step = accountant.Laplace(1 / scale)
	case l == truncatedLaplace:
		step = accountant.TruncatedLaplace(1/scale, bound/scale)
	case l.truncates():
		step = accountant.TruncatedGaussian(1/scale, bound/scale)
	default:
		step = accountant.Gaussian(1 / scale)
	}
	loss, err := accountant.Compose(b.Delta, accountant.Group{Step: step, Count: releases})
	if err != nil {
		return 0, fmt.Errorf("schemes: %s, %d releases: %w", l, releases, err)
	}
	if loss, err = accountant.Compose(min(0.5, max(b.Delta, loss.Delta(b.Epsilon))), accountant.Group{Step: step, Count: releases}); err != nil {
		return 0, err
	}
	return min(1, loss.Delta(b.Epsilon)), nil
}
