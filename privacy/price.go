package privacy

import (
	"fmt"

	"p2pnode/privacy/accountant"
)

// price is what a filter on terms t adds up for one release of m, rounded up;
// false if it knows no price for m. Truncated and subsampled mechanisms have
// none.
//
//   - Gaussian filter: mu^2, mu = sensitivity/sigma. That the noise is discrete
//     is charged to the limit.
//   - Pure: the a of [Mechanism.laplaceShift]; Laplace noise is a-DP.
//   - Renyi, Gaussian: order mu^2/2. For whole shifts the discrete Gaussian has
//     at most the Renyi divergence of the continuous one (Canonne, Kamath,
//     Steinke 2020, proposition 5), coordinate by coordinate: here discreteness
//     is free.
//   - Renyi, Laplace: the divergence of the continuous law at shift a, because
//     what dominates a profile dominates every Renyi divergence.
func (t Terms) price(m Mechanism) (cost float64, ok bool) {
	if !t.Accounting.filters(m.noise) || m.slots > 0 || m.dim > t.Dimension {
		return 0, false
	}
	switch {
	case t.Accounting == GaussianFilter:
		return m.muSquared(), true
	case t.Accounting == PureFilter:
		return m.laplaceShift(t.Dimension), true
	case m.noise == Gaussian:
		return up(t.Order / 2 * m.muSquared()), true
	}
	return accountant.LaplaceRenyi(t.Order, m.laplaceShift(t.Dimension)) * (1 + renyiMargin), true
}

// renyiMargin covers the rounding errors of LaplaceRenyi.
const renyiMargin = 1e-12

// muSquared is the square of Mu, rounded up: what the Gaussian filter adds up.
func (m Mechanism) muSquared() float64 { return up(m.Mu() * m.Mu()) }

// filters reports that a is a filter that knows a price for releases of all
// records with this noise.
func (a Accounting) filters(noise Noise) bool {
	switch a {
	case GaussianFilter:
		return noise == Gaussian
	case PureFilter:
		return noise == Laplace
	case RenyiFilter:
		return noise == Gaussian || noise == Laplace
	}
	return false
}

// priced returns an error that says what to choose instead if a filter on terms
// t knows no price for m.
func (t Terms) priced(m Mechanism) error {
	if m.dim > t.Dimension {
		return fmt.Errorf("privacy: a mechanism for %d coordinates, the terms are for %d at most", m.dim, t.Dimension)
	}
	if _, ok := t.price(m); !ok {
		return t.Accounting.noPrice(m.noise, m.slots > 0)
	}
	return nil
}

func (a Accounting) noPrice(noise Noise, subsampled bool) error {
	what := string(noise)
	if subsampled {
		what = "subsampled " + what
	}
	return fmt.Errorf("privacy: accounting %q has no price for %s noise: choose %q for %s, %q or %q for %s, %q for any other noise",
		a, what, GaussianFilter, Gaussian, PureFilter, RenyiFilter, Laplace, CommittedPlan)
}

// laplaceShift is the l1 sensitivity, in units of the scale, at which
// CONTINUOUS Laplace noise protects no better than m does on releases of dim
// coordinates: a = (sensitivity + dim)/scale, rounded up. The discreteness of
// the noise costs one grid unit a coordinate.
//
// One coordinate. Let N be discrete Laplace noise of scale t and q = e^{-1/t},
// so that P[N=n] is proportional to q^|n|, and let s >= 1 be the shift. From n
// = 0 to n = s the loss ln P[N=n]/P[N+s=n] falls from s/t to -s/t, and beyond
// it is constant. So delta(eps) is 0 for eps >= s/t, 1 - e^eps for eps <= -s/t,
// and in between attained by a set {n <= k} with 0 <= k < s. There P[N <= k] =
// 1 - q^{k+1}/(1+q) and P[N+s <= k] = q^{s-k}/(1+q), hence
//
//	delta(eps) = max_k 1 - (q^{k+1} + e^eps q^{s-k})/(1+q)
//	          <= 1 - 2 e^{eps/2} q^{(s+1)/2}/(1+q) <= 1 - e^{(eps - (s+1)/t)/2},
//
// by the inequality of the means and 1+q <= 2. That is at most the profile of
// the continuous law with a = (s+1)/t, which is 1 - min(1, e^{(eps-a)/2},
// e^eps).
//
// Many. What dominates each of several pairs dominates their composition (Dong,
// Roth, Su 2022), and continuous Laplace pairs of shifts a_j are together
// dominated by the one of shift sum a_j. At most dim coordinates move.
//
// Truncated to |n| <= N. With tail tau = q^{N+1}/(1+q), and u for the value of
// the untruncated law that the max is taken of, the profile in between is the
// max of
//
//	f(u, tau) = (u - tau (1 - e^eps)) / (1 - 2 tau).
//
// It grows in u, and in tau if 2u >= 1 - e^eps. The continuous law has u = 1 -
// e^{(eps-a)/2}, for which that holds because 1 + e^eps >= 2 e^{eps/2}, and its
// tail e^{-N/t}/2 is not below tau because 2q <= 1+q. From eps = s/t on what is
// left is the chance tau (e^{s/t} - 1)/(1 - 2 tau) that one world only can
// show, which grows in both s and tau. So the continuous law truncated to N/t,
// with the same a, dominates.
//
// Many truncated ones. It is enough that two coordinates, of shifts a >= b, are
// dominated by one of shift s = a+b <= A, where A >= 1 is the bound in scales.
// Put k = 1/(2(e^A-1)) and p(a) = k(e^a-1), the chance of an infinite loss. The
// profile of the continuous law, at x = e^eps, is p(a) for eps >= a and
//
//	(1+2k) (1 - sqrt(x e^-a)) + k(x-1)   for |eps| <= a.
//
// Let H(x) be that of s less that of the two; H(x) = x H(1/x), so let eps >= 0.
//
//   - eps >= s: H = p(s) - p(a) - p(b) + p(a) p(b) >= 0, p being superadditive.
//   - eps <= a-b: H = k p(b) (1+x) + (1+2k) sqrt(x e^-s) ((1+2k) b/2 - 2p(b)),
//     and (1+2k) b/2 >= 2p(b) means e^A b/2 >= e^b-1: so it is for A >= 1, 2b.
//   - In between, the second derivative of H in x has the sign of p(a) + p(b) -
//     (1+2k)(s-eps)/4: H is first concave, then convex. The convex part is above
//     its tangent at the upper end, hence above 0, since there H - x dH/dx = 1/4 -
//     (p(a)+p(b))/2 and p(a)+p(b) <= p(s) <= 1/2. The concave part is above the
//     chord of its ends.
func (m Mechanism) laplaceShift(dim int) float64 {
	return up(float64(m.sensitivity()+int64(dim)) / float64(m.sigma))
}
