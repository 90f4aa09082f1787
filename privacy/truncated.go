package privacy

import (
	"fmt"
	"math"
)

// maxTruncation is the largest bound on noise, in scales: a wider one cuts off
// practically nothing, because its tail is below e^-4096. The noise fits an int64.
const maxTruncation = 4096

// newTruncated returns the mechanism of a law of the given scale whose noise is kept
// within [-bound, bound].
func newTruncated(law Noise, clip, scale, bound float64) (Mechanism, error) {
	m, err := newNoisy(law, clip, scale)
	if err != nil {
		return Mechanism{}, err
	}
	if !(bound >= scale && bound <= maxTruncation*scale) { // NaN too
		return Mechanism{}, fmt.Errorf("privacy: the bound on the noise is %.3g times its scale, choose a ratio from 1 to %d", bound/scale, maxTruncation)
	}
	m.bound = int64(math.Ceil(math.Ldexp(bound, -m.grid)))
	return m, nil
}

// Bound is the most that noise adds to or takes from a coordinate, as used, after
// rounding to the grid; 0 when the law is not truncated.
func (m Mechanism) Bound() float64 { return math.Ldexp(float64(m.bound), m.grid) }
