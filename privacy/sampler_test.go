package privacy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Every statistical test here has a fixed seed and fails a correct sampler for
// at most one seed in a million (per subtest): p-values below 1e-6, or more
// than 4.9 standard errors off.
const falseFailure, standardErrors = 1e-6, 4.9

func seeded(seed uint64) sampler { return sampler{&NewSeededNoise(seed).words} }

// checkFrequency fails if hits of trials is not a plausible outcome of
// probability p.
func checkFrequency(t *testing.T, what string, hits, trials int, p float64) {
	t.Helper()
	sd := math.Sqrt(p * (1 - p) * float64(trials))
	if off := math.Abs(float64(hits) - p*float64(trials)); off > standardErrors*sd+1e-9 {
		t.Errorf("%s: %d of %d, want probability %.6f (%.1f standard errors off)", what, hits, trials, p, off/sd)
	}
}

// checkCounts is a chi-square test of counts against probabilities that sum to
// less than 1; the rest is one more cell. Cells expected to hold under 10 are
// merged into the rest.
func checkCounts(t *testing.T, counts map[int64]int, trials int, probability map[int64]float64) {
	t.Helper()
	statistic, cells := 0.0, 0
	restCount, restP := trials, 1.0
	for n, p := range probability {
		if want := p * float64(trials); want >= 10 {
			statistic += math.Pow(float64(counts[n])-want, 2) / want
			cells++
			restCount -= counts[n]
			restP -= p
		}
	}
	if want := restP * float64(trials); want >= 1 {
		statistic += math.Pow(float64(restCount)-want, 2) / want
		cells++
	}
	if cells < 2 {
		t.Fatal("a chi-square test needs two cells")
	}
	if p := (distuv.ChiSquared{K: float64(cells - 1)}).Survival(statistic); p < falseFailure {
		t.Errorf("chi-square %.1f over %d cells, p = %.2g", statistic, cells, p)
	}
}

func TestUniform(t *testing.T) {
	for _, n := range []uint64{2, 3, 7, 10, 64, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s, counts, probability := seeded(n), map[int64]int{}, map[int64]float64{}
			const trials = 200_000
			for range trials {
				counts[int64(s.uniform(n))]++
			}
			for k := range n {
				probability[int64(k)] = 1 / float64(n)
			}
			checkCounts(t, counts, trials, probability)
		})
	}
}

func TestUniformOfOne(t *testing.T) {
	if n := seeded(1).uniform(1); n != 0 {
		t.Errorf("uniform(1) = %d", n)
	}
}

// At n = 3 2^62 four words fall on every three values: without rejection the
// multiples of three would come half of the time, not a third.
func TestUniformRejects(t *testing.T) {
	s, hits, pairs := seeded(1), 0, 0
	const trials = 100_000
	for range trials {
		if s.uniform(3<<62)%3 == 0 {
			hits++
		}
		if a, b := s.pair(3, 1<<62); (a<<62+b)%3 == 0 {
			pairs++
		}
	}
	checkFrequency(t, "multiples of three", hits, trials, 1./3)
	checkFrequency(t, "pairs", pairs, trials, 1./3)
}

// Each pair of two numbers comes as often as any other.
func TestPair(t *testing.T) {
	s, counts, probability := seeded(2), map[int64]int{}, map[int64]float64{}
	const a, b, trials = 6, 35, 200_000
	for range trials {
		first, second := s.pair(a, b)
		counts[int64(first*b+second)]++
	}
	for k := range int64(a * b) {
		probability[k] = 1. / (a * b)
	}
	checkCounts(t, counts, trials, probability)
}

// Chi-square against the exact probabilities: proportional to e^{-n^2/2sigma^2}.
func TestGaussianLaw(t *testing.T) {
	t.Parallel()
	for _, sigma := range []uint64{1, 2, 3, 7, 50} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			s, counts := seeded(sigma), map[int64]int{}
			const trials = 300_000
			for range trials {
				counts[s.gaussian(sigma)]++
			}
			checkCounts(t, counts, trials, discreteGaussian(float64(sigma)))
		})
	}
}

// discreteGaussian returns the law of the discrete Gaussian, by its definition.
func discreteGaussian(sigma float64) map[int64]float64 {
	return normalised(int64(40*sigma), func(n float64) float64 { return math.Exp(-n * n / (2 * sigma * sigma)) })
}

// normalised returns weight(n) over -reach..reach, scaled to sum to 1.
func normalised(reach int64, weight func(float64) float64) map[int64]float64 {
	law, sum := map[int64]float64{}, 0.0
	for n := -reach; n <= reach; n++ {
		law[n] = weight(float64(n))
		sum += law[n]
	}
	for n := range law {
		law[n] /= sum
	}
	return law
}

// checkLargeScale tests a sampler at a scale where its law is the continuous one,
// given by its distribution function and moments at scale 1, for any test of this
// size: equally likely intervals, three moments, and the last bits, which must be
// fair coins in the middle and in the tails alike (a rounded sampler fails there).
func checkLargeScale(t *testing.T, draw func(sampler, uint64) int64, cdf func(float64) float64, moment func(int) float64) {
	t.Helper()
	for _, scale := range []uint64{1 << 29, 1<<30 - 1, 1 << 40} {
		const trials, cells = 200_000, 64
		s, counts, probability := seeded(scale), map[int64]int{}, map[int64]float64{}
		var moments [4]float64
		odd, tails, oddTails := 0, 0, 0
		for range trials {
			n := draw(s, scale)
			z := float64(n) / float64(scale)
			counts[int64(cdf(z)*cells)]++
			power := 1. / trials
			for k := range moments {
				moments[k] += power
				power *= z
			}
			odd += int(n & 1)
			if math.Abs(z) > 1.5 {
				tails++
				oddTails += int(n & 1)
			}
		}
		for k := range int64(cells) {
			probability[k] = 1. / cells
		}
		checkCounts(t, counts, trials, probability)
		checkFrequency(t, "odd", odd, trials, 0.5)
		checkFrequency(t, "odd in the tails", oddTails, tails, 0.5)
		for k := 1; k <= 3; k++ {
			mean := moment(k)
			sd := math.Sqrt(moment(2*k) - mean*mean)
			if math.Abs(moments[k]-mean) > standardErrors*sd/math.Sqrt(trials) {
				t.Errorf("scale %d: moment %d is %.5f, want %v", scale, k, moments[k], mean)
			}
		}
	}
}

func TestGaussianAtLargeSigma(t *testing.T) {
	t.Parallel()
	moment := func(k int) float64 { return []float64{1, 0, 1, 0, 3, 0, 15}[k] }
	checkLargeScale(t, sampler.gaussian, distuv.UnitNormal.CDF, moment)
}

// A word is never seen twice and is erased from memory as it is used.
func TestSystemWords(t *testing.T) {
	var w systemWords
	seen := map[uint64]bool{}
	for i := range 3 * len(w.block) / 8 {
		word := w.Uint64()
		if seen[word] {
			t.Fatalf("word %d came before (chance 2^-43)", i)
		}
		seen[word] = true
		used := w.block[:len(w.block)-w.left]
		for _, b := range used {
			if b != 0 {
				t.Fatalf("a used word is still in memory after draw %d", i)
			}
		}
	}
	if w.left != 0 {
		t.Errorf("%d bytes left after whole blocks", w.left)
	}
}

// draw returns the noise of one coordinate.
func (m Mechanism) draw(s sampler) int64 {
	var one [1]int64
	m.addNoise(one[:], s)
	return one[0]
}

// countedWords counts the words that are taken from a source.
type countedWords struct {
	rand.Source
	taken int
}

func (c *countedWords) Uint64() uint64 {
	c.taken++
	return c.Source.Uint64()
}

// BenchmarkDraw times the noise of 64 coordinates at the scale of real mechanisms, and
// counts the random words of one.
func BenchmarkDraw(b *testing.B) {
	for _, law := range laws {
		m := must(b)(law.make(1, 1.1))
		for _, source := range []struct {
			name  string
			words rand.Source
		}{{"seeded", &NewSeededNoise(1).words}, {"live", NewLiveNoise().words}} {
			b.Run(string(law.noise)+"/"+source.name, func(b *testing.B) {
				s, total := sampler{source.words}, make([]int64, 64)
				for b.Loop() {
					m.addNoise(total, s)
				}
				counted := &countedWords{Source: source.words}
				many := make([]int64, 10_000)
				m.addNoise(many, sampler{counted})
				b.ReportMetric(float64(counted.taken)/float64(len(many)), "words/draw")
			})
		}
	}
}
