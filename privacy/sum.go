package privacy

import (
	"math"
	"math/bits"
)

// MaxSlots is the largest number of record slots in one release.
const MaxSlots = 1 << 20

// Cohort numbers a group of records that share one budget.
type Cohort uint64

// Sum adds up the contributions of the records of one cohort. It is opaque: its
// content leaves only through the Answer methods, with noise. It is built by
// [Mechanism.NewSum], [Sum.Add] and [Sum.AddEmpty] alone, and so replacing one
// record changes it by at most twice the clip in l2 norm, whatever was added.
// A copy shares its content with the original; not safe for concurrent use.
type Sum struct {
	mechanism Mechanism
	cohort    Cohort
	slots     int
	total     []int64 // grid units
	record    []int64 // scratch of Add: one record's contribution, grid units
}

// NewSum returns an empty sum of vectors of length dim for the records of c.
func (m Mechanism) NewSum(c Cohort, dim int) Sum {
	return Sum{mechanism: m, cohort: c, total: make([]int64, dim), record: make([]int64, dim)}
}

// Add fills one slot with the gradient of one record: coordinates that are not
// finite become 0, the vector is scaled down to the clip if it is longer, and
// coordinates are rounded toward zero to the grid. The gradient is not kept. A
// sum that has [MaxSlots] slots takes no more; this looks at the number of
// records only. It panics if the length is not that of the sum.
func (s *Sum) Add(gradient []float64) {
	if len(gradient) != len(s.total) {
		panic("privacy: the gradient's length is not the dimension of the sum")
	}
	if s.slots == MaxSlots {
		return
	}
	s.slots++
	s.mechanism.quantise(s.record, gradient)
	for j, n := range s.record {
		s.total[j] += n
	}
}

// AddEmpty fills one slot with nothing: the slot of a deleted record, so that
// the number of slots says nothing about the deletion.
func (s *Sum) AddEmpty() { s.slots = min(s.slots+1, MaxSlots) }

// Cohort returns whose records the sum is of.
func (s *Sum) Cohort() Cohort { return s.cohort }

// Slots returns how many record slots, empty ones included, are in the sum.
func (s *Sum) Slots() int { return s.slots }

// quantise writes the clipped gradient to dst in grid units.
//
// Floating point only chooses the scale. The bound itself is checked in
// integers, so that no rounding, overflow or fused multiply-add can break it.
// The norm is taken of gradient/peak, so it is in [1, sqrt(p)].
func (m Mechanism) quantise(dst []int64, gradient []float64) {
	var peak, squares float64
	for _, g := range gradient {
		peak = max(peak, math.Abs(finite(g)))
	}
	if peak == 0 {
		clear(dst)
		return
	}
	for _, g := range gradient {
		r := finite(g) / peak
		squares += r * r
	}
	norm := math.Sqrt(squares)
	divisor, factor := peak, float64(m.clip)/norm
	if norm*peak <= m.Clip() { // an overflow to +Inf is over the clip
		divisor, factor = 1, math.Ldexp(1, -m.grid)
	}
	for j, g := range gradient {
		dst[j] = int64(finite(g) / divisor * factor) // |.| < 2^43; conversion truncates
	}
	for longer(dst, m.clip) {
		shrink(dst)
	}
}

// finite returns g, or 0 if g is infinite or not a number.
func finite(g float64) float64 {
	if math.Abs(g) <= math.MaxFloat64 {
		return g
	}
	return 0
}

// longer reports whether the l2 norm of v is over bound, in exact 128-bit
// arithmetic. It needs |v_j| < 2^48 and fewer than 2^32 coordinates.
func longer(v []int64, bound int64) bool {
	var high, low, carry uint64
	for _, n := range v {
		a := uint64(max(n, -n))
		h, l := bits.Mul64(a, a)
		low, carry = bits.Add64(low, l, 0)
		high, _ = bits.Add64(high, h, carry)
	}
	h, l := bits.Mul64(uint64(bound), uint64(bound))
	return high > h || high == h && low > l
}

// shrink moves every coordinate one unit toward zero, which takes about one
// unit or more off the norm. Rounding errors are a small part of a unit, so one
// pass is nearly always enough.
func shrink(v []int64) {
	for j, n := range v {
		switch {
		case n > 0:
			v[j]--
		case n < 0:
			v[j]++
		}
	}
}
