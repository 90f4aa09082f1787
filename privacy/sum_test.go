package privacy

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// squaredNorm is the slow twin of longer: sum v_j^2 without a limit.
func squaredNorm(v []int64) *big.Int {
	sum := new(big.Int)
	for _, n := range v {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(n)))
	}
	return sum
}

func square(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(n)) }

// difference is a - b, coordinate by coordinate.
func difference(a, b []int64) []int64 {
	d := make([]int64, len(a))
	for j := range a {
		d[j] = a[j] - b[j]
	}
	return d
}

// hostile are the numbers most likely to break floating-point code.
var hostile = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 1e300, -1e300,
	5e-324, -5e-324, 1e-310, 0x1p-1022, 0, math.Copysign(0, -1), 1, -1, 1e-160, 1e160,
	math.Nextafter(1, 2), math.Nextafter(1, 0), 0x1p63, 0x1p64, 0x1p-52,
}

// randomGradient has hostile coordinates, ordinary ones, or a mix, at any scale.
func randomGradient(rng *rand.Rand, dim int, scale float64) []float64 {
	g := make([]float64, dim)
	mode := rng.IntN(4)
	same := hostile[rng.IntN(len(hostile))]
	for j := range g {
		switch {
		case mode == 0:
			g[j] = same
		case mode == 1 && rng.IntN(3) == 0:
			g[j] = hostile[rng.IntN(len(hostile))]
		case mode == 2:
			g[j] = math.Float64frombits(rng.Uint64())
		default:
			g[j] = rng.NormFloat64() * scale
		}
	}
	return g
}

// quantised returns the record's contribution in grid units.
func quantised(m Mechanism, g []float64) []int64 {
	v := make([]int64, len(g))
	m.quantise(v, g)
	return v
}

// The one property the guarantee rests on: whatever the gradient, the record's
// contribution is at most the clip in exact integer arithmetic.
func TestContributionIsAtMostTheClip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for range 20_000 {
		m, clip, _ := randomMechanism(t, rng)
		g := randomGradient(rng, 1+rng.IntN(40), clip*math.Exp(rng.NormFloat64()*3))
		if v := quantised(m, g); squaredNorm(v).Cmp(square(m.clip)) > 0 {
			t.Fatalf("%+v: gradient %v contributes %v, over the clip", m, g, v)
		}
	}
}

// exactContribution is the slow twin of quantise: finite coordinates, scaled in
// 320 bits by min(1, clip/norm), in grid units, not rounded.
func exactContribution(m Mechanism, g []float64) []*big.Float {
	norm := exact(0)
	for _, x := range g {
		norm = add(norm, mul(exact(finite(x)), exact(finite(x))))
	}
	norm = exact(0).Sqrt(norm)
	factor := exact(math.Ldexp(1, -m.grid))
	if norm.Cmp(exact(m.Clip())) > 0 {
		factor = quo(exact(float64(m.clip)), norm)
	}
	v := make([]*big.Float, len(g))
	for j, x := range g {
		v[j] = mul(exact(finite(x)), factor)
	}
	return v
}

// Clipping is accurate: no coordinate is further from zero than the exact one
// (but for float64 rounding), none is two units or more nearer to it.
func TestContributionAgainstExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 5000 {
		m, clip, _ := randomMechanism(t, rng)
		g := randomGradient(rng, 1+rng.IntN(20), clip*math.Exp(rng.NormFloat64()))
		for j, want := range exactContribution(m, g) {
			got := quantised(m, g)[j]
			size, _ := exact(0).Abs(want).Float64()
			gap, _ := sub(exact(size), exact(math.Abs(float64(got)))).Float64()
			rounding := size * 1e-14
			if gap < -rounding || gap >= 2+rounding || float64(got)*float64(want.Sign()) < 0 {
				t.Fatalf("%+v: gradient %v, coordinate %d is %d, want %v", m, g, j, got, want)
			}
		}
	}
}

// A gradient inside the clip is only truncated, to the last bit.
func TestShortGradientIsTruncated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for range 5000 {
		m, clip, _ := randomMechanism(t, rng)
		g := make([]float64, 1+rng.IntN(20))
		for j := range g {
			g[j] = clip * rng.NormFloat64() / (6 * float64(len(g)))
		}
		for j, want := range exactContribution(m, g) {
			units, _ := want.Int64() // truncates
			if got := quantised(m, g)[j]; got != units {
				t.Fatalf("%+v: %v is %d units, want %d", m, g[j], got, units)
			}
		}
	}
}

func TestLongerAgainstBigInt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	for range 20_000 {
		v := make([]int64, 1+rng.IntN(50))
		bits := 1 + rng.IntN(44)
		for j := range v {
			v[j] = rng.Int64N(1<<bits) - 1<<(bits-1)
		}
		// Bounds just above, at and below the norm are the hard ones.
		root := new(big.Int).Sqrt(squaredNorm(v)).Int64()
		for bound := max(0, root-2); bound <= root+2; bound++ {
			if got, want := longer(v, bound), squaredNorm(v).Cmp(square(bound)) > 0; got != want {
				t.Fatalf("longer(%v, %d) = %v", v, bound, got)
			}
		}
	}
	for _, c := range []struct {
		v     []int64
		bound int64
		want  bool
	}{{[]int64{3, -4}, 5, false}, {[]int64{3, -4}, 4, true}, {nil, 0, false}, {[]int64{-maxClip}, maxClip, false}, {[]int64{-maxClip, 1}, maxClip, true}} {
		if got := longer(c.v, c.bound); got != c.want {
			t.Errorf("longer(%v, %d) = %v", c.v, c.bound, got)
		}
	}
}

// Shrinking repairs any small excess in few passes and never turns a sign.
func TestShrink(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for range 2000 {
		v := make([]int64, 1+rng.IntN(50))
		for j := range v {
			v[j] = rng.Int64N(1<<40) - 1<<39
		}
		before := append([]int64(nil), v...)
		bound := new(big.Int).Sqrt(squaredNorm(v)).Int64() - 3
		passes := 0
		for ; longer(v, bound); passes++ {
			shrink(v)
		}
		if passes > 5 {
			t.Errorf("%d passes for an excess of 4 units", passes)
		}
		for j := range v {
			if low, high := min(0, before[j]), max(0, before[j]); v[j] < low || v[j] > high {
				t.Fatalf("coordinate %d went from %d to %d", j, before[j], v[j])
			}
		}
	}
}

// Replacing one record moves the integer sum by at most twice the clip.
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
		if got := squaredNorm(difference(a.total, b.total)); got.Cmp(square(2*m.clip)) > 0 {
			t.Fatalf("%+v: one record moved the sum by the square root of %v", m, got)
		}
		if a.Slots() != b.Slots() || a.Slots() != records {
			t.Errorf("%d and %d slots for %d records", a.Slots(), b.Slots(), records)
		}
	}
}

// Deleting a record is a replacement too: the slot stays.
func TestEmptySlot(t *testing.T) {
	m := mustGaussian(t, 1, 3)
	with, without := m.NewSum(4, 2), m.NewSum(4, 2)
	with.Add([]float64{0.6, -0.8})
	with.Add([]float64{30, 40})
	without.Add([]float64{0.6, -0.8})
	without.AddEmpty()
	if with.Slots() != 2 || without.Slots() != 2 || with.Cohort() != 4 {
		t.Errorf("slots %d and %d, cohort %d", with.Slots(), without.Slots(), with.Cohort())
	}
	if squaredNorm(difference(with.total, without.total)).Cmp(square(m.clip)) > 0 {
		t.Error("an empty slot is further from a record than the clip")
	}
}

// A full sum at the largest clip stays inside an int64 and takes no more.
func TestFullSum(t *testing.T) {
	m := Mechanism{clip: maxClip, sigma: 1 << 30}
	s := m.NewSum(1, 1)
	for range MaxSlots + 10 {
		s.Add([]float64{math.MaxFloat64})
	}
	s.AddEmpty()
	if s.Slots() != MaxSlots {
		t.Errorf("%d slots, want %d", s.Slots(), MaxSlots)
	}
	if got, most := s.total[0], int64(MaxSlots)*maxClip; got > most || got < most-2*MaxSlots {
		t.Errorf("the sum is %d, want just under %d", got, most)
	}
}

func TestAddWrongLength(t *testing.T) {
	mustPanic(t, "a gradient of the wrong length", func() {
		s := mustGaussian(t, 1, 1).NewSum(1, 3)
		s.Add([]float64{1, 2})
	})
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
	s := mustGaussian(t, 1, 3).NewSum(1, 30)
	g := randomGradient(rand.New(rand.NewPCG(1, 9)), 30, 1)
	if n := testing.AllocsPerRun(100, func() { s.Add(g) }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}

func FuzzContribution(f *testing.F) {
	for _, h := range hostile {
		f.Add(1.0, 3.0, binary.LittleEndian.AppendUint64(nil, math.Float64bits(h)))
	}
	f.Add(1e-150, 1e-150, make([]byte, 64))
	f.Fuzz(func(t *testing.T, clip, sigma float64, data []byte) {
		m, err := NewGaussian(clip, sigma)
		if err != nil {
			return
		}
		var g []float64
		for ; len(data) >= 8; data = data[8:] {
			g = append(g, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		if v := quantised(m, g); squaredNorm(v).Cmp(square(m.clip)) > 0 {
			t.Errorf("%+v: gradient %v contributes %v", m, g, v)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	s := mustGaussian(b, 1, 3).NewSum(1, 30)
	g := make([]float64, 30)
	for j := range g {
		g[j] = float64(j) / 30
	}
	for b.Loop() {
		s.slots = 0 // never full
		s.Add(g)
	}
}
