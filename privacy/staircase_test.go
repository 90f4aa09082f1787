package privacy

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// stairs are the staircases by the names of their laws.
var stairs = map[Noise]*staircase{Gaussian: gaussianStairs, Laplace: laplaceStairs}

const testPrecision = 400

// trueCurve is f(n/scale) to some 350 binary digits: e^(-h/2^40), by its series, squared
// forty times.
func trueCurve(law Noise, n, scale uint64) *big.Float {
	float := func(n uint64) *big.Float { return new(big.Float).SetPrec(testPrecision).SetUint64(n) }
	h := float(n)
	h.Quo(h, float(scale))
	if law == Gaussian {
		h.Mul(h, h).Quo(h, float(2))
	}
	h.SetMantExp(h, -40)
	sum, term := float(1), float(1)
	for i := uint64(1); i < 20; i++ {
		term.Quo(term.Mul(term, h), float(i)).Neg(term)
		sum.Add(sum, term)
	}
	for range 40 {
		sum.Mul(sum, sum)
	}
	return sum
}

// shifted is x 2^by.
func shifted(x *big.Float, by int) *big.Float { return new(big.Float).SetMantExp(x, by) }

func float(n int) *big.Float { return big.NewFloat(float64(n)).SetPrec(testPrecision) }

// What the proof asks of the table, by independent arithmetic: in every strip the bricks
// are piled up from 0 without a gap until the curve is below them, those that are taken
// unseen are below it at the strip's upper end, and none is useless; from the tail on
// two bricks stand for the heights 1, 1/2, 1/4 ..., which are enough.
func TestStaircaseIsAroundItsCurve(t *testing.T) {
	for law, s := range stairs {
		bricks := map[uint64][]brick{}
		for _, b := range s.wall {
			bricks[uint64(b.strip)] = append(bricks[uint64(b.strip)], b)
		}
		if s.tail == 0 || len(bricks) != int(s.tail)+strips {
			t.Errorf("%s: bricks in %d strips, the tail begins at %d", law, len(bricks), s.tail)
		}
		for k := range s.tail {
			lower, upper := shifted(trueCurve(law, k, strips), 6), shifted(trueCurve(law, k+1, strips), 6)
			sure := 0
			for i, b := range bricks[k] {
				if b.level == whole {
					sure++
				} else if int(b.level) != i || i != sure && bricks[k][i-1].level == whole {
					t.Fatalf("%s, strip %d: brick %d is at level %d", law, k, i, b.level)
				}
			}
			height := len(bricks[k])
			if float(height).Cmp(lower) < 0 || float(height-1).Cmp(lower) >= 0 {
				t.Errorf("%s, strip %d: %d bricks, the curve begins at %v", law, k, height, lower)
			}
			if float(sure).Cmp(upper) > 0 || float(sure+1).Cmp(upper) < 0 {
				t.Errorf("%s, strip %d: %d bricks are taken unseen, the curve ends at %v", law, k, sure, upper)
			}
		}
		for i := range uint64(60) {
			if shifted(trueCurve(law, s.tail+i*strips, strips), 6+int(i)).Cmp(float(1)) >= 0 {
				t.Errorf("%s: the tail's brick is too low %d scales on", law, i)
			}
			b := bricks[s.tail+i%strips]
			if len(b) != 2 || b[0].level != 0 || b[1].level != 0 {
				t.Errorf("%s: the tail begins with %v", law, b)
			}
		}
	}
}

// The curve in 64 bits is off by less than it says.
func TestCurveIsNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 1))
	for law, s := range stairs {
		worst := 0.0
		check := func(n, scale uint64) {
			off, _ := new(big.Float).Sub(shifted(trueCurve(law, n, scale), 64), new(big.Float).SetUint64(s.curve(n, scale))).Float64()
			if worst = max(worst, off, -off); worst >= 1<<23 {
				t.Fatalf("%s: off by %v units at %d of scale %d", law, off, n, scale)
			}
		}
		for range 3000 {
			scale := 1 + rng.Uint64N(1<<(1+rng.IntN(40)))
			check(rng.Uint64N(scale*(1<<rng.IntN(8))), scale)
		}
		for _, scale := range []uint64{1, 3, 1 << 30, 1<<40 - 1, 1 << 40} {
			for _, n := range []uint64{0, 1, scale - 1, scale, 64*scale - 1, 64 * scale, 1000 * scale} {
				check(n, scale)
			}
		}
		if worst < 1<<20 {
			t.Errorf("%s: off by %v units at most: the bound is loose", law, worst)
		}
	}
}

// script gives its words and panics when there are no more.
type script []uint64

type scriptEnded struct{}

func (s *script) Uint64() uint64 {
	if len(*s) == 0 {
		panic(scriptEnded{})
	}
	word := (*s)[0]
	*s = (*s)[1:]
	return word
}

// attempt draws with these words, and reports whether they were enough and all needed.
func attempt(s *staircase, scale uint64, words ...uint64) (n int64, ok bool) {
	defer func() {
		if e := recover(); e != nil {
			if e != (scriptEnded{}) {
				panic(e)
			}
			ok = false
		}
	}()
	source := script(words)
	n = s.draw(sampler{&source}, scale)
	return n, len(source) == 0
}

// pairWord is a word from which pair makes this pair.
func pairWord(first, second, a, b uint64) uint64 {
	whole := new(big.Int).Lsh(new(big.Int).SetUint64(first*b+second), 64)
	word := whole.Div(whole, new(big.Int).SetUint64(a*b)).Uint64() + 1
	for n := a * b; word*n < -n%n; {
		word++
	}
	return word
}

// tried is one brick at one place.
type tried struct {
	law         Noise
	scale       uint64
	pick, place uint64
	zeros       uint64 // of a tail's brick
}

// words are those that lead to V, and the words of V that follow.
func (c tried) words(v ...uint64) []uint64 {
	s := stairs[c.law]
	width := (c.scale + strips - 1) / strips
	words := []uint64{pairWord(c.pick, c.place, 2*uint64(len(s.wall)), width)}
	if uint64(s.wall[c.pick/2].strip) >= s.tail {
		words = append(words, 1<<(63-c.zeros))
	}
	return append(words, v...)
}

// integer is what the brick gives if V is below the curve; false if it gives nothing.
func (c tried) integer() (int64, bool) {
	strip := uint64(stairs[c.law].wall[c.pick/2].strip) + c.zeros*strips
	n := (strip*c.scale+strips-1)/strips + c.place
	if n >= ((strip+1)*c.scale+strips-1)/strips || n == 0 && c.pick%2 == 1 {
		return 0, false
	}
	if c.pick%2 == 1 {
		return -int64(n), true
	}
	return int64(n), true
}

// share is how much of the brick is below the curve at n, from 0 to 1.
func (c tried) share(n int64) *big.Float {
	b := stairs[c.law].wall[c.pick/2]
	if b.level == whole {
		return float(1)
	}
	share := shifted(trueCurve(c.law, uint64(max(n, -n)), c.scale), 6+int(c.zeros))
	share.Sub(share, float(int(b.level)))
	if share.Sign() < 0 {
		return float(0)
	} else if share.Cmp(float(1)) > 0 {
		return float(1)
	}
	return share
}

// check compares what words make of the brick with where its V crosses the curve, and
// returns what it gives, and how much of it is below the curve.
func (c tried) check(t *testing.T) (n int64, share *big.Float) {
	n, gives := c.integer()
	if !gives {
		c.expect(t, false, 0)
		return 0, float(0)
	}
	share = c.share(n)
	switch {
	case stairs[c.law].wall[c.pick/2].level == whole:
		c.expect(t, true)
	case share.Cmp(float(1)) == 0:
		c.expect(t, true, math.MaxUint64)
	case share.Sign() == 0:
		c.expect(t, false, 0)
	default:
		c.checkCrossing(t, share)
	}
	return n, share
}

// checkCrossing takes words just below and above the share, first for the first word
// of V, then for the second, then for the third.
func (c tried) checkCrossing(t *testing.T, share *big.Float) {
	var known []uint64
	for range 3 {
		share = shifted(share, 64)
		whole, _ := share.Int(nil)
		share = new(big.Float).Sub(share, new(big.Float).SetInt(whole))
		crossing := whole.Uint64()
		if crossing > 1 {
			c.expect(t, true, append(known, crossing-2)...)
		}
		if crossing < math.MaxUint64-1 {
			c.expect(t, false, append(known, crossing+2)...)
		}
		known = append(known, crossing)
	}
}

// expect fails if the brick does not give its integer, or gives one, with these words
// of V.
func (c tried) expect(t *testing.T, below bool, v ...uint64) {
	t.Helper()
	n, _ := c.integer()
	switch got, ok := attempt(stairs[c.law], c.scale, c.words(v...)...); {
	case ok != below:
		t.Fatalf("%+v with %x: given %v, want %v", c, v, ok, below)
	case below && got != n:
		t.Fatalf("%+v with %x gives %d, want %d", c, v, got, n)
	}
}

// The whole law, to the last of 192 bits: every brick and place is tried with words on
// both sides of the curve, and what they give adds up, for each integer, to the curve.
func TestLawsWordByWord(t *testing.T) {
	t.Parallel()
	for law, s := range stairs {
		for _, scale := range []uint64{1, 7, 50} {
			mass := map[int64]*big.Float{}
			for pick := range 2 * uint64(len(s.wall)) {
				for place := range (scale + strips - 1) / strips {
					c := tried{law: law, scale: scale, pick: pick, place: place}
					zeros := 1
					if uint64(s.wall[pick/2].strip) >= s.tail {
						zeros = 4
					}
					for i := range zeros {
						c.zeros = uint64(i)
						n, share := c.check(t)
						if zeros > 1 {
							share = shifted(share, -1-i) // the probability of so many zeros
						}
						if mass[n] == nil {
							mass[n] = float(0)
						}
						mass[n].Add(mass[n], share)
					}
				}
			}
			for n := int64(0); n < int64(s.tail/strips*scale); n++ {
				want := shifted(trueCurve(law, uint64(n), scale), 6)
				for _, n := range []int64{n, -n} {
					off, _ := new(big.Float).Sub(want, mass[n]).Float64()
					if off < -0x1p-300 || off > 0x1p-300 {
						t.Errorf("%s of scale %d: %d has %v bricks, want %v", law, scale, n, mass[n], want)
					}
				}
			}
		}
	}
}

// The same of bricks taken at random, at scales of real noise and beyond.
func TestBricksAtLargeScales(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 2))
	for law, s := range stairs {
		edges := make([]uint64, 0, len(s.wall))
		for i, b := range s.wall {
			if b.level != whole {
				edges = append(edges, uint64(i))
			}
		}
		for range 400 {
			scale := uint64(1)<<29 + rng.Uint64N(1<<29)
			if rng.IntN(4) == 0 {
				scale = 1<<40 - rng.Uint64N(1<<39)
			}
			brick := edges[rng.IntN(len(edges))]
			c := tried{law: law, scale: scale, pick: 2*brick + rng.Uint64N(2), place: rng.Uint64N((scale + strips - 1) / strips)}
			if uint64(s.wall[brick].strip) >= s.tail {
				c.zeros = rng.Uint64N(5)
			}
			c.check(t)
		}
	}
}

// Chi-square over the strips of large scales, cut in the middle so that each cell has a
// seam of the table, tails included.
func TestSeamsAtLargeScales(t *testing.T) {
	t.Parallel()
	const trials = 4_000_000
	cdf := map[Noise]func(float64) float64{Gaussian: distuv.UnitNormal.CDF, Laplace: distuv.Laplace{Scale: 1}.CDF}
	for law, s := range stairs {
		const scale = 1<<30 - 35
		source, counts, probability := seeded(19), map[int64]int{}, map[int64]float64{}
		for range trials {
			counts[int64(math.Round(float64(s.draw(source, scale))/scale*strips))]++
		}
		for k := int64(-20 * strips); k <= 20*strips; k++ {
			end := -(math.Abs(float64(k)) - .5) / strips // by the lower tail, to be precise
			probability[k] = cdf[law](end) - cdf[law](end-1./strips)
		}
		checkCounts(t, counts, trials, probability)
	}
}

func TestZeros(t *testing.T) {
	for want, words := range map[uint64]script{0: {1 << 63}, 3: {1<<60 + 5}, 63: {1}, 64: {0, 1 << 63}, 130: {0, 0, 1 << 61}} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			if n := (sampler{&words}).zeros(); n != want || len(words) != 0 {
				t.Errorf("%d zeros, %d words left", n, len(words))
			}
		})
	}
}
