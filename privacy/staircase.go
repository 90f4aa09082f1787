package privacy

import (
	"math/big"
	"math/bits"
)

const (
	strips = 1 << 5 // strips of a staircase in one scale
	levels = 1 << 6 // bricks one above the other up to 1, the most that curves reach
	whole  = 255    // in place of the level of a brick all of which is below the curve
	// slack is twice the error of [staircase.curve], in units of 2^-63.
	slack = 1 << 23
)

// staircase draws exactly from a law over the integers that falls like a curve f,
// P[n] proportional to f(|n|/scale): f(x) = e^(-x^2/2), or e^-x. It is rejection from
// a table (von Neumann 1951; Marsaglia, MacLaren, Bray 1964) that serves every scale,
// with a decision that is exact because it takes as many random digits as it needs
// (Karney, "Sampling Exactly from the Normal Distribution", 2016). The laws are from
// Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020).
//
// Cut the line into strips, the k-th from k/strips scales up to (k+1)/strips, and pile
// up bricks of height 1/levels in each, from 0, until f is below their top. An attempt
// picks a brick and a sign, each with the same probability; one of ceil(scale/strips)
// integers n, counted from the first one in the brick's strip; and a height V, even
// within the brick. It gives n, with the sign, if n is in the strip and V < f(n/scale).
//
//   - Every n is in one strip, at one place, and as f falls the bricks there cover all
//     heights from 0 to f(n/scale). So an attempt gives n, with a sign, with probability
//     c f(n/scale), where c does not depend on n: it is levels times the probability of
//     a brick, a sign and a place. Attempts are independent, and the first that gives
//     something counts, so what it gives has the law. Zero has one sign only.
//   - In a brick that is below f at the strip's upper end every V does, so none is
//     drawn. Nine attempts of ten find one.
//   - From the strip "tail" on, where f < 1/levels, a strip has one brick, of height
//     2^-i/levels if it begins at least i scales and less than i+1 behind the tail. There
//     f < 2^-i/levels, because both curves now fall by more than half in a scale. The
//     table has two bricks for each strip of the tail's first scale. When one is picked,
//     it stands for the strip i scales further on with probability 2^-(i+1), so that each
//     of these comes in proportion to the area of its brick: 1, 1/2, 1/4, ....
//
// The table may have a brick too many, or one that is looked at needlessly: it rests on
// the bound on the error of curve and on nothing else.
type staircase struct {
	square bool    // f is e^(-x^2/2), else e^-x
	wall   []brick // all with the same probability
	tail   uint64
}

type brick struct{ strip, level uint8 }

// Both staircases. Nothing changes them.
var gaussianStairs, laplaceStairs = newStaircase(true), newStaircase(false)

func newStaircase(square bool) *staircase {
	t := &staircase{square: square}
	for _, high := t.corner(0); high > 0; _, high = t.corner(t.tail) {
		below, _ := t.corner(t.tail + 1)
		for level := range min(high+1, levels) {
			b := brick{uint8(t.tail), uint8(level)}
			if level < below {
				b.level = whole
			}
			t.wall = append(t.wall, b)
		}
		t.tail++
	}
	for i := range uint64(strips) {
		b := brick{strip: uint8(t.tail + i)}
		t.wall = append(t.wall, b, b)
	}
	return t
}

// corner returns integers with low <= levels f < high+1 where a strip begins.
func (t *staircase) corner(strip uint64) (low, high uint64) {
	half := t.curve(strip, strips) >> 1
	low, _ = bits.Mul64(half-slack, 2*levels)
	high, _ = bits.Mul64(half+slack, 2*levels)
	return low, high
}

// draw draws once, for 1 <= scale <= 2^40. No number overflows before 2^18 zeros come in
// a row, which has a probability of 2^-(2^18).
func (t *staircase) draw(s sampler, scale uint64) int64 {
	width := (scale + strips - 1) / strips
	for {
		pick, place := s.pair(2*uint64(len(t.wall)), width)
		b, negative := t.wall[pick/2], pick%2
		strip, halvings := uint64(b.strip), uint64(0)
		if strip >= t.tail {
			halvings = s.zeros()
			strip += halvings * strips
		}
		n := (strip*scale+strips-1)/strips + place
		if n >= negative && n*strips < (strip+1)*scale &&
			(b.level == whole || t.below(s, uint64(b.level), halvings, n, scale)) {
			return int64((n ^ -negative) + negative)
		}
	}
}

// below draws a height V, even from level to level+1 in units of 2^-halvings/levels, and
// reports whether V < f(n/scale). One word decides, but for once in 2^30 times.
func (t *staircase) below(s sampler, level, halvings, n, scale uint64) bool {
	word := s.words.Uint64()
	height := (level*(1<<64/levels) + word/levels) >> halvings // 2^64 V, rounded down
	switch curve := t.curve(n, scale); {
	case height>>1+slack < curve>>1:
		return true
	case height>>1 > curve>>1+slack:
		return false
	}
	return t.belowExactly(s, level, word, halvings, n, scale)
}

// curve returns 2^64 f(n/scale), off by less than 2^23.
//
// In it n/scale is x 2^-58, its exponent h is a 2^-53, and h/2^20 is u 2^-64, each
// rounded down, so that u is less than 2 too small and e^-h less than 2^-43 too large.
// With v = u 2^-64, 1 - v + v^2/2 is above e^-v by v^3/6 at most, and its power above e^-h by
// no more than the factor exp(e^v h^3 2^-40/6): by less than 2^-42, as h^3 e^-h is at
// most 27 e^-3. What is computed of it is two units too small at first, and each
// squaring doubles that and adds one, so it ends less than 2^22 units too small.
// From 64 scales on f is below 2^-92.
func (t *staircase) curve(n, scale uint64) uint64 {
	if n>>6 >= scale {
		return 0
	}
	x, _ := bits.Div64(n>>6, n<<58, scale)
	a := x >> 5
	if t.square {
		a, _ = bits.Mul64(x, x)
	}
	u := a >> 9
	square, _ := bits.Mul64(u, u)
	power := ^u + square>>1
	for range 20 {
		power, _ = bits.Mul64(power, power)
	}
	return power
}

// belowExactly is below once the word is drawn, in whole numbers: with h = p/q, the sum
// to the i-th term of e^-h = 1 - h + h^2/2 - ... has the denominator q^i i!, and such sums
// are below e^-h and above it in turn, by the remainder in Taylor's theorem. V takes another
// word when it is known no better than e^-h. As that is irrational, but for h = 0,
// where V < 1, this ends with probability 1.
func (t *staircase) belowExactly(s sampler, level, word, halvings, n, scale uint64) bool {
	p, q := integer(n), integer(scale)
	if t.square {
		p.Mul(p, p)
		q.Mul(q, q).Lsh(q, 1)
	}
	p.Neg(p)
	v := join(integer(level), word) // V is from v/units to (v+1)/units
	units := new(big.Int).Lsh(integer(levels), 64+uint(halvings))
	sum, term, denominator := integer(1), integer(1), integer(1)
	for i := uint64(1); ; i++ {
		factor := new(big.Int).Mul(q, integer(i))
		denominator.Mul(denominator, factor)
		term.Mul(term, p)
		sum.Mul(sum, factor).Add(sum, term)
		curve := new(big.Int).Mul(sum, units)
		least := new(big.Int).Mul(v, denominator)
		if i%2 == 0 && least.Cmp(curve) >= 0 {
			return false
		}
		if i%2 == 1 && least.Add(least, denominator).Cmp(curve) <= 0 {
			return true
		}
		if curve.Mul(term, units).CmpAbs(denominator) < 0 {
			v, units = join(v, s.words.Uint64()), units.Lsh(units, 64)
		}
	}
}

func integer(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// join is n followed by the digits of a word.
func join(n *big.Int, word uint64) *big.Int { return n.Add(n.Lsh(n, 64), integer(word)) }
