package privacy

import (
	"math"

	"p2pnode/privacy/accountant"
)

// renyiOrder is number k of the orders among which the best is chosen,
// neighbours being 0.4 % apart at most: the noise is within 1e-6 of that at the
// best of all. They are exact, because the order is part of the terms.
func renyiOrder(k int) float64 {
	const perOctave = 256
	return 1 + math.Ldexp(float64(perOctave+k&(perOctave-1)), k>>8-8)
}

// Orders from 1.0001 to 1e14. The best is near 1 +
// sqrt(ln(1/delta)/divergence): below for a huge budget, above for a tiny one.
const firstOrder, lastOrder = -14 << 8, 47 << 8

// bestOrder returns the order at which a Renyi account lets the design have the
// least noise, and that noise in units of its clip, the discreteness left out.
// As the order grows the noise is infinite until the budget is positive, then
// falls, then rises: a coarse walk finds the valley, and halving the stride its
// bottom.
func (d Design) bestOrder(list []stretch) (best, noise float64) {
	at, least := firstOrder, math.Inf(1)
	consider := func(k int) {
		if noise := d.renyiNoise(renyiOrder(k), list); noise < least {
			at, least = k, noise
		}
	}
	for k := firstOrder; k <= lastOrder; k += 256 {
		consider(k)
	}
	for stride := 128; stride >= 1; stride /= 2 {
		middle := at
		consider(middle - stride)
		consider(middle + stride)
	}
	return renyiOrder(at), least
}

// renyiNoise is the least noise, in units of the clip, that a Renyi account of
// the given order allows; +Inf if there is none. Truncation and batches are
// left out.
func (d Design) renyiNoise(order float64, list []stretch) float64 {
	budget := accountant.RenyiBudget(order, d.Budget.Epsilon, d.Budget.Delta)
	if !(budget > 0) {
		return math.Inf(1)
	}
	divergence := d.Noise.law().renyi
	low, high := math.Log(leastNoise), math.Log(mostNoise)
	for high-low > 1e-10 {
		middle := low + (high-low)/2
		sum, noise := 0.0, math.Exp(middle)
		for _, s := range list {
			sum += float64(s.count) * divergence(order, d.shift(s)/(noise*s.noise))
		}
		if sum <= budget {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp(high)
}
