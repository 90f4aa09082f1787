package privacy

import (
	"errors"
	"fmt"
	"math"
)

const (
	// maxDistance is the largest distance of a bounded mechanism, in grid units. It is
	// a million scales of the noise: beyond that there is no protection.
	maxDistance = 1 << 50
	// A bounded sum keeps its coordinates within maxBounded grid units, millions
	// of scales, and a release takes at most maxBoundedSums of them: together
	// they are at most 2^62 units, and with the noise inside an int64.
	maxBounded     = 1 << 52
	maxBoundedSums = 1 << 10
	// maxDimension keeps the rounding of a vector, in l1, far below maxDistance.
	maxDimension = 1 << 30
)

var errZero = errors.New("privacy: the zero Mechanism lets nothing through, make one with NewGaussian or its kin")

// Bounded returns the mechanism for sums made with [Mechanism.NewBounded]: for a
// released vector of dim coordinates that is not a sum of per-record terms, and that
// replacing one record moves by at most distance, in real units and in the norm of the
// mechanism's clip. The clip itself is not used. The caller is responsible for
// distance: derive it beside the code, given the same transcript.
//
// It returns an error if distance is not a positive finite number or is over 2^20 times
// the scale of the noise, if dim is not 1 to 2^30, if the mechanism is subsampled,
// since a batch has no meaning for such a vector, or if it is the zero Mechanism.
func (m Mechanism) Bounded(distance float64, dim int) (Mechanism, error) {
	units := math.Ceil(math.Ldexp(distance, -m.grid))
	switch {
	case m.clip == 0:
		return Mechanism{}, errZero
	case m.slots > 0:
		return Mechanism{}, errors.New("privacy: a subsampled mechanism cannot be bounded, choose one of the two")
	case !(distance > 0 && units <= maxDistance): // NaN too
		return Mechanism{}, fmt.Errorf("privacy: distance is %v, choose a positive number of at most 2^20 times the scale of the noise", distance)
	case dim < 1 || dim > maxDimension:
		return Mechanism{}, fmt.Errorf("privacy: dimension is %d, choose 1 to 2^30", dim)
	}
	m.distance = max(1, int64(units)) + m.roundingDistance(dim)
	m.dim = dim
	return m, nil
}

// Distance is the distance of a mechanism from [Mechanism.Bounded], in real units,
// rounded up to the grid. It is 0 for a mechanism that clips records.
func (m Mechanism) Distance() float64 {
	return math.Ldexp(float64(m.distance-m.roundingDistance(m.dim)), m.grid)
}

// Dimension is the number of coordinates of the sums of a mechanism from
// [Mechanism.Bounded]; 0 for a mechanism that clips records.
func (m Mechanism) Dimension() int { return m.dim }

// roundingDistance is how much further apart rounding toward zero can bring two
// vectors of dim coordinates, grid units, rounded up. Two numbers of one sign each
// lose a fraction in [0, 1), two of different signs move toward each other: so a
// coordinate of the difference grows by less than 1, the vector by less than
// sqrt(dim) in l2 and dim in l1.
func (m Mechanism) roundingDistance(dim int) int64 {
	if m.l1() {
		return int64(dim)
	}
	return int64(math.Ceil(math.Sqrt(float64(dim)))) // never too low while dim is below 2^51
}

// NewBounded returns the vector v, a function of slots records of c, as a sum. It is
// rounded toward zero to the grid; coordinates that are not finite become 0, and those
// beyond 2^52 grid units become that limit. Neither breaks the distance, as long as one
// record does not decide whether a coordinate is finite; the caller must ensure that. v
// is not kept.
//
// It panics if the mechanism is not from [Mechanism.Bounded] or if v has a different
// dimension: each would break the guarantee.
func (m Mechanism) NewBounded(c Cohort, slots int, v []float64) Sum {
	return Sum{mechanism: m, cohort: c, slots: min(slots, MaxSlots), total: m.Units(v, maxBounded)}
}

// Units returns the vector v in grid units, rounded as [Mechanism.NewBounded] does,
// with each coordinate limited to [-most, most]; most is from 1 to 2^52. Limiting
// brings two vectors nearer, so the distance of the mechanism holds for every public
// most. v is not kept.
//
// It panics under the same conditions as NewBounded.
func (m Mechanism) Units(v []float64, most int64) []int64 {
	if m.distance == 0 {
		panic("privacy: this mechanism clips records, use NewSum")
	}
	if len(v) != m.dim {
		panic("privacy: the vector has not the dimension of its mechanism")
	}
	if most < 1 || most > maxBounded {
		panic("privacy: the range of a coordinate is 1 to 2^52 grid units")
	}
	limit := float64(most)
	units := make([]int64, len(v))
	for j, x := range v {
		// Scaling by a power of two is exact but for results below the grid (they
		// become 0 either way) and beyond the range (they become the limit).
		units[j] = int64(min(max(math.Ldexp(finite(x), -m.grid), -limit), limit))
	}
	return units
}

// Unit is the size of one grid unit, a power of two, in real units.
func (m Mechanism) Unit() float64 { return math.Ldexp(1, m.grid) }
