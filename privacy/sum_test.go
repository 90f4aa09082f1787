package privacy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// difference is a - b, coordinate by coordinate.
func difference(a, b []int64) []int64 {
	d := make([]int64, len(a))
	for j := range a {
		d[j] = a[j] - b[j]
	}
	return d
}

// Replacing one record moves the integer sum by at most the sensitivity.
func TestNeighbouringSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for range 500 {
		m, clip, _ := randomMechanism(t, rng)
		dim, records := 1+rng.IntN(20), 1+rng.IntN(30)
		a, b := m.NewSum(1, dim), m.NewSum(1, dim)
		replaced := rng.IntN(records)
		for i := range records {
			g := randomGradient(rng, dim, clip*3)
			a.Add(g)
			if i == replaced {
				for j := range g { // the worst replacement is the opposite
					g[j] = -g[j]
				}
			}
			b.Add(g)
		}
		if !within(m, difference(a.total, b.total), m.sensitivity()) {
			t.Fatalf("%+v: one record moved the sum by more than the sensitivity", m)
		}
		if a.Slots() != b.Slots() || a.Slots() != records {
			t.Errorf("%d and %d slots for %d records", a.Slots(), b.Slots(), records)
		}
	}
}

// learnerGradient is what a learner computes from one record (x, y) at a model
// that hostile neighbours have a hand in: (theta.x - y) x, and the l2 pull
// toward a neighbour, in plain floating point that may overflow to anything.
func learnerGradient(x []float64, y float64, theta, neighbour []float64) []float64 {
	residual := -y
	for j := range x {
		residual += theta[j] * x[j]
	}
	g := make([]float64, len(x))
	for j := range x {
		g[j] = residual*x[j] + 0.1*(theta[j]-neighbour[j])
	}
	return g
}

// From end to end: whatever model the neighbours send, the whole answer for two
// data sets that differ in one record, noise and batch being the same, differs by
// at most the sensitivity. So nothing they choose makes a record stand out.
func TestHostileModelCannotMoveAnAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 11))
	for seed := range uint64(400) {
		m := must(t)(laws[seed%4].make(1, 3))
		if seed%3 == 0 {
			m = must(t)(m.Subsampled(2, 3))
		}
		dim, records := 1+rng.IntN(12), 1+rng.IntN(40)
		theta, neighbour := randomGradient(rng, dim, 1e3), randomGradient(rng, dim, 1e3)
		a, b := m.NewSum(1, dim), m.NewSum(1, dim)
		replaced := rng.IntN(records)
		for i := range records {
			x, y := randomGradient(rng, dim, 1), rng.NormFloat64()
			a.Add(learnerGradient(x, y, theta, neighbour))
			if i == replaced {
				x, y = randomGradient(rng, dim, 1e6), -1e300
			}
			b.Add(learnerGradient(x, y, theta, neighbour))
		}
		left, right := NewSeededNoise(seed).Answer(m, []Sum{a}), NewSeededNoise(seed).Answer(m, []Sum{b})
		if !within(m, difference(units(t, m, left), units(t, m, right)), m.sensitivity()) {
			t.Fatalf("%+v: one record moved the answer by more than the sensitivity", m)
		}
		if left.Slots != right.Slots {
			t.Errorf("%d and %d slots", left.Slots, right.Slots)
		}
	}
}

// units returns an answer in whole grid units and fails if it is off the grid.
func units(t *testing.T, m Mechanism, a Answer) []int64 {
	t.Helper()
	v := make([]int64, len(a.Sum))
	for j, x := range a.Sum {
		n := math.Ldexp(x, -m.grid)
		if n != math.Trunc(n) || math.Abs(n) >= 1<<53 {
			t.Fatalf("%v is no exact number of grid units", x)
		}
		v[j] = int64(n)
	}
	return v
}

// Deleting a record is a replacement too: the slot stays.
func TestEmptySlot(t *testing.T) {
	for _, law := range laws {
		m := must(t)(law.make(1, 3))
		with, without := m.NewSum(4, 2), m.NewSum(4, 2)
		with.Add([]float64{0.6, -0.8})
		with.Add([]float64{30, 40})
		without.Add([]float64{0.6, -0.8})
		without.AddEmpty([]float64{30, 40})
		if with.Slots() != 2 || without.Slots() != 2 || with.Cohort() != 4 {
			t.Errorf("slots %d and %d, cohort %d", with.Slots(), without.Slots(), with.Cohort())
		}
		if !within(m, difference(with.total, without.total), m.clip) {
			t.Errorf("%s: an empty slot is further from a record than the clip", law.noise)
		}
	}
}

// A full sum at the largest clip stays inside an int64 and takes no more.
func TestFullSum(t *testing.T) {
	m := Mechanism{noise: Gaussian, clip: maxClip, sigma: 1 << 30}
	for _, g := range []float64{math.MaxFloat64, 1e20, maxClip, maxClip / 2} { // extreme, clipped, just inside, well inside
		s := m.NewSum(1, 1)
		for range MaxSlots + 10 {
			s.Add([]float64{g})
		}
		s.AddEmpty([]float64{1})
		if s.Slots() != MaxSlots {
			t.Errorf("%d slots, want %d", s.Slots(), MaxSlots)
		}
		if got, most := s.total[0], int64(MaxSlots*min(g, maxClip)); got > most || got < most-2*MaxSlots {
			t.Errorf("the sum of %g is %d, want just under %d", g, got, most)
		}
	}
}

func TestSumRefuses(t *testing.T) {
	m := mustGaussian(t, 1, 1)
	bounded := must(t)(m.Bounded(1, 3))
	mustPanic(t, "a gradient of the wrong length", func() {
		s := m.NewSum(1, 3)
		s.Add([]float64{1, 2})
	})
	mustPanic(t, "a sum of records by a bounded mechanism", func() { bounded.NewSum(1, 3) })
	mustPanic(t, "a record in a bounded sum", func() {
		s := bounded.NewBounded(1, 4, []float64{1, 2, 3})
		s.Add([]float64{1, 2, 3})
	})
	mustPanic(t, "a vector by a mechanism that clips records", func() { m.NewBounded(1, 4, []float64{1, 2, 3}) })
	mustPanic(t, "no vector by a mechanism that clips records", func() { m.NewBounded(1, 4, nil) })
	mustPanic(t, "a vector of another dimension", func() { bounded.NewBounded(1, 4, []float64{1, 2}) })
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s is accepted", what)
		}
	}()
	f()
}

func TestAddDoesNotAllocate(t *testing.T) {
	g := randomGradient(rand.New(rand.NewPCG(1, 9)), 30, 1)
	for _, law := range laws {
		s := must(t)(law.make(1, 3)).NewSum(1, 30)
		if n := testing.AllocsPerRun(100, func() { s.Add(g) }); n != 0 {
			t.Errorf("%s: Add allocates %v times", law.noise, n)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	g := make([]float64, 30)
	for j := range g {
		g[j] = float64(j) / 30
	}
	for _, law := range laws[:2] {
		b.Run(string(law.noise), func(b *testing.B) {
			s := must(b)(law.make(1, 3)).NewSum(1, 30)
			for b.Loop() {
				s.slots = 0 // never full
				s.Add(g)
			}
		})
	}
}
