package graph

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// similarity estimates how alike the optima behind two noisy vectors are, from -1 to 1.
// It is 0 if nothing is known of one of them, and not a number for vectors that two
// nodes of one task cannot have. Between vectors without noise it is the cosine a.b /
// (|a| |b|). The noises of two nodes are independent and do not change the inner
// product a.b in the mean, but they make the vectors longer: the share r_a = n / (n + p
// std_a^2) of |a|^2 is not noise, with n the squared length of the optimum, see
// [signal]. So the cosine without noise is a.b / (|a| |b|) / sqrt(r_a r_b) in the mean.
// That is multiplied by the reliability r^2, with r the smaller of the two, because the
// likeness of ends that are mostly noise says little.
//
// Nothing that one end claims makes it more alike than an honest end with the other's
// optimum and the other's noise would be. It may send a copy of the other's vector,
// whose noise no honest end has: but no cosine is larger than 1. It may claim less
// noise than it has: but the noisier end says how reliable the two are. It may claim a
// longer vector: but n is not larger than either end could have it.
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
	like = max(-1, min(like, 1)) // the squares of a hostile vector may underflow
	p := float64(len(a.Vector))
	noiseA, noiseB := a.Std*a.Std, b.Std*b.Std
	if noiseA == 0 && noiseB == 0 {
		return like
	}
	n := signal(aa-float64(p*noiseA), bb-float64(p*noiseB), noiseA, noiseB, p)
	reliableA, reliableB := n/(n+float64(p*noiseA)), n/(n+float64(p*noiseB))
	least := min(reliableA, reliableB)
	if least == 0 {
		return 0
	}
	cosine := like / (math.Sqrt(reliableA) * math.Sqrt(reliableB))
	return max(-1, min(cosine, 1)) * least * least
}

// signal estimates the squared length of the optimum that two ends are asked to have in
// common, from |a|^2 - p std_a^2 and the same for b. Both are right in the mean. Their
// variance is about 2 p std^4, so they are weighed by 1/std^4; an estimate from one end
// alone would let chance decide which end is reliable. The estimate is at most each
// end's own value plus two standard deviations, so that no end makes the other one more
// reliable than it is. If both vectors could be noise alone, it is the standard
// deviation of the estimate.
func signal(squareA, squareB, noiseA, noiseB, p float64) float64 {
	both := math.Hypot(noiseA, noiseB)
	shareA, shareB := noiseA/both, noiseB/both
	n := float64(shareB*shareB*squareA) + float64(shareA*shareA*squareB)
	n = min(n, most(squareA, noiseA, p), most(squareB, noiseB, p))
	return max(n, math.Sqrt(2*p)*(shareA*shareB)*both)
}

// most is two standard deviations above the value of a for the squared length of its
// optimum, |a|^2 - p std_a^2. The variance is 2 p std^4 + 4 n std^2.
func most(square, noise, p float64) float64 {
	n := max(0, square)
	return n + 2*math.Sqrt(float64(2*p*noise*noise)+float64(4*n*noise))
}
