package privacy

import (
	"math"
	"slices"
	"testing"
)

// convolved is the law of the sum of n draws.
func convolved(law map[int64]float64, n int) map[int64]float64 {
	sum := map[int64]float64{0: 1}
	for range n {
		next := make(map[int64]float64)
		for a, p := range sum {
			for b, q := range law {
				next[a+b] += p * q
			}
		}
		sum = next
	}
	return sum
}

// The lemma of partsApart, at scales so small that the laws differ: every probability
// down to 1e-9 is within e^eta, and eta is not loose by orders of magnitude.
func TestPartsAreCloseToOneDraw(t *testing.T) {
	for _, s := range []float64{.5, .6, .8, 1, 1.3} {
		for _, n := range []int{2, 3, 5} {
			scale := s * math.Sqrt(float64(n))
			sum, one := convolved(discreteGaussian(s), n), discreteGaussian(scale)
			eta, worst := partsApart(scale, n), 0.0
			for m, p := range sum {
				if p > 1e-9 {
					worst = max(worst, math.Abs(math.Log(p/one[m])))
				}
			}
			if worst > eta+1e-12 {
				t.Errorf("%d parts of scale %v: a probability is e^%v of that of one draw, the bound is e^%v", n, s, worst, eta)
			}
			if n == 2 && worst < eta/3 {
				t.Errorf("%d parts of scale %v: the bound e^%v is loose, e^%v is reached", n, s, eta, worst)
			}
		}
	}
}

// Parts are charged eta for each coordinate, twice in epsilon; at the sizes of real
// noise that is nothing, and an account is what it is without parts.
func TestPartsAreCharged(t *testing.T) {
	b := Budget{1, 1e-6}
	one, many := charge(b, 3, 32, 1), charge(b, 3, 32, 1600)
	eta := partsApart(32, 1600)
	if eta < 1e-3 || math.Abs(one.Epsilon-many.Epsilon-6*eta) > 1e-12 || many.Delta >= one.Delta {
		t.Errorf("1600 parts leave %+v of %+v, at eta %v", many, one, eta)
	}
	if eta := partsApart(minSigma, maxParts); eta != 0 {
		t.Errorf("the parts of real noise cost %v", eta)
	}
}

// As many parts as a mechanism's noise is drawn in have its variance, and each has
// its share. Tolerance: five standard errors of a variance, false with probability
// 1e-6 a case.
func TestPartsHaveTheNoise(t *testing.T) {
	const dim = 20_000
	m := must(t)(mustGaussian(t, 1, 3).Bounded(1, dim))
	noise := NewSeededNoise(15)
	for _, parts := range []int{1, 3, 5, maxParts} {
		sum := make([]float64, dim)
		for i := range parts {
			square := 0.0
			for j, n := range noise.Part(m, parts) {
				x := float64(n) * m.Unit()
				sum[j] += x
				square += x * x
			}
			if want := m.PartStd(parts) * m.PartStd(parts); math.Abs(square/dim/want-1) > 5*math.Sqrt(2./dim) {
				t.Errorf("part %d of %d has variance %v, want %v", i, parts, square/dim, want)
			}
		}
		square := 0.0
		for _, x := range sum {
			square += x * x
		}
		if want := m.NoiseStd() * m.NoiseStd(); math.Abs(square/dim/want-1) > 5*math.Sqrt(2./dim) {
			t.Errorf("%d parts together have variance %v, want %v", parts, square/dim, want)
		}
	}
}

// A part's scale is the least whole number with which all parts reach sigma.
func TestPartScale(t *testing.T) {
	for _, sigma := range []float64{1, 1.2345, 1.9999999999, 3} {
		m := must(t)(mustGaussian(t, 1, sigma).Bounded(1, 1))
		for parts := 1; parts <= maxParts; parts++ {
			s, n, whole := m.partScale(parts), uint64(parts), uint64(m.sigma)*uint64(m.sigma)
			if s*s*n < whole || (s-1)*(s-1)*n >= whole {
				t.Errorf("sigma %d in %d parts of %d", m.sigma, parts, s)
			}
		}
	}
}

func TestLivePartsDiffer(t *testing.T) {
	m := must(t)(mustGaussian(t, 1, 3).Bounded(1, 8))
	noise := NewLiveNoise()
	if a, b := noise.Part(m, 3), noise.Part(m, 3); slices.Equal(a, b) {
		t.Error("two parts are the same noise")
	}
	if noise.words.left != 0 {
		t.Error("words are left in memory")
	}
}

func TestPartsRefuse(t *testing.T) {
	bounded := must(t)(mustGaussian(t, 1, 3).Bounded(1, 2))
	laplace := must(t)(must(t)(NewLaplace(1, 3)).Bounded(1, 2))
	for name, refused := range map[string]func(){
		"records":      func() { NewSeededNoise(1).Part(mustGaussian(t, 1, 3), 3) },
		"another law":  func() { NewSeededNoise(1).Part(laplace, 3) },
		"no mechanism": func() { Mechanism{}.PartStd(1) },
		"no part":      func() { bounded.PartStd(0) },
		"more parts":   func() { bounded.PartStd(maxParts + 1) },
		"no range":     func() { bounded.Units(make([]float64, 2), 0) },
		"wide range":   func() { bounded.Units(make([]float64, 2), maxBounded+1) },
		"a long one":   func() { bounded.Units(make([]float64, 3), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is accepted")
				}
			}()
			refused()
		})
	}
}

// A public range keeps the distance: it only brings vectors nearer.
func TestUnitsStayInTheirRange(t *testing.T) {
	m := must(t)(mustGaussian(t, 1, 1).Bounded(1, 3))
	got := m.Units([]float64{10, -10, math.NaN()}, 1000)
	if !slices.Equal(got, []int64{1000, -1000, 0}) {
		t.Errorf("units %v", got)
	}
	v := []float64{.25, -3.3, 1e-12}
	if got, want := m.Units(v, maxBounded), m.NewBounded(1, 1, v).total; !slices.Equal(got, want) {
		t.Errorf("units %v, as a sum %v", got, want)
	}
	if m.Unit()*float64(m.sigma) != m.Scale() {
		t.Errorf("a unit of %v", m.Unit())
	}
}
