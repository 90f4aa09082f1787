package graph

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// similarity says how alike the optima behind two noisy vectors are, from -1 to 1.
// It is 0 if nothing is known of one of them, and not a number for vectors that no
// two nodes of one task have. Between vectors without noise it is the cosine
// a.b / (|a| |b|). The noises of two nodes are
// independent and leave the inner product a.b as it is in the mean, but they make
// the vectors longer: of |a|^2 the share r_a = n / (n + p std_a^2) is no noise, with
// n the squared length of the optimum, see [signal]. So the cosine without noise is
// a.b / (|a| |b|) / sqrt(r_a r_b) in the mean. That is multiplied by the reliability
// r_a r_b, since of ends that are mostly noise being alike says little. The result
// cannot leave [-1, 1], however small the r are.
func similarity(a, b End) float64 {
	switch {
	case len(a.Vector) == 0 || len(b.Vector) == 0:
		return 0
	case len(a.Vector) != len(b.Vector):
		return math.NaN()
	}
	aa, bb := floats.Dot(a.Vector, a.Vector), floats.Dot(b.Vector, b.Vector)
	if aa == 0 || bb == 0 {
		return 0
	}
	like := floats.Dot(a.Vector, b.Vector) / (math.Sqrt(aa) * math.Sqrt(bb))
	like = max(-1, min(like, 1)) // the squares of a hostile vector may be rounded to nothing
	p := float64(len(a.Vector))
	noiseA, noiseB := a.Std*a.Std, b.Std*b.Std
	if noiseA == 0 && noiseB == 0 {
		return like
	}
	n := signal(aa-float64(p*noiseA), bb-float64(p*noiseB), noiseA, noiseB, p)
	return like * math.Sqrt(n/(n+float64(p*noiseA))) * math.Sqrt(n/(n+float64(p*noiseB)))
}

// signal estimates the squared length of an optimum that two ends have in common,
// for that is the question, from |a|^2 - p std_a^2 and the same of b. Both are right
// in the mean; their variance is about 2 p std^4, so they are weighed by 1/std^4. An
// estimate from one end alone would let chance decide who is reliable, and when both
// vectors could be noise alone, n is that chance's size: the standard deviation of
// the estimate.
func signal(squareA, squareB, noiseA, noiseB, p float64) float64 {
	both := math.Hypot(noiseA, noiseB)
	shareA, shareB := noiseA/both, noiseB/both
	n := float64(shareB*shareB*squareA) + float64(shareA*shareA*squareB)
	return max(n, math.Sqrt(2*p)*shareA*noiseB)
}
