package privacy

import (
	"fmt"
	"math"
	"testing"
)

// The standard deviations are those of the laws by their definition: a sum over
// small cells.
func TestTruncatedStd(t *testing.T) {
	for _, a := range []float64{1, 1.5, 2, 4, 8, 30} {
		for _, law := range []struct {
			name    string
			got     float64
			density func(float64) float64
		}{
			{"gaussian", truncatedGaussianStd(a), func(x float64) float64 { return math.Exp(-x * x / 2) }},
			{"laplace", truncatedLaplaceStd(a), func(x float64) float64 { return math.Exp(-x) }},
		} {
			const cells = 100_000
			var mass, squares float64
			for i := range cells {
				x := (float64(i) + 0.5) * a / cells
				mass += law.density(x)
				squares += x * x * law.density(x)
			}
			if want := math.Sqrt(squares / mass); math.Abs(law.got/want-1) > 1e-8 {
				t.Errorf("%s within %v: the standard deviation is %v, want %v", law.name, a, law.got, want)
			}
		}
	}
	if g, l := truncatedGaussianStd(4096), truncatedLaplaceStd(4096); g != 1 || l != math.Sqrt2 {
		t.Errorf("without truncation the standard deviations are %v and %v", g, l)
	}
}

func TestTruncationErrors(t *testing.T) {
	for _, bound := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -3, 0, 5e-324, 2.99, 3 * 4097, math.MaxFloat64} {
		if _, err := NewTruncatedGaussian(1, 3, bound); err == nil {
			t.Errorf("a Gaussian of sigma 3 takes the bound %v", bound)
		}
		if _, err := NewTruncatedLaplace(1, 3, bound); err == nil {
			t.Errorf("a Laplace law of scale 3 takes the bound %v", bound)
		}
	}
	for _, size := range []float64{smallest, 1, largest} {
		for _, ratio := range []float64{1, 4096} {
			m := must(t)(NewTruncatedLaplace(size, size, ratio*size))
			if m.Bound() != ratio*size || m.bound < m.sigma {
				t.Errorf("the bound %v became %v", ratio*size, m.Bound())
			}
		}
	}
}

// Chi-square of the truncated laws against the exact probabilities, at scales so
// small that every value is a cell: the law given that it is within the bound.
func TestTruncatedLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		noise        Noise
		scale, bound int64
	}{
		{TruncatedGaussian, 1, 1}, {TruncatedGaussian, 3, 4}, {TruncatedGaussian, 20, 45},
		{TruncatedLaplace, 1, 1}, {TruncatedLaplace, 3, 4}, {TruncatedLaplace, 20, 70},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			m := Mechanism{noise: c.noise, sigma: c.scale, bound: c.bound}
			s, counts := seeded(uint64(c.scale)), map[int64]int{}
			const trials = 100_000
			for range trials {
				counts[m.draw(s)]++
			}
			checkCounts(t, counts, trials, normalised(c.bound, func(n float64) float64 {
				z := math.Abs(n) / float64(c.scale)
				if c.noise == TruncatedGaussian {
					z *= z / 2
				}
				return math.Exp(-z)
			}))
			for n := range counts {
				if max(n, -n) > c.bound {
					t.Errorf("%d is out of bounds", n)
				}
			}
		})
	}
}

// At the scale of real mechanisms no answer is ever out of bounds, and the ends
// are reached.
func TestTruncatedAnswer(t *testing.T) {
	const dim = 100_000
	for _, law := range laws[2:] {
		m := must(t)(law.make(1, 3))
		s := m.NewSum(1, dim)
		s.Add(make([]float64, dim))
		most := 0.0
		for _, v := range NewSeededNoise(5).Answer(m, []Sum{s}).Sum {
			most = max(most, math.Abs(v))
		}
		// Less than 0.9 of the bound throughout: probability below e^-25.
		if most > m.Bound() || most < 0.9*m.Bound() {
			t.Errorf("%s: the largest of %d draws is %v, the bound %v", law.noise, dim, most, m.Bound())
		}
	}
}
