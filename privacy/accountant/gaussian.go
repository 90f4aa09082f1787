package accountant

import "math"

// Gaussian is Gaussian noise of standard deviation 1 on a vector of l2
// sensitivity mu, finite and >= 0.
func Gaussian(mu float64) Step {
	if !between(0, mu, math.MaxFloat64) {
		return noStep("Gaussian noise for a sensitivity of %v sigma, choose a number that is not negative", mu)
	}
	return gaussian{mu}
}

type gaussian struct{ mu float64 }

// Delta implements [Step]. Both directions have the same profile.
func (s gaussian) Delta(epsilon float64) float64 { return profile(s.tail).at(epsilon, s.tail) }

func (s gaussian) directions() (forward, backward profile) { return s.tail, s.tail }

func (s gaussian) tail(epsilon float64) float64 { return GaussianDelta(epsilon, s.mu) }

// GaussianDelta returns the smallest delta such that a mu-GDP mechanism is
// (epsilon, delta)-DP, for any real epsilon and mu >= 0:
//
//	delta(eps; mu) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)
//
// (Balle and Wang 2018, theorem 8; Dong, Roth, Su 2022, corollary 2.13). With
// Phi(-x) = phi(x) R(x), R the Mills ratio, and e^eps phi(x+mu) = phi(x) for
// x = eps/mu - mu/2, it equals Phi(-x) (1 - R(x+mu)/R(x)): nothing overflows,
// and for eps > 0 the relative error is below 1e-14 (1 + max(1,x)/mu + x^2 + mu)
// down to 1e-300.
func GaussianDelta(epsilon, mu float64) float64 {
	switch {
	case math.IsNaN(epsilon) || math.IsNaN(mu) || mu < 0:
		return math.NaN()
	case epsilon < 0: // the Gaussian trade-off curve is symmetric
		return -math.Expm1(epsilon) + math.Exp(epsilon)*GaussianDelta(-epsilon, mu)
	case mu == 0 || math.IsInf(epsilon, 1):
		return 0
	case math.IsInf(mu, 1):
		return 1
	}
	x, y := epsilon/mu-mu/2, epsilon/mu+mu/2
	tail := math.Erfc(x/math.Sqrt2) / 2
	if tail == 0 {
		return 0
	}
	return tail * (1 - mills(y)/mills(x))
}

// GaussianExcess returns the probability that the privacy loss of Gaussian noise of
// standard deviation 1 on a vector of l2 sensitivity mu exceeds epsilon, mu >= 0:
//
//	P[N(mu^2/2, mu^2) > eps] = Phi(mu/2 - eps/mu).
//
// It is how often more than epsilon is told, and larger than [GaussianDelta], which
// counts each such case by how much more: delta(eps) = E[max(0, 1 - e^{eps-L})]. When
// each of many steps may follow from the answers before, with squares of mu that add
// up to mu^2 at most, the sum of the losses runs like a Wiener process with drift
// 1/2, stopped at time mu^2 or before. By the reflection principle it is then over epsilon
// with probability 2 GaussianExcess - GaussianDelta at most.
func GaussianExcess(epsilon, mu float64) float64 {
	switch {
	case math.IsNaN(epsilon) || math.IsNaN(mu) || mu < 0:
		return math.NaN()
	case mu == 0 && epsilon < 0:
		return 1
	case mu == 0:
		return 0
	}
	return math.Erfc((epsilon/mu-mu/2)/math.Sqrt2) / 2
}

// mills is the Mills ratio of the normal law, Phi(-x)/phi(x); +Inf far to the
// left. From x = 4 on it is the continued fraction 1/(x+1/(x+2/(x+3/(x+...))))
// (Laplace), whose 40 terms leave an error below 1e-25 there.
func mills(x float64) float64 {
	if x < 4 {
		return math.Sqrt(math.Pi/2) * math.Erfc(x/math.Sqrt2) * math.Exp(x*x/2)
	}
	f := x
	for k := 40.0; k > 0; k-- {
		f = x + k/f
	}
	return 1 / f
}

// GaussianMu returns two numbers with the largest mu for which mu-GDP implies
// (epsilon, delta)-DP between them; use low to spend and high to promise. They
// are (0, +Inf) when 1e-9 <= epsilon <= 1e6 or 1e-300 <= delta <= 0.5 does not
// hold, and otherwise a relative 2e-14 (1 + 1/epsilon) from the true value at
// most.
//
// Why the margin suffices. A relative error r of the computed delta moves the
// root by a relative r / (d ln delta / d ln mu). Since d delta/d mu = phi(x),
// that slope is mu/(R(x)-R(x+mu)), at least about max(1, x^2): delta <= 1/2 keeps
// x > -0.7. The error of the two Mills ratios, about 1e-15 each, is amplified by
// 1/(1-R(x+mu)/R(x)), about max(1, x)/mu; together about 2e-15 (1 + 1/eps). The
// margin is five times that.
func GaussianMu(epsilon, delta float64) (low, high float64) {
	if CheckBudget(epsilon, delta) != nil {
		return 0, math.Inf(1)
	}
	// At the upper end x <= -10, where delta is nearly 1.
	low, high = bisect(0, math.Sqrt(2*epsilon)+20, func(mu float64) bool {
		return GaussianDelta(epsilon, mu) > delta
	})
	margin := 1e-14 * (1 + 1/epsilon)
	return low * (1 - margin), high * (1 + margin)
}

// GaussianEpsilon returns the smallest epsilon >= 0 such that mu-GDP implies
// (epsilon, delta)-DP. It is +Inf when there is none (delta <= 0, mu infinite)
// or an argument makes no sense, so a mistake never looks like protection.
func GaussianEpsilon(delta, mu float64) float64 {
	switch {
	case !(delta >= minDelta) || !(mu >= 0) || math.IsInf(mu, 1):
		return math.Inf(1)
	case GaussianDelta(0, mu) <= delta:
		return 0
	}
	// At the upper end x = 40 and delta is 0 in float64.
	_, hi := bisect(0, 40*mu+mu*mu/2, func(epsilon float64) bool {
		return GaussianDelta(epsilon, mu) <= delta
	})
	return hi
}
