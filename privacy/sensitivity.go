package privacy

import "math"

// CarriedSensitivity is the conditional sensitivity of a learner whose private
// state keeps a share of its own unreleased past: how far one record can move
// the i-th released vector GIVEN everything released before it,
//
//	D_0 = 0,  D_i = min(Keep D_{i-1} + Step, Most),
//
// in the norm in which Step is given: l1 for Laplace laws, l2 for Gaussian
// ones. It is public; pass it to [Mechanism.Bounded]. A [Sum] of clipped
// gradients needs none: its sensitivity is twice the clip whatever came before.
//
// Diffusion learning (Vlaski and Sayed 2020; the book, chapter 11). A node with
// the private state w and gradients |g| <= G for every state and data set takes
//
//	phi_i = w_{i-1} - mu g(w_{i-1}),   psi_i = phi_i + v_i is released,
//	w_i = a_kk (phi_i + c v_i) + sum over neighbours l of a_lk psi_{l,i}.
//
// Given the released psi, v = psi - phi and so phi + c v = (1-c) phi + c psi:
// of the distance between the two worlds' phi, w keeps the share r = a_kk
// |1-c|, and a gradient adds 2 mu G at most. Hence Keep = r and Step = 2 mu G:
//
//	c = 1                 (7) to (9), the own noisy value is used   r = 0     2 mu G
//	c = 0                 noise on transmissions only               r = a_kk  2 mu G (1-a_kk^i)/(1-a_kk)
//	c = -(1-a_kk)/a_kk    (20), graph-homomorphic                   r = 1     2 mu G i
//
// The last line summed over i is their (27), epsilon(i) = mu G (i^2+i)/b for
// Laplace noise of scale b, PROVIDED that G bounds the l1 norm: with an l2
// bound the true value is up to sqrt(dim) larger. The printed proof, (11.44) to
// (11.52), keeps noise and transcript both fixed, which is impossible. For the
// mean of m clipped gradients with one record replaced, G is clip/m.
type CarriedSensitivity struct {
	Keep float64 // >= 0, the share r
	Step float64 // >= 0, what one more look at the record adds
	Most float64 // the distance is never more; 0: no such bound
}

// ContractingSensitivity is the graph-homomorphic scheme, r = 1, for a loss
// that is convexity-strongly convex and smooth with constant L, and rate <=
// 2/(L + convexity): then w - rate g(w) brings two states nearer in l2 by the
// factor 1 - rate convexity, and
//
//	D_i = 2 rate bound (1 - (1 - rate convexity)^i) / (rate convexity)
//
// levels off at 2 bound/convexity. Gaussian noise only: the contraction is in
// l2.
func ContractingSensitivity(rate, bound, convexity float64) CarriedSensitivity {
	return CarriedSensitivity{Keep: up(1 - down(rate*convexity)), Step: up(2 * rate * bound)}
}

// At returns D_i, rounded up; +Inf if the numbers make no sense. In closed form
// it is Step (1 - Keep^i)/(1 - Keep), or Step i at Keep = 1: the sequence rises
// from D_0 = 0, so once at Most it stays there.
func (s CarriedSensitivity) At(i int) float64 {
	if !(s.Keep >= 0 && s.Step >= 0 && s.Most >= 0) || math.IsInf(s.Keep, 1) || i < 0 {
		return math.Inf(1)
	}
	if i == 0 || s.Step == 0 {
		return 0
	}
	d, power := s.Step*float64(i), 0.0
	if s.Keep != 1 {
		power = float64(i) * math.Log(s.Keep)
		d = s.Step * -math.Expm1(power) / (1 - s.Keep)
	}
	d *= 1 + sensitivityMargin*(10+max(0, power))
	if s.Most > 0 {
		return min(d, s.Most)
	}
	return d
}

// sensitivityMargin covers the roundings of At: those of the exponent are relative
// to it, and it raises e to what they are.
const sensitivityMargin = 4e-16
