package privacy

import (
	"math"

	"p2pnode/privacy/accountant"
)

// The orders that make sense: the best one is near 1 + sqrt(ln(1/delta)/divergence),
// that is 1.001 for a huge budget and 1e13 for a tiny one.
const leastOrder, mostOrder = 1 + 1e-4, 1e14

// bestOrder returns the order at which a Renyi account lets the design have the
// least noise, and that noise in units of its clip, discreteness left out. The noise is
// infinite below the order at which the budget is positive, and from there on
// falls to a minimum and rises again: a scan finds the valley and a golden section its bottom.
func (d Design) bestOrder(list []stretch) (order, noise float64) {
	at := func(x float64) float64 { return d.renyiNoise(1+math.Exp(x), list) }
	const points = 48
	first, last := math.Log(leastOrder-1), math.Log(mostOrder-1)
	step := (last - first) / points
	best, least := first, at(first)
	for k := 1; k <= points; k++ {
		x := first + float64(k)*step
		if noise := at(x); noise < least {
			best, least = x, noise
		}
	}
	const golden = 0.6180339887498949
	low, high := best-step, best+step
	left, right := high-golden*(high-low), low+golden*(high-low)
	atLeft, atRight := at(left), at(right)
	for high-low > 1e-6 { // the bottom is flat: this is 1e-12 of the noise
		if atLeft <= atRight {
			high, right, atRight = right, left, atLeft
			left = high - golden*(high-low)
			atLeft = at(left)
		} else {
			low, left, atLeft = left, right, atRight
			right = low + golden*(high-low)
			atRight = at(right)
		}
	}
	return 1 + math.Exp(low), at(low)
}

// renyiNoise is the least noise, in units of the clip, that a Renyi account of the
// given order allows; +Inf if there is none. Truncation and batches are left out.
func (d Design) renyiNoise(order float64, list []stretch) float64 {
	budget := accountant.RenyiBudget(order, d.Budget.Epsilon, d.Budget.Delta)
	if !(budget > 0) {
		return math.Inf(1)
	}
	divergence := accountant.GaussianRenyi
	if d.Noise == Laplace || d.Noise == TruncatedLaplace {
		divergence = accountant.LaplaceRenyi
	}
	low, high := math.Log(leastNoise), math.Log(mostNoise)
	for high-low > 1e-10 {
		middle := low + (high-low)/2
		sum, noise := 0.0, math.Exp(middle)
		for _, s := range list {
			sum += float64(s.count) * divergence(order, 2/(noise*s.noise))
		}
		if sum <= budget {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp(high)
}
