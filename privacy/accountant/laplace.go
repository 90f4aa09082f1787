package accountant

import "math"

// Laplace is Laplace noise of scale 1 on each coordinate of a vector of l1
// sensitivity a, finite and >= 0, which the scalar with shift a dominates.
//
// That one coordinate with the whole shift is the worst case: let L be the loss
// of a coordinate shifted by a, and let another one be shifted by b. Composing
// the two,
//
//	delta(eps) = 1 - E[min(1, e^{(eps-L-b)/2}, e^{eps-L})],
//
// where the expectation is e^{(eps-a-b)/2} (1+b/2) or e^{(eps-a-b)/2}
// (1+(a+b-eps)/4), depending on which coordinate ends first: never below
// e^{(eps-a-b)/2}, that of one coordinate shifted by a+b. Repeat for more.
func Laplace(a float64) Step {
	if !between(0, a, math.MaxFloat64) {
		return noStep("Laplace noise for a sensitivity of %v scales, choose a number that is not negative", a)
	}
	return laplace{a}
}

type laplace struct{ a float64 }

// Delta implements [Step]. Both directions have the same profile.
func (s laplace) Delta(epsilon float64) float64 { return profile(s.tail).at(epsilon, s.tail) }

func (s laplace) directions() (forward, backward profile) { return s.tail, s.tail }

// tail is 1 - e^{(eps-a)/2}: the loss is above eps where the noise is below
// (a-eps)/2, and there P - e^eps Q integrates to that.
func (s laplace) tail(epsilon float64) float64 {
	if epsilon >= s.a {
		return 0
	}
	return -math.Expm1((epsilon - s.a) / 2)
}
