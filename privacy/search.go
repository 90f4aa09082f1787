package privacy

import "math"

// Limits on the scale of a mechanism's noise, as a multiple of its clip: the range that
// its grid has room for, see [NewGaussian].
const (
	leastNoise = 0x1p-12
	mostNoise  = 0x1p29
)

// noiseGrid is the numbers among which the least noise is searched: those with
// so many binary digits after the first. They are exact, so that any machine
// finds the same schedule and a plan made on one has its hash on another.
type noiseGrid int

const (
	filterGrid noiseGrid = 30 // as fine as the scale of a mechanism
	planGrid   noiseGrid = 14 // 6e-5
)

// noise is number k: it doubles every 2^g numbers, and number 0 is 1.
func (g noiseGrid) noise(k int64) float64 {
	octave := int64(1) << g
	return math.Ldexp(float64(octave+k&(octave-1)), int(k>>g)-int(g))
}

// index is the number of the largest noise that is not over x > 0.
func (g noiseGrid) index(x float64) int64 {
	fraction, exponent := math.Frexp(x)
	octave := float64(int64(1) << g)
	return int64(exponent-1)<<g + int64(math.Floor((2*fraction-1)*octave))
}

// least returns the number of the least noise, from leastNoise to most, whose cost is
// at most 1; found is false if there is none. The cost must not grow with the noise.
// The search begins at start.
//
// Between a noise that costs too much and one that does not, it interpolates the
// logarithm of the cost, and an end that stays counts half the next time (the Illinois
// rule). A plan needs 7 to 11 compositions this way, and 16 to 20 by bisection, which
// is used for costs of no regular shape.
func (g noiseGrid) least(cost func(k int64) (float64, error), start, most float64) (k int64, found bool, err error) {
	octave, first, last := int64(1)<<g, g.index(leastNoise), g.index(most)
	var excess float64
	try := func(k int64) bool {
		var ratio float64
		if err == nil {
			ratio, err = cost(k)
		}
		excess = min(max(math.Log(ratio), -40), 40)
		return err == nil && ratio <= 1
	}
	high := g.index(min(max(start, leastNoise), most))
	for !try(high) {
		if err != nil || high == last {
			return 0, false, err
		}
		high = min(high+octave, last)
	}
	under := excess
	low := max(high-octave, first)
	for low < high && try(low) {
		high, low, under = low, max(low-octave, first), excess
	}
	over := excess
	before, again := false, 0
	for high-low > 1 && err == nil {
		k := low + int64(float64(high-low)*over/(over-under))
		if again > 4 {
			k = low + (high-low)/2
		}
		k = min(max(k, low+1), high-1)
		fits := try(k)
		again++
		if fits != before {
			before, again = fits, 0
		}
		if fits {
			high, under = k, excess
		} else {
			low, over = k, excess
		}
		if again > 0 && fits {
			over /= 2
		} else if again > 0 {
			under /= 2
		}
	}
	return high, err == nil, err
}
