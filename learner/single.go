package learner

import "math"

// A model is published in single precision where the noise in it hides the rest. With
// noise of standard deviation s in coordinates that are at most r, the task's radius,
// the lowest log2(s / u) of the 24 bits of a coordinate near r carry no information,
// with u the spacing of single precision there: 17 of them at s = 0.05 and r = 5.
// Rounding happens after the noise is added, so it is a function of public values and
// costs no privacy. The agent itself also goes on from the rounded model, so that all
// have the same one.

// drowned is how many bits of single precision the noise must hide before the other
// bits are left out. The rounding then moves no coordinate by more than 1/1024 of the
// noise's standard deviation.
const drowned = 10

// spacing is the spacing of single precision at the radius.
func spacing(radius float64) float64 { return math.Ldexp(1, math.Ilogb(radius)-23) }

// singleBits is how many bits of a coordinate near the radius, in single precision, lie
// below the standard deviation of the noise; -Inf without noise.
func singleBits(radius, std float64) float64 { return math.Log2(std / spacing(radius)) }

// single rounds a model to single precision, in place, unless that would change it by
// more than the noise hides. It rounds toward zero, so the model stays in every ball it
// was in.
func (t *Task) single(model []float64, std float64) {
	if !(singleBits(t.Radius, std) >= drowned) {
		return
	}
	for i, x := range model {
		model[i] = towardZero(x)
	}
}

// towardZero rounds to single precision toward zero. A float64 has 53 bits and single
// precision 24, so the last 29 are cleared.
func towardZero(x float64) float64 {
	if size := math.Abs(x); size >= 0x1p-126 && size < 0x1p128 {
		return math.Float64frombits(math.Float64bits(x) &^ (1<<29 - 1))
	}
	if y := float32(x); math.Abs(float64(y)) > math.Abs(x) {
		return float64(math.Nextafter32(y, 0))
	}
	return float64(float32(x))
}
