package accountant

import "math"

// Pure is any epsilon-DP mechanism, epsilon finite and >= 0; randomised response
// dominates it.
func Pure(epsilon float64) Step { return ApproxPure(epsilon, 0) }

// ApproxPure is any (epsilon, delta)-DP mechanism, 0 <= delta <= 1. It is
// dominated by the one that tells all with probability delta and answers by
// randomised response otherwise (Kairouz, Oh, Viswanath 2015).
func ApproxPure(epsilon, delta float64) Step {
	if !between(0, epsilon, math.MaxFloat64) || !between(0, delta, 1) {
		return noStep("a step that is (%v, %v)-DP, choose an epsilon that is not negative and a delta in [0, 1]", epsilon, delta)
	}
	return approxPure{epsilon, delta}
}

type approxPure struct{ epsilon, delta float64 }

// Delta implements [Step]. Both directions have the same profile.
func (s approxPure) Delta(epsilon float64) float64 { return profile(s.tail).at(epsilon, s.tail) }

func (s approxPure) directions() (forward, backward profile) { return s.tail, s.tail }

// tail is delta + (1-delta) (e^e0 - e^eps)/(1 + e^e0) below e0.
func (s approxPure) tail(epsilon float64) float64 {
	if epsilon >= s.epsilon {
		return s.delta
	}
	return s.delta - (1-s.delta)*math.Expm1(epsilon-s.epsilon)/(1+math.Exp(-s.epsilon))
}

// PureEpsilon is the exact epsilon >= 0 at delta of k releases that are
// epsilon0-DP each (Kairouz, Oh, Viswanath 2015, theorem 3.3), to about twelve
// digits: k randomised responses, of which l lie, have loss (k-2l) epsilon0, so
//
//	delta(eps) = sum over l of C(k,l) [e^{(k-l)e0} - e^{eps+l e0}]_+ / (1+e^e0)^k.
//
// It is +Inf when an argument makes no sense or k is over 2^20.
func PureEpsilon(epsilon0 float64, k int, delta float64) float64 {
	if !between(0, epsilon0, math.MaxFloat64) || !(delta >= 0) || k < 0 || k > maxSteps {
		return math.Inf(1)
	}
	if delta < minDelta {
		return float64(k) * epsilon0
	}
	// Going down in loss from l = 0: the probability of these losses, and their
	// sum of probability e^-loss over e^-loss of the last one. Between two losses
	// delta(eps) = mass - e^{eps-loss} weight.
	logMass := -float64(k) * math.Log1p(math.Exp(-epsilon0))
	mass, weight, decay := 0.0, 0.0, math.Exp(-2*epsilon0)
	for l := 0; ; l++ {
		loss := float64(k-2*l) * epsilon0
		if loss <= 0 {
			return 0
		}
		mass += math.Exp(logMass)
		weight = weight*decay + math.Exp(logMass)
		if mass-delta > weight*decay || loss < 2*epsilon0 { // the root lies above the next loss, or above 0 at most
			return max(0, loss+math.Log(max(0, mass-delta)/weight))
		}
		logMass += math.Log(float64(k-l)/float64(l+1)) - epsilon0
	}
}

// ApproxPureEpsilon is PureEpsilon for releases that are (epsilon0, delta0)-DP: they
// tell all with probability 1-(1-delta0)^k, and the rest of delta is for the randomised
// responses.
func ApproxPureEpsilon(epsilon0, delta0 float64, k int, delta float64) float64 {
	if !between(0, delta0, 1) || !between(0, delta, 1) {
		return math.Inf(1)
	}
	return PureEpsilon(epsilon0, k, -math.Expm1(math.Log1p(-delta)-float64(k)*math.Log1p(-delta0)))
}
