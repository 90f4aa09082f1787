package accountant

import "math"

// TruncatedLaplace is Laplace noise of scale 1, truncated to [-bound, bound], on
// each coordinate of a vector of l1 sensitivity a; a finite and >= 0, bound > 0.
// As for [Laplace] the worst case is one coordinate that takes the whole shift.
func TruncatedLaplace(a, bound float64) Step {
	if !between(0, a, math.MaxFloat64) || !(bound > 0) {
		return noStep("Laplace noise within %v scales for a sensitivity of %v, choose a positive bound and a sensitivity that is not negative", bound, a)
	}
	return truncatedLaplace{a, bound}
}

type truncatedLaplace struct{ a, bound float64 }

// Delta implements [Step]. Both directions have the same profile.
func (s truncatedLaplace) Delta(epsilon float64) float64 { return profile(s.tail).at(epsilon, s.tail) }

func (s truncatedLaplace) directions() (forward, backward profile) { return s.tail, s.tail }

// tail: let t = e^-A/2 be what truncation to [-A, A] cuts from each side, so that
// densities grow by 1/(1-2t). Without truncation delta is P[x<u] - e^eps Q[x<u],
// u = (a-eps)/2. With it P loses the mass t below u, and so does Q: the
// difference grows by (e^eps-1) t. This holds while u lies in the overlap
// [a-A, A], that is for eps up to the largest finite loss min(a, 2A-a). From there
// on delta is what P has left of the overlap, where the loss is infinite.
func (s truncatedLaplace) tail(epsilon float64) float64 {
	mass := -math.Expm1(-s.bound)
	switch {
	case s.a >= 2*s.bound:
		return 1
	case epsilon < min(s.a, 2*s.bound-s.a):
		return (-math.Expm1((epsilon-s.a)/2) - math.Exp(epsilon-s.bound)*math.Expm1(-epsilon)/2) / mass
	case s.a <= s.bound: // (e^{a-A} - e^-A)/2
		return -math.Exp(s.a-s.bound) * math.Expm1(-s.a) / 2 / mass
	}
	return (mass - math.Expm1(s.bound-s.a)) / 2 / mass // 1/2 and (1 - e^{A-a})/2, less t
}

// TruncatedLaplaceFor is the truncated Laplace mechanism of (epsilon, delta)-DP
// for a scalar of the given sensitivity: scale and bound in its units,
//
//	scale = sensitivity/eps,  bound = scale ln(1 + (e^eps-1)/(2 delta))
//
// (Geng, Ding, Guo, Kumar 2018, definition 3), for which all of delta is infinite
// loss. Both are +Inf when the numbers make no sense.
func TruncatedLaplaceFor(epsilon, delta, sensitivity float64) (scale, bound float64) {
	if CheckBudget(epsilon, delta) != nil || !between(0, sensitivity, math.MaxFloat64) {
		return math.Inf(1), math.Inf(1)
	}
	scale = sensitivity / epsilon
	if epsilon > 100 { // e^eps overflows, and the ones are below rounding
		return scale, scale * (epsilon - math.Log(2*delta))
	}
	return scale, scale * math.Log1p(math.Expm1(epsilon)/(2*delta))
}
