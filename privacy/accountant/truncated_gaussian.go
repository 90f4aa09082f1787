package accountant

import "math"

// TruncatedGaussian is Gaussian noise of parent standard deviation 1, truncated
// to [-bound, bound], on a SCALAR of sensitivity a; a finite and >= 0, bound > 0.
// Truncation per coordinate destroys the rotation invariance that vectors need.
func TruncatedGaussian(a, bound float64) Step {
	if !between(0, a, math.MaxFloat64) || !(bound > 0) {
		return noStep("Gaussian noise within %v sigma for a sensitivity of %v, choose a positive bound and a sensitivity that is not negative", bound, a)
	}
	return truncatedGaussian{a, bound}
}

type truncatedGaussian struct{ a, bound float64 }

// Delta implements [Step]. Both directions have the same profile.
func (s truncatedGaussian) Delta(epsilon float64) float64 { return profile(s.tail).at(epsilon, s.tail) }

func (s truncatedGaussian) directions() (forward, backward profile) { return s.tail, s.tail }

// tail: let t = Phi(-A) be what truncation to [-A, A] cuts from each side. The
// loss at noise x is a^2/2 - a x, above eps where x < u = a/2 - eps/a, and
//
//	delta(eps) = (Phi(u) - t - e^eps (Phi(u-a) - t)) / (1-2t)
//	           = (deltaGaussian(eps; a) + t (e^eps-1)) / (1-2t)
//
// while u lies in the overlap [a-A, A], that is up to the largest finite loss
// aA - a^2/2. From there on delta is what P has left of the overlap, where the
// loss is infinite. The "theorem 6" of the decentralised Krasnosel'skii-Mann
// framework asks for that last mass only, with sigma^2 = sensitivity^2/eps, and
// forgets that the loss exceeds eps inside the overlap too: at (0.5, 1e-3) its
// noise has delta = 0.238.
func (s truncatedGaussian) tail(epsilon float64) float64 {
	mass := math.Erf(s.bound / math.Sqrt2)
	switch {
	case s.a >= 2*s.bound:
		return 1
	case epsilon < s.a*(s.bound-s.a/2):
		// t e^eps = R(A) phi(A) e^eps, R the Mills ratio.
		cut := mills(s.bound) * math.Exp(epsilon-s.bound*s.bound/2) / math.Sqrt(2*math.Pi)
		return (GaussianDelta(epsilon, s.a) - cut*math.Expm1(-epsilon)) / mass
	}
	return (math.Erfc((s.bound-s.a)/math.Sqrt2) - math.Erfc(s.bound/math.Sqrt2)) / 2 / mass
}

// TruncatedGaussianFor is the same as [TruncatedLaplaceFor] with Gaussian noise,
// correctly calibrated: the parent standard deviation and the bound of least
// variance, to about one part in a thousand. Both are +Inf when the numbers make
// no sense.
//
// No sigma up to that of the plain Gaussian mechanism will do: its delta is above
// the budget before anything is truncated, and truncation only adds. For each
// larger sigma the least bound follows from the profile, which falls with the
// bound. At ordinary budgets the least variance is approached as the bound grows
// (truncation buys a bounded message and no accuracy); as epsilon falls below
// delta it moves to a sigma so large that the noise is uniform.
func TruncatedGaussianFor(epsilon, delta, sensitivity float64) (sigma, bound float64) {
	mu, _ := GaussianMu(epsilon, delta)
	if mu == 0 || !between(0, sensitivity, math.MaxFloat64) {
		return math.Inf(1), math.Inf(1)
	}
	// In units of sigma, for the given log of sigma over its least value.
	calibrated := func(excess float64) (a, bound float64) {
		a = mu * math.Exp(-excess)
		_, bound = bisect(a/2, a+40, func(bound float64) bool {
			return truncatedGaussian{a, bound}.tail(epsilon) <= delta
		})
		return a, bound
	}
	excess := minimise(1e-3, 5, func(excess float64) float64 {
		a, bound := calibrated(excess)
		density := math.Exp(-bound*bound/2) / math.Sqrt(2*math.Pi)
		return (1 - 2*bound*density/math.Erf(bound/math.Sqrt2)) / (a * a)
	})
	a, bound := calibrated(excess)
	return sensitivity / a, bound * sensitivity / a
}
