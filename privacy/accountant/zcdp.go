package accountant

import "math"

// ZCDPEpsilon is the epsilon >= 0 at delta of rho-zCDP, whose Renyi divergence of
// every order is at most rho order: the least over the orders of renyiEpsilon
// (Canonne, Kamath, Steinke 2020, proposition 12). Gaussian noise is
// mu^2/2-zCDP, and so is any mu-DP mechanism. +Inf when an argument makes no
// sense.
func ZCDPEpsilon(rho, delta float64) float64 {
	if !between(0, rho, math.MaxFloat64) || !(delta >= minDelta) {
		return math.Inf(1)
	}
	// At the best order (order-1)^2 rho is about ln(1/delta), or less.
	least := minimise(-10, 60, func(t float64) float64 {
		order := 1 + math.Exp(t)
		return rho*order + renyiConversion(order, delta)
	})
	order := 1 + math.Exp(least)
	return renyiEpsilon(order, rho*order, delta)
}
