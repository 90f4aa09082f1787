package privacy

import (
	"errors"
	"math"

	"p2pnode/privacy/accountant"
)

func laplaceLaw() law {
	return law{
		name: Laplace, l1: true, draw: sampler.laplace, std: untruncated(math.Sqrt2),
		filters: []filter{
			{PureFilter, func(t Terms, m Mechanism) float64 { return m.laplaceShift(t.Dimension) }},
			{RenyiFilter, func(t Terms, m Mechanism) float64 {
				return accountant.LaplaceRenyi(t.Order, m.laplaceShift(t.Dimension)) * (1 + renyiMargin)
			}},
		},
		step: func(m Mechanism, dim int) (accountant.Step, error) {
			return accountant.Laplace(m.laplaceShift(dim)), nil
		},
		renyi: accountant.LaplaceRenyi,
	}
}

// truncatedLaplaceLaw bounds the noise at A scales: one of T releases then shows an
// end with probability (e^a - 1) e^{-A}/2, nearly, with a its sensitivity over the
// scale, and all of them with about a thousandth of delta.
func truncatedLaplaceLaw() law {
	return law{
		name: TruncatedLaplace, l1: true, draw: sampler.laplace, std: truncatedLaplaceStd,
		bound: func(d Design, scale float64) float64 {
			return 2*d.Clip + scale*(d.truncationMargin()+float64(d.Dimension)/minSigma)
		},
		step: Mechanism.truncatedLaplaceDominating, renyi: accountant.LaplaceRenyi,
	}
}

// renyiMargin covers the rounding errors of LaplaceRenyi.
const renyiMargin = 1e-12

// NewLaplace returns a mechanism that clips each record's gradient to the l1 norm
// clip and adds Laplace noise of the given scale to each coordinate of the SUM
// (real units, not of the mean; the standard deviation is sqrt(2) times the
// scale). An l2 clip would not do: the Laplace density falls with the l1 norm, and
// a vector of l2 norm 1 can have the l1 norm sqrt(dim).
//
// Grid, rounding and errors are those of [NewGaussian]: they come from the grid,
// not from the law. The discreteness is charged with every release, as one grid
// unit of sensitivity for each coordinate; where the scale is near 2^29/dim times
// clip that is as much as the records themselves cost.
func NewLaplace(clip, scale float64) (Mechanism, error) { return newNoisy(Laplace, clip, scale) }

// NewTruncatedLaplace is [NewLaplace] with each coordinate's noise kept within
// [-bound, bound] (Geng, Ding, Guo, Kumar 2018), rounded and checked as in
// [NewTruncatedGaussian].
func NewTruncatedLaplace(clip, scale, bound float64) (Mechanism, error) {
	return newTruncated(TruncatedLaplace, clip, scale, bound)
}

func (m Mechanism) truncatedLaplaceDominating(dim int) (accountant.Step, error) {
	if m.bound <= m.sensitivity()+int64(dim) {
		return nil, errors.New("privacy: truncated noise cannot hide what one record may contribute, choose a larger bound or a smaller clip")
	}
	return accountant.TruncatedLaplace(m.laplaceShift(dim), down(m.scales())), nil
}

// truncatedLaplaceStd is the standard deviation of Laplace noise of scale 1 within
// [-a, a]: its variance is 2 - (a^2 + 2a) / (e^a - 1).
func truncatedLaplaceStd(a float64) float64 { return math.Sqrt(2 - a*(a+2)/math.Expm1(a)) }

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
