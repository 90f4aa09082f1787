// Package vector is the arithmetic of learning over vectors: what gonum's floats do, to
// the same bits, with four numbers at a time where the processor can.
package vector

import "gonum.org/v1/gonum/floats"

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
