package privacy

import (
	"math"
	"math/bits"
)

// quantise writes the clipped gradient to dst in grid units.
//
// Floating point only chooses the factor. The bound itself is checked in
// integers, so that no rounding, overflow or fused multiply-add can break it.
// The norm is taken of gradient/peak: it is 1 or more, and at most the dimension.
func (m Mechanism) quantise(dst []int64, gradient []float64) {
	var peak, size, squares float64
	for _, g := range gradient {
		peak = max(peak, math.Abs(finite(g)))
	}
	if peak == 0 {
		clear(dst)
		return
	}
	for _, g := range gradient {
		r := math.Abs(finite(g)) / peak
		size += r
		squares += r * r
	}
	norm, longer := math.Sqrt(squares), longerL2
	if m.l1() {
		norm, longer = size, longerL1
	}
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

// longerL1 reports whether the l1 norm of v is over bound. It needs bound and
// |v_j| < 2^62: nothing is added once the norm is past the bound.
func longerL1(v []int64, bound int64) bool {
	var norm int64
	for _, n := range v {
		norm += max(n, -n)
		if norm > bound {
			return true
		}
	}
	return false
}

// longerL2 reports whether the l2 norm of v is over bound, in exact 128-bit
// arithmetic. It needs |v_j| < 2^48 and fewer than 2^32 coordinates.
func longerL2(v []int64, bound int64) bool {
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

// shrink moves every coordinate one unit toward zero, which takes about one unit
// or more off either norm. Rounding errors are a small part of a unit for each
// coordinate, so one pass is nearly always enough.
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
