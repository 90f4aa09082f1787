package accountant

import "math"

// GaussianRenyi is the Renyi divergence of the given order > 1 of [Gaussian]:
// order mu^2/2. +Inf when an argument makes no sense.
func GaussianRenyi(order, mu float64) float64 {
	if !finiteOrder(order) || !between(0, mu, math.MaxFloat64) {
		return math.Inf(1)
	}
	return order * mu * mu / 2
}

// LaplaceRenyi is that of [Laplace] (Mironov 2017, proposition 6), with n the
// order:
//
//	ln( n/(2n-1) e^{(n-1)a} + (n-1)/(2n-1) e^{-na} ) / (n-1)
//
// The linear terms of the two exponentials cancel, and are left out where they
// would drown the rest.
func LaplaceRenyi(order, a float64) float64 {
	if !finiteOrder(order) || !between(0, a, math.MaxFloat64) {
		return math.Inf(1)
	}
	n := order
	if (n-1)*a > 1 {
		return a + (math.Log(n/(2*n-1))+math.Log1p((n-1)/n*math.Exp(-(2*n-1)*a)))/(n-1)
	}
	return math.Log1p((n*expSecond((n-1)*a)+(n-1)*expSecond(-n*a))/(2*n-1)) / (n - 1)
}

// expSecond is e^x - 1 - x.
func expSecond(x float64) float64 {
	if math.Abs(x) > 1 {
		return math.Expm1(x) - x
	}
	sum, term := 0.0, x
	for k := 2.0; k < 20; k++ { // 1/20! is below rounding
		term *= x / k
		sum += term
	}
	return sum
}

// renyiEpsilon is the epsilon >= 0 at delta that a Renyi divergence of the given
// order > 1 implies,
//
//	divergence + ln(1-1/order) - (ln delta + ln order)/(order-1)
//
// (Canonne, Kamath, Steinke 2020, proposition 12). +Inf when an argument makes no
// sense.
func renyiEpsilon(order, divergence, delta float64) float64 {
	if !finiteOrder(order) || !(divergence >= 0) || !(delta >= minDelta) {
		return math.Inf(1)
	}
	return max(0, divergence+renyiConversion(order, delta))
}

// RenyiBudget is its inverse: the largest Renyi divergence of the given order
// that implies (epsilon, delta)-DP, rounded down; 0 or less when there is none or
// an argument makes no sense.
func RenyiBudget(order, epsilon, delta float64) float64 {
	if !finiteOrder(order) || CheckBudget(epsilon, delta) != nil {
		return 0
	}
	// Three roundings of the conversion and one of the difference, each below
	// 2^-52 of the largest term.
	largest := epsilon - math.Log1p(-1/order) + (math.Log(order)-math.Log(delta))/(order-1)
	return epsilon - renyiConversion(order, delta) - 8*0x1p-52*largest
}

// renyiConversion is what epsilon has over the divergence.
func renyiConversion(order, delta float64) float64 {
	return math.Log1p(-1/order) - (math.Log(delta)+math.Log(order))/(order-1)
}

func finiteOrder(order float64) bool { return order > 1 && order <= math.MaxFloat64 }
