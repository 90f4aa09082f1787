package accountant

import (
	"fmt"
	"math"
)

// Step is one private release as an accountant sees it: the pair of laws that dominates
// what the release tells about one record. Make one with [Gaussian], [Laplace],
// [TruncatedLaplace], [TruncatedGaussian], [Pure], [ApproxPure] or [Subsampled]. Steps
// are values and can be compared with ==. A step made from invalid numbers protects
// nothing: its Delta is 1, and [Compose] returns an error that names the numbers.
type Step interface {
	// Delta is the privacy profile: the smallest delta for which the step is
	// (epsilon, delta)-DP, for any real epsilon; 1 when epsilon is NaN.
	Delta(epsilon float64) float64

	// directions returns the profiles of the pair of laws and of the pair the
	// other way round.
	directions() (forward, backward profile)
}

// profile is the privacy profile of a pair of laws (P, Q) at epsilon >= 0, +Inf
// included,
//
//	delta(eps) = sup over S of P[S] - e^eps Q[S],
//
// with a small relative error, however small delta is. That of (Q, P) gives the
// rest: P[S] - e^-eps Q[S] = 1 - e^-eps + e^-eps (Q[S'] - e^eps P[S']) with S'
// the complement of S.
type profile func(epsilon float64) float64

// at returns the profile of (P, Q) at any real epsilon, given that of (Q, P).
func (forward profile) at(epsilon float64, backward profile) float64 {
	switch {
	case epsilon >= 0:
		return forward(epsilon)
	case epsilon < 0:
		return -math.Expm1(epsilon) + math.Exp(epsilon)*backward(-epsilon)
	}
	return 1 // NaN
}

// finite is the total variation that comes from finite losses; 0 when every loss
// is zero or infinite.
func (forward profile) finite() float64 { return forward(0) - forward(math.Inf(1)) }

// end is the largest finite loss, to the last digit: the least epsilon from which
// on the profile is constant.
func (forward profile) end() float64 {
	last := forward(math.Inf(1))
	constant := func(epsilon float64) bool { return forward(epsilon) <= last }
	if constant(0) {
		return 0
	}
	high := 1.0
	for !constant(high) {
		high *= 2
	}
	_, high = bisect(0, high, constant)
	return high
}

// senseless is a step made from invalid numbers; the text names them.
type senseless string

func noStep(format string, args ...any) Step {
	return senseless("accountant: " + fmt.Sprintf(format, args...))
}

// Delta implements [Step]. It is 1: the step protects nothing.
func (senseless) Delta(float64) float64 { return 1 }

func (s senseless) directions() (forward, backward profile) { return s.Delta, s.Delta }

// between reports lo <= x <= hi; false for NaN.
func between(lo, x, hi float64) bool { return x >= lo && x <= hi }
