package privacy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// neighbours returns two vectors about distance apart, in one coordinate or in all,
// and how far apart they are in the norm of m, but for rounding.
func neighbours(rng *rand.Rand, m Mechanism, dim int, scale, distance float64) (a, b []float64, apart float64) {
	a, b = make([]float64, dim), make([]float64, dim)
	sparse := rng.IntN(2) == 0
	for j := range a {
		a[j] = rng.NormFloat64() * scale
		b[j] = a[j]
		if !sparse || j == 0 {
			b[j] += rng.NormFloat64() * distance
		}
		if m.l1() {
			apart += math.Abs(a[j] - b[j])
		} else {
			apart = math.Hypot(apart, a[j]-b[j])
		}
	}
	return a, b, apart
}

// Vectors no further apart than the distance stay so as integers, rounding
// included, at all sizes: some of a few units only, some beyond the limit.
func TestBoundedDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	most := 0.0
	for range 10_000 {
		m, _, scale := randomMechanism(t, rng)
		dim := 1 + rng.IntN(30)
		v, w, apart := neighbours(rng, m, dim, scale*math.Exp2(rng.Float64()*60-33), scale*math.Exp2(-rng.Float64()*32))
		if apart == 0 {
			continue
		}
		m = must(t)(m.Bounded(apart*(1+1e-12), dim))
		moved := difference(m.NewBounded(1, 5, v).total, m.NewBounded(1, 5, w).total)
		if !within(m, moved, m.sensitivity()) {
			t.Fatalf("%+v: %v and %v are %v units apart", m, v, w, moved)
		}
		if size, _ := norm(m, moved).Float64(); m.l1() {
			most = max(most, size/float64(m.sensitivity()))
		}
	}
	if most < 0.99 {
		t.Errorf("only %v of the distance is ever used: the test is weak or the distance loose", most)
	}
}

// What rounding adds is needed: vectors a hair apart can be one unit apart in
// every coordinate.
func TestRoundingDistanceIsNeeded(t *testing.T) {
	const dim = 16
	for _, law := range laws[:2] {
		m := must(t)(law.make(1, 3))
		hair := math.Ldexp(1, m.grid-20)
		m = must(t)(m.Bounded(dim*hair, dim))
		v, w := make([]float64, dim), make([]float64, dim)
		for j := range v {
			v[j] = math.Ldexp(1, m.grid)
			w[j] = v[j] - hair
		}
		a, b := m.NewBounded(1, 1, v), m.NewBounded(1, 1, w)
		apart := difference(a.total, b.total)
		if !within(m, apart, m.sensitivity()) || within(m, apart, m.sensitivity()-2) {
			t.Errorf("%s: a distance of %d units for vectors %v apart", law.noise, m.sensitivity(), apart)
		}
	}
}

// Hostile coordinates are moved into range, in order: never further apart.
func TestBoundedTakesAnything(t *testing.T) {
	for _, law := range laws {
		for _, size := range []float64{smallest, 1, largest} {
			m := must(t)(law.make(size, size))
			m = must(t)(m.Bounded(size, len(hostile)))
			s := m.NewBounded(3, 7, hostile)
			for j, n := range s.total {
				x := hostile[j]
				if max(n, -n) > maxBounded || n != 0 && (n > 0) != (x > 0) || math.IsNaN(x) && n != 0 {
					t.Errorf("%s of size %v: %v became %d", law.noise, size, x, n)
				}
			}
			if s.Cohort() != 3 || s.Slots() != 7 {
				t.Errorf("%d slots of cohort %d", s.Slots(), s.Cohort())
			}
			NewSeededNoise(1).Answer(m, []Sum{s})
		}
	}
	m := must(t)(mustGaussian(t, 1, 1).Bounded(1, 1))
	if s := m.NewBounded(1, 1, []float64{1e9}); s.total[0] != maxBounded {
		t.Errorf("a billion scales are %d units", s.total[0])
	}
	if s := m.NewBounded(1, math.MaxInt, []float64{1}); s.Slots() != MaxSlots {
		t.Errorf("%d slots", s.Slots())
	}
}

// As many sums as a release takes, all at the limit, do not overflow; more are
// left out.
func TestBoundedSumsDoNotOverflow(t *testing.T) {
	m := must(t)(mustGaussian(t, 1, 1).Bounded(1, 2))
	sums := make([]Sum, maxBoundedSums+3)
	for i := range sums {
		sums[i] = m.NewBounded(Cohort(i), 1, []float64{math.MaxFloat64, -math.MaxFloat64})
	}
	a := NewSeededNoise(1).Answer(m, sums)
	if len(a.Cohorts) != maxBoundedSums || a.Slots != maxBoundedSums || slices.Contains(a.Cohorts, Cohort(maxBoundedSums)) {
		t.Errorf("%d sums in one release", len(a.Cohorts))
	}
	want := math.Ldexp(maxBounded*maxBoundedSums, m.grid)
	if math.Abs(a.Sum[0]/want-1) > 1e-6 || math.Abs(a.Sum[1]/-want-1) > 1e-6 {
		t.Errorf("the sum is %v, it has overflowed", a.Sum)
	}
}

// The integer distance is the real one rounded up, and what rounding adds.
func TestBoundedUnits(t *testing.T) {
	for _, c := range []struct {
		noise    func(clip, scale float64) (Mechanism, error)
		distance float64 // scales of 2^29 units
		dim      int
		want     int64
	}{
		{NewGaussian, 1, 1, 1<<29 + 1}, {NewGaussian, 1, 100, 1<<29 + 10}, {NewGaussian, 1, 101, 1<<29 + 11},
		{NewLaplace, 1, 1, 1<<29 + 1}, {NewLaplace, 1, 100, 1<<29 + 100},
		{NewGaussian, 0x1.8p-28, 4, 5}, {NewGaussian, 0x1.4p-28, 4, 5}, {NewLaplace, 5e-324, 1, 2}, {NewGaussian, 1 << 21, 1, 1<<50 + 1},
	} {
		m := must(t)(c.noise(1, 1))
		m = must(t)(m.Bounded(c.distance, c.dim))
		if m.sensitivity() != c.want {
			t.Errorf("%+v: the distance is %d units, want %d", m, m.sensitivity(), c.want)
		}
	}
}

func TestBoundedErrors(t *testing.T) {
	m := mustGaussian(t, 1, 1)
	for _, d := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.Ldexp(maxDistance+1, m.grid), 1<<21 + 1, 1e300} {
		if got, err := m.Bounded(d, 1); err == nil || got != (Mechanism{}) {
			t.Errorf("the distance %v is accepted", d)
		}
	}
	for _, dim := range []int{0, -1, math.MinInt, maxDimension + 1} {
		if _, err := m.Bounded(1, dim); err == nil {
			t.Errorf("the dimension %d is accepted", dim)
		}
	}
}

func FuzzBounded(f *testing.F) {
	for i := range hostile {
		f.Add(uint(i), 1.0, 0.5, hostile[i], hostile[(i+1)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, law uint, scale, distance, x, y float64) {
		m, err := laws[law%uint(len(laws))].make(scale, scale)
		if err != nil {
			return
		}
		if m, err = m.Bounded(distance, 1); err != nil || !(math.Abs(x-y) <= distance*(1-1e-9)) {
			return
		}
		a, b := m.NewBounded(1, 1, []float64{x}), m.NewBounded(1, 1, []float64{y})
		if !within(m, difference(a.total, b.total), m.sensitivity()) {
			t.Errorf("%+v: %v and %v are %d and %d units", m, x, y, a.total[0], b.total[0])
		}
	})
}
