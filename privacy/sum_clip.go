package privacy

import (
	"math"
	"math/bits"

	"p2pnode/internal/vector"
)

// quantise writes the clipped gradient to dst in grid units.
//
// Floating point only chooses the factor. The bound itself is checked in
// integers, so that no rounding, overflow or fused multiply-add can break it.
func (m *Mechanism) quantise(dst []int64, gradient []float64) {
	factor, ordinary, _ := m.factor(gradient)
	if !ordinary {
		m.quantiseAny(dst, gradient)
		return
	}
	for j, g := range gradient {
		dst[j] = int64(g * factor) // |.| < 2^43; conversion truncates
	}
	for longerL2(dst, m.clip) {
		shrink(dst)
	}
}

// factor is the number by which an ordinary gradient is multiplied under an l2 clip.
// ordinary is false for a gradient whose norm is far from 1, or with a coordinate that
// is not finite, because then the sum of squares is not finite either.
//
// inside says that the result is certainly at most the clip, and need not be checked.
// It then is gradient times a power of two, which is exact, rounded toward zero: no
// coordinate is larger than before. And the norm is off by less than the margin: each
// square and each addition rounds by a relative 2^-53, all of up to 2^20 of them by
// less than 2^-31, a fused multiply-add by less; what underflows is below 2^-1000, and
// squares is above 2^-800.
func (m *Mechanism) factor(gradient []float64) (f float64, ordinary, inside bool) {
	squares := sumOfSquares(gradient)
	if squares == 0 && !m.l1() && m.grid > -500 {
		// No coordinate reaches 2^-537, so each is less than a unit. A record without
		// pull must not take longer than others.
		return powerOfTwo(-m.grid), true, true
	}
	if m.l1() || !(squares > smallestSquare && squares < largestSquare) { // NaN too
		return 0, false, false
	}
	norm, clip := math.Sqrt(squares), float64(m.clip)*powerOfTwo(m.grid)
	if norm > clip {
		return float64(m.clip) / norm, true, false
	}
	return powerOfTwo(-m.grid), true, norm < clip*(1-0x1p-20) && len(gradient) <= 1<<20
}

// inside is what a sum must know of its mechanism to add gradients that are well inside
// the clip. The zero value knows of none.
type inside struct {
	units   float64 // of the grid in 1
	squares float64 // of a gradient's coordinates, for which it is; 0: never
}

// inside is that of sums of so many coordinates.
func (m *Mechanism) inside(dim int) inside {
	if m.l1() || m.distance > 0 || m.slots > 0 || dim > 1<<20 {
		return inside{}
	}
	clip := float64(m.clip) * powerOfTwo(m.grid)
	return inside{powerOfTwo(-m.grid), clip * clip * (1 - 0x1p-18)}
}

// surely reports, for the gradient scale x before it is computed, with the sum of the
// squares of x, that factor will find it ordinary and inside, so that addInside may add it. It need not recognise
// every such gradient. factor compares the root of the sum of the squares of the
// rounded products with the clip less a relative 2^-20. Here the square of scale times
// the sum of the squares of x is compared with the square of the clip less a relative
// 2^-18, which is less than that of the clip less 2^-19. The two sums differ by less
// than a relative 2^-29: each is off by less than 2^-31 (see factor), the products
// round by a relative 2^-53 each, and what underflows anywhere is below 2^-1000, where
// the sum is above 2^-800. A scale of 0 gives zeros, which both add alike.
//
// Also, scale times the power of two by which factor multiplies is then an exact number,
// for it is far above 2^-1022, and far from overflow: times x it is within the clip, which
// is at most 2^42, and x is above 2^-400.
func (i *inside) surely(scale, squares float64) bool {
	norm := scale * scale * squares
	ordinary := norm > 2*smallestSquare && norm < largestSquare/2 && squares > smallestSquare && squares < largestSquare
	exact := math.Abs(scale*i.units) > 0x1p-1000
	return norm < i.squares && (ordinary && exact || scale == 0)
}

// Squares of norms within these bounds have lost nothing that counts to underflow,
// and every factor is far from the ends of float64.
const smallestSquare, largestSquare = 0x1p-800, 0x1p800

// sumOfSquares adds up four sums side by side.
func sumOfSquares(v []float64) float64 {
	var a, b, c, d float64
	for ; len(v) >= 4; v = v[4:] {
		a += v[0] * v[0]
		b += v[1] * v[1]
		c += v[2] * v[2]
		d += v[3] * v[3]
	}
	for _, x := range v {
		a += x * x
	}
	return (a + b) + (c + d)
}

// powerOfTwo is 2^e for e in [-1022, 1023], which every grid is.
func powerOfTwo(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// addInside adds what quantise would write to total, for the gradient scale x, well inside
// the clip: each product, rounded, times a power of two, rounded toward zero. units is
// scale times that power, exactly (see inside). Multiplying by it at once rounds
// to the same bits, but for numbers below 2^-1022: the product itself is one, or what it
// becomes. Since no power is above 2^600, either is then less than a unit, and both ways
// come to 0.
func addInside(total []int64, x []float64, units float64) { vector.AddUnits(total, x, units) }

// addWithin adds what quantise would write to total, in one pass, if it is at most
// bound in exact arithmetic before any shrinking; else it changes nothing. It is
// longerL2 while the numbers are at hand.
func addWithin(total []int64, gradient []float64, factor float64, bound int64) bool {
	high, low := vector.AddUnitsSquared(total, gradient, factor)
	h, l := bits.Mul64(uint64(bound), uint64(bound))
	if high < h || high == h && low <= l {
		return true
	}
	vector.AddUnits(total, gradient, -factor)
	return false
}

// quantiseAny is quantise for every gradient and both norms. The norm is taken of
// gradient/peak: it is 1 or more, and at most the dimension.
func (m *Mechanism) quantiseAny(dst []int64, gradient []float64) {
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
