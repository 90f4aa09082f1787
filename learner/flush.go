package learner

import "math"

// tiny is the size below which a coordinate counts as 0. Arithmetic with numbers below
// 2^-1022 takes twenty times as long, so that the time of a release would tell of a
// record that has some; products of two coordinates, and of their gradients, are far
// from there if no coordinate is smaller than this. Beside a coordinate of usual size
// it is less than a rounding error.
const tiny = 0x1p-100

// flush returns v, or 0 for a number that is tiny.
func flush(v float64) float64 {
	if math.Abs(v) < tiny {
		return 0
	}
	return v
}

// flushed returns v with 0 in place of what is tiny: v itself if there is none, else a
// copy.
func flushed(v []float64) []float64 {
	for k, x := range v {
		if x != flush(x) {
			out := append([]float64(nil), v...)
			for j := range out[k:] {
				out[k+j] = flush(out[k+j])
			}
			return out
		}
	}
	return v
}
