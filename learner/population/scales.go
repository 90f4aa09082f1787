package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// WalkRounds is how many sums a [RegressionWalk] and a [DiscriminantWalk] take.
//
// Features often lie in a small part of the range that everybody may know, where noise that hides
// the whole range drowns them. So the first sum shows where each feature lies and how far it spreads,
// its scale, and devices make the second one of features in these scales. Both sums together have
// the budget of one.
const WalkRounds = 2

// moments are what a sum says of features.
type moments struct {
	records float64
	mean    []float64
	around  *mat.SymDense // the second moments around the mean, added up
}

// momentsOf takes the sum of the products of p coordinates apart, the last of which is the constant,
// or a feature too if that is 0. Sd is the noise in the products.
func momentsOf(p int, products *mat.SymDense, constant, sd float64, slots int) moments {
	m := moments{records: float64(slots)}
	if constant == 0 {
		m.mean, m.around = make([]float64, p), products
		return m
	}
	last := p - 1
	if last == 0 { // the constant alone
		m.around = new(mat.SymDense)
		return m
	}
	m.records = live(products.At(last, last), constant*constant, sd, m.records)
	for i := range last {
		m.mean = append(m.mean, products.At(i, last)/constant/m.records)
	}
	m.around = mat.NewSymDense(last, nil)
	m.around.CopySym(products)
	m.around.SymRankOne(m.around, -m.records, mat.NewVecDense(last, m.mean))
	return m
}

// live is how many of the record slots hold a record, of which the constants' squares add up to so
// much, with noise: all, unless the sum shows that many are empty.
func live(squares, square, sd, slots float64) float64 {
	if seen := squares / square; seen < slots-3*sd/square {
		return max(1, seen)
	}
	return slots
}

// scales has the mean of each feature, and then the factors by which they are to be multiplied: so
// that each spreads as far as any other, and a usual record has features of length 1.
func (m moments) scales(sd float64) []float64 {
	features := float64(len(m.mean))
	scales := append(make([]float64, 0, 2*len(m.mean)), m.mean...) // not nil, of no features either
	for i := range m.mean {
		// What spreads less than the noise does is not known to spread at all.
		variance := max(m.around.At(i, i), sd, 1) / m.records
		scales = append(scales, 1/math.Sqrt(variance*features))
	}
	return scales
}

// Scaled returns a record in the scales of a walk, with features shortened to length 1, and the
// record itself where there are none.
func Scaled(x, scales []float64) []float64 {
	features := len(scales) / 2
	if features == 0 {
		return x
	}
	x = slices.Clone(x)
	own := x[:features]
	floats.Sub(own, scales[:features])
	floats.Mul(own, scales[features:])
	floats.Scale(shortening(own, 1), own)
	return x
}

// unscale turns the weights of scaled records into those of records as they are, in place.
func unscale(weights, scales []float64, constant float64) []float64 {
	features := len(scales) / 2
	own := weights[:features]
	floats.Mul(own, scales[features:])
	if constant != 0 {
		weights[features] -= floats.Dot(own, scales[:features]) / constant
	}
	return weights
}

// scale is the opposite of unscale.
func scale(weights, scales []float64, constant float64) []float64 {
	features := len(scales) / 2
	own := weights[:features]
	if constant != 0 {
		weights[features] += floats.Dot(own, scales[:features]) / constant
	}
	floats.Div(own, scales[features:])
	return weights
}

// Turned returns the covariance of what the linear map by makes of vectors with this covariance; nil of
// nil. The map may work in place.
func Turned(covariance *mat.SymDense, by func([]float64) []float64) *mat.SymDense {
	if covariance == nil {
		return nil
	}
	half := make([][]float64, covariance.SymmetricDim())
	for i := range half {
		half[i] = by(mat.Row(nil, i, covariance))
	}
	column, turned := make([]float64, len(half)), mat.NewSymDense(len(half[0]), nil)
	for j := range half[0] {
		for i := range column {
			column[i] = half[i][j]
		}
		for i, v := range by(column)[:j+1] {
			turned.SetSym(i, j, v)
		}
	}
	return turned
}
