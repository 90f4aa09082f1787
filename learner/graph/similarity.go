package graph

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// similarity says how alike the optima behind two noisy vectors a + noise and
// b + noise are, from -1 to 1. It is 0 if nothing is known of one of them, and not
// a number for vectors that no two nodes of one task have.
//
// The noises are independent, so the inner product needs no correction, and
// n_a = |a|^2 - p std_a^2 is free of the noise's part in the squared norm. With
// those the kernels are
//
//	cosine    a.b / sqrt(n_a n_b)
//	distance  1 - (|a - b|^2 - p std_a^2 - p std_b^2) / (n_a + n_b) = 2 a.b / (n_a + n_b)
//
// times the reliability (n_a / |a|^2) (n_b / |b|^2), the shares of the vectors that
// are no noise: of an end that is mostly noise, being alike says little. The
// product cannot leave [-1, 1], however small n_a is: it is |a.b| sqrt(n_a n_b) /
// (|a|^2 |b|^2) for the cosine, no more for the distance, and 0 if n_a is not
// positive.
func similarity(kernel string, a, b End) float64 {
	switch {
	case len(a.Vector) == 0 || len(b.Vector) == 0:
		return 0
	case len(a.Vector) != len(b.Vector):
		return math.NaN()
	}
	aa, bb := floats.Dot(a.Vector, a.Vector), floats.Dot(b.Vector, b.Vector)
	na, nb := signal(aa, a), signal(bb, b)
	if na == 0 || nb == 0 {
		return 0
	}
	reliability := (na / aa) * (nb / bb)
	product := floats.Dot(a.Vector, b.Vector)
	if kernel == "distance" {
		return 2 * product / (na + nb) * reliability
	}
	return product / (math.Sqrt(na) * math.Sqrt(nb)) * reliability
}

// signal is n_a, 0 if noise alone is as long.
func signal(squared float64, e End) float64 {
	return max(0, squared-float64(len(e.Vector))*(e.Std*e.Std))
}
