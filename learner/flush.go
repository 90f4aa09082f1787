package learner

import "math"

// tiny is the size below which a coordinate counts as 0. Arithmetic with numbers below
// 2^-1022 takes twenty times as long, so the time of a release would show whether a
// record has some. If no coordinate is smaller than tiny, products of two coordinates,
// and of their gradients, stay far above 2^-1022. Compared with a coordinate of usual
// size, tiny is less than a rounding error.
const tiny = 0x1p-100

// flush returns v, or 0 if v is tiny.
func flush(v float64) float64 {
	if math.Abs(v) < tiny {
		return 0
	}
	return v
}

// flushed returns v with 0 for each tiny coordinate: v itself if it has none, else a
// copy.
func flushed(v []float64) []float64 {
	const small = (1023 - 100) << 53 // the bits of tiny, without those of a sign
	for k, x := range v {
		if math.Float64bits(x)<<1-1 < small-1 { // of 0 they are the largest number
			out := append([]float64(nil), v...)
			for j := range out[k:] {
				out[k+j] = flush(out[k+j])
			}
			return out
		}
	}
	return v
}
