package privacy

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// naive is the textbook mechanism: a float64 plus a float64 draw.
var naive = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"gaussian", (*rand.Rand).NormFloat64},
	{"laplace", func(rng *rand.Rand) float64 {
		x := -math.Log1p(-rng.Float64())
		if rng.IntN(2) == 0 {
			return -x
		}
		return x
	}},
}

// What is wrong with it (Mironov, "On Significance of the Least Significant Bits
// for Differential Privacy", 2012): near zero a float64 is finer than near one, so
// 1 + noise is a multiple of 2^-53 wherever it lands (the sum is rounded to that, or
// the noise is -1/2 or less and a multiple itself) and 0 + noise often is not. One
// look at the low bits of one answer can tell two neighbouring inputs apart for
// certain.
func TestLowBitsOfFloatNoiseLeak(t *testing.T) {
	offGrid := func(y float64) bool {
		scaled := math.Ldexp(y, 53)
		return scaled != math.Trunc(scaled)
	}
	for _, law := range naive {
		rng := rand.New(rand.NewPCG(7, 1))
		const trials = 20_000
		zeros, ones := 0, 0
		for range trials {
			if offGrid(0 + law.draw(rng)) {
				zeros++
			}
			if offGrid(1 + law.draw(rng)) {
				ones++
			}
		}
		if ones != 0 || zeros < trials/100 {
			t.Errorf("%s: off the grid %d times for input 0, %d for input 1: this is no longer the leak", law.name, zeros, ones)
		}
		t.Logf("%s: %d of %d answers prove that the input was 0; none is possible from 1", law.name, zeros, trials)
	}
}

// Ours: from every input every answer is on one grid, so the same answers can be
// reached, and the last four bits are fair coins whatever the input. A chi-square
// test of the 16 residues for each input and law: it fails a correct sampler for
// one seed in a million. The laws are even over residues to a relative 1e-8, which
// is the ends of the truncated ones.
func TestLowBitsOfOurNoiseTellNothing(t *testing.T) {
	t.Parallel()
	const dim, residues = 32_000, 16
	for _, law := range laws {
		m := must(t)(law.make(1, 1))
		for _, input := range []float64{0, 1, -1, 0.3, math.Ldexp(1, m.grid), 5e-324} {
			s := sumOfEach(m, dim, input)
			var counts [residues]float64
			for _, n := range units(t, m, NewSeededNoise(8).Answer(m, []Sum{s})) {
				counts[n&(residues-1)]++
			}
			statistic := 0.0
			for _, c := range counts {
				statistic += (c - dim/residues) * (c - dim/residues) / (dim / residues)
			}
			if p := (distuv.ChiSquared{K: residues - 1}).Survival(statistic); p < falseFailure {
				t.Errorf("%s: the low bits show the input %v: chi-square %.1f, p = %.2g", law.noise, input, statistic, p)
			}
		}
	}
}

// sumOfEach holds input in every coordinate, each given by a record of its own so
// that no clip touches it.
func sumOfEach(m Mechanism, dim int, input float64) Sum {
	one := m.NewSum(1, 1)
	one.Add([]float64{input})
	s := m.NewSum(1, dim)
	s.slots = 1
	for j := range s.total {
		s.total[j] = one.total[0]
	}
	return s
}
