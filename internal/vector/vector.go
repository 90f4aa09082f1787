// Package vector is the arithmetic of learning over vectors: what gonum's floats do, to
// the same bits, with four numbers at a time where the processor can.
package vector

import (
	"math/bits"

	"gonum.org/v1/gonum/floats"
)

// Dot is [floats.Dot].
func Dot(x, y []float64) float64 {
	if quick && len(x) == len(y) {
		return dot(x, y)
	}
	return floats.Dot(x, y)
}

// AddScaled is [floats.AddScaled].
func AddScaled(dst []float64, alpha float64, x []float64) {
	if quick && len(dst) == len(x) {
		addScaled(dst, alpha, x)
		return
	}
	floats.AddScaled(dst, alpha, x)
}

// AddAllScaled is [AddScaled] for one of the list after the other.
func AddAllScaled(dst []float64, list []Scaled) {
	if quick && fit(list, len(dst)) {
		addAllScaled(dst, list)
		return
	}
	for _, s := range list {
		AddScaled(dst, s.By, s.X)
	}
}

// Squares is the sum of the squares of x, added up in any order.
func Squares(x []float64) float64 {
	if quick {
		return squares(x)
	}
	return floats.Dot(x, x)
}

// AddUnits adds units times each number of x, rounded toward zero, to total. It needs
// products below 2^51 and as many numbers in both.
func AddUnits(total []int64, x []float64, units float64) {
	if quick && len(total) == len(x) {
		addUnits(total, x, units)
		return
	}
	total = total[:len(x)]
	k := 0
	for ; k+4 <= len(x); k += 4 {
		t, v := (*[4]int64)(total[k:k+4]), (*[4]float64)(x[k:k+4])
		t[0] += int64(units * v[0])
		t[1] += int64(units * v[1])
		t[2] += int64(units * v[2])
		t[3] += int64(units * v[3])
	}
	for ; k < len(x); k++ {
		total[k] += int64(units * x[k])
	}
}

// Product is a vector, its product with another one, and the sum of its squares.
type Product struct {
	X            []float64
	Dot, Squares float64
}

// Multiply works out [Dot] of theta and each of the list, and [Squares], two at a time:
// a single sum waits for each number to be added before the next.
func Multiply(theta []float64, list []Product) {
	even := quick
	for i := range list {
		even = even && len(list[i].X) == len(theta)
	}
	if even {
		multiply(theta, list)
		return
	}
	for i := range list {
		p := &list[i]
		p.Dot, p.Squares = Dot(theta, p.X), Squares(p.X)
	}
}

// Scaled is By times X.
type Scaled struct {
	X  []float64
	By float64
}

// fit reports whether each of the list has n numbers.
func fit(list []Scaled, n int) bool {
	for i := range list {
		if len(list[i].X) != n {
			return false
		}
	}
	return true
}

// AddAllUnits is [AddUnits] for one of the list after the other.
func AddAllUnits(total []int64, list []Scaled) {
	if quick && fit(list, len(total)) {
		addAllUnits(total, list)
		return
	}
	for _, s := range list {
		AddUnits(total, s.X, s.By)
	}
}

// AddUnitsSquared is [AddUnits], and returns the sum of the squares of what it has added,
// high 2^64 + low. It needs products below 2^43, of at most 2^20 numbers.
func AddUnitsSquared(total []int64, x []float64, units float64) (high, low uint64) {
	if quick && len(total) == len(x) {
		upper, both, lower := addUnitsSquared(total, x, units)
		// The sums are below 2^62, 2^63 and 2^64, and only that of the mixed products may
		// be negative.
		high, low = uint64(upper)>>20, uint64(upper)<<44
		carry := uint64(0)
		low, carry = bits.Add64(low, uint64(both)<<23, 0)
		high += uint64(both>>41) + carry
		low, carry = bits.Add64(low, lower, 0)
		return high + carry, low
	}
	total = total[:len(x)]
	var carry uint64
	for j, v := range x {
		n := int64(v * units)
		total[j] += n
		a := uint64(max(n, -n))
		h, l := bits.Mul64(a, a)
		low, carry = bits.Add64(low, l, 0)
		high, _ = bits.Add64(high, h, carry)
	}
	return high, low
}
