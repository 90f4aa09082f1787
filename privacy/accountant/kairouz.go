package accountant

import "math"

// KairouzBounds are the three bounds of Kairouz, Oh, Viswanath 2015, theorem 3.5,
// on the composition of epsilon_i-DP releases at the given slack: the accountant
// of Bellet et al. 2018, kept as a baseline.
type KairouzBounds struct{ Basic, Second, Third float64 }

// Min is the smallest of the three.
func (k KairouzBounds) Min() float64 { return min(k.Basic, k.Second, k.Third) }

// Kairouz returns the bounds
//
//	basic  = sum eps_i
//	second = sum eps_i tanh(eps_i/2) + sqrt(2 sum eps_i^2 ln(e + sqrt(sum eps_i^2)/slack))
//	third  = sum eps_i tanh(eps_i/2) + sqrt(2 sum eps_i^2 ln(1/slack)),
//
// for which (epsilon, slack)-DP holds; +Inf where slack is not in (0, 1], and
// everywhere when an epsilon is negative or not a number.
func Kairouz(epsilons []float64, slack float64) KairouzBounds {
	var basic, drift, squares float64
	for _, e := range epsilons {
		if !(e >= 0) {
			basic = math.Inf(1)
		}
		basic += e
		drift += e * math.Tanh(e/2)
		squares += e * e
	}
	switch {
	case !(basic <= math.MaxFloat64):
		return KairouzBounds{math.Inf(1), math.Inf(1), math.Inf(1)}
	case !(slack > 0 && slack <= 1):
		return KairouzBounds{basic, math.Inf(1), math.Inf(1)}
	}
	return KairouzBounds{
		Basic:  basic,
		Second: drift + math.Sqrt(2*squares*math.Log(math.E+math.Sqrt(squares)/slack)),
		Third:  drift + math.Sqrt(-2*squares*math.Log(slack)),
	}
}

// KairouzShare is the largest epsilon that each of this many equal releases may have so
// that [Kairouz] bounds their composition by epsilon; 0 for an epsilon of 0, and when an argument
// makes no sense.
func KairouzShare(epsilon, slack float64, releases int) float64 {
	if !(epsilon > 0 && epsilon <= math.MaxFloat64 && releases >= 1) {
		return 0
	}
	each := make([]float64, releases)
	share, _ := bisect(0, epsilon, func(e float64) bool {
		for i := range each {
			each[i] = e
		}
		return Kairouz(each, slack).Min() > epsilon
	})
	return share
}
