package privacy

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// norm is the slow twin of longerL1 and longerL2, without a limit: the l1 norm
// under the Laplace laws, the SQUARE of the l2 norm otherwise.
func norm(m Mechanism, v []int64) *big.Int {
	sum := new(big.Int)
	for _, n := range v {
		size := new(big.Int).Abs(big.NewInt(n))
		sum.Add(sum, power(m, size))
	}
	return sum
}

// power is n under the Laplace laws, n^2 otherwise.
func power(m Mechanism, n *big.Int) *big.Int {
	if m.noise == Laplace || m.noise == TruncatedLaplace {
		return n
	}
	return new(big.Int).Mul(n, n)
}

// within reports whether v is no longer than bound in the norm of m's clip.
func within(m Mechanism, v []int64, bound int64) bool {
	return norm(m, v).Cmp(power(m, big.NewInt(bound))) <= 0
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
	for i := range 10_000 {
		m, clip, _ := randomMechanism(t, rng)
		dim := 1 + rng.IntN(40)
		if i%1000 == 0 {
			dim = 100_000
		}
		g := randomGradient(rng, dim, clip*math.Exp(rng.NormFloat64()*3))
		if v := quantised(m, g); !within(m, v, m.clip) {
			t.Fatalf("%+v: a gradient of %d coordinates contributes more than the clip", m, dim)
		}
	}
}

// A norm of many terms added up in floating point can come out too small, so that a
// vector over the clip is taken for one inside it: integers are what catches it.
func TestRoundedNormIsCaught(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 12))
	caught := 0
	for range 30 {
		g := make([]float64, 1<<15)
		for j, n := 0, float64(rng.IntN(1<<26)); j < len(g); j++ {
			g[j] = n
		}
		g[0] += float64(rng.IntN(1 << 26))
		sum, rounded := int64(0), 0.0
		for _, x := range g {
			sum += int64(x)
			rounded += x / g[0]
		}
		m := Mechanism{noise: Laplace, clip: sum - 1, sigma: 1 << 29} // a unit is 1
		if rounded*g[0] <= m.Clip() {
			caught++
		}
		if !within(m, quantised(m, g), m.clip) {
			t.Fatalf("%+v: a contribution is over the clip", m)
		}
	}
	if caught == 0 {
		t.Error("no norm came out too small, that is no test")
	}
}

// exactContribution is the slow twin of quantise: finite coordinates, scaled in
// 320 bits by min(1, clip/norm), in grid units, not rounded.
func exactContribution(m Mechanism, g []float64) []*big.Float {
	wide := func(x float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(x) }
	size := wide(0)
	for _, x := range g {
		x := wide(math.Abs(finite(x)))
		if !m.l1() {
			x.Mul(x, x)
		}
		size.Add(size, x)
	}
	if !m.l1() {
		size.Sqrt(size)
	}
	factor := wide(math.Ldexp(1, -m.grid))
	if size.Cmp(wide(m.Clip())) > 0 {
		factor.Quo(wide(float64(m.clip)), size)
	}
	v := make([]*big.Float, len(g))
	for j, x := range g {
		v[j] = wide(finite(x))
		v[j].Mul(v[j], factor)
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
		got := quantised(m, g)
		for j, want := range exactContribution(m, g) {
			signed := new(big.Float).SetInt64(got[j])
			size, _ := want.Float64()
			size = math.Abs(size)
			gap, _ := signed.Sub(want, signed).Float64()
			if want.Signbit() {
				gap = -gap
			}
			rounding := size * 1e-14
			if gap < -rounding || gap >= 2+rounding || float64(got[j])*float64(want.Sign()) < 0 {
				t.Fatalf("%+v: gradient %v, coordinate %d is %d, want %v", m, g, j, got[j], want)
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
		got := quantised(m, g)
		for j, want := range exactContribution(m, g) {
			if units, _ := want.Int64(); got[j] != units { // Int64 truncates
				t.Fatalf("%+v: %v is %d units, want %d", m, g[j], got[j], units)
			}
		}
	}
}

func TestLongerAgainstBigInt(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 6))
	l1, l2 := Mechanism{noise: Laplace}, Mechanism{noise: Gaussian}
	for range 4000 {
		v := make([]int64, 1+rng.IntN(50))
		bits := 1 + rng.IntN(44)
		for j := range v {
			v[j] = rng.Int64N(1<<bits) - 1<<(bits-1)
		}
		// Bounds just above, at and below the norm are the hard ones.
		size, root := norm(l1, v).Int64(), new(big.Int).Sqrt(norm(l2, v)).Int64()
		for off := int64(-2); off <= 2; off++ {
			if bound := max(0, size+off); longerL1(v, bound) == within(l1, v, bound) {
				t.Fatalf("longerL1(%v, %d) = %v", v, bound, longerL1(v, bound))
			}
			if bound := max(0, root+off); longerL2(v, bound) == within(l2, v, bound) {
				t.Fatalf("longerL2(%v, %d) = %v", v, bound, longerL2(v, bound))
			}
		}
	}
	for _, c := range []struct {
		v      []int64
		bound  int64
		l1, l2 bool
	}{
		{[]int64{3, -4}, 5, true, false}, {[]int64{3, -4}, 4, true, true}, {[]int64{3, -4}, 7, false, false}, {nil, 0, false, false},
		{[]int64{-maxClip}, maxClip, false, false}, {[]int64{-maxClip, 1}, maxClip, true, true},
		{[]int64{1 << 61, 1 << 61, 1 << 61, 1 << 61, 1 << 61}, maxClip, true, true}, // would wrap around
	} {
		if longerL1(c.v, c.bound) != c.l1 || longerL2(c.v, c.bound) != c.l2 {
			t.Errorf("%v over %d: l1 %v, l2 %v", c.v, c.bound, longerL1(c.v, c.bound), longerL2(c.v, c.bound))
		}
	}
}

// Shrinking repairs any small excess in few passes and never turns a sign.
func TestShrink(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	m := Mechanism{noise: Gaussian}
	for range 2000 {
		v := make([]int64, 1+rng.IntN(50))
		for j := range v {
			v[j] = rng.Int64N(1<<40) - 1<<39
		}
		before := append([]int64(nil), v...)
		bound := new(big.Int).Sqrt(norm(m, v)).Int64() - 3
		passes := 0
		for ; longerL2(v, bound); passes++ {
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

func FuzzContribution(f *testing.F) {
	for i, h := range hostile {
		f.Add(uint(i), 1.0, 3.0, binary.LittleEndian.AppendUint64(nil, math.Float64bits(h)))
	}
	f.Add(uint(1), 1e-150, 1e-150, make([]byte, 64))
	f.Fuzz(func(t *testing.T, law uint, clip, scale float64, data []byte) {
		m, err := laws[law%uint(len(laws))].make(clip, scale)
		if err != nil {
			return
		}
		g := numbers(data)
		want := quantised(m, g)
		if !within(m, want, m.clip) {
			t.Errorf("%+v: gradient %v contributes %v", m, g, want)
		}
		sum := m.NewSum(1, len(g))
		sum.Add(g)
		if got := sum.total; m.slots == 0 && !slices.Equal(got, want) {
			t.Errorf("%+v: gradient %v adds %v, want %v", m, g, got, want)
		}
	})
}

// numbers reads data as float64 values.
func numbers(data []byte) []float64 {
	var v []float64
	for ; len(data) >= 8; data = data[8:] {
		v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return v
}

// Adding in one pass is adding what quantise writes, for every gradient.
func TestAddIsQuantise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 21))
	for i := range 5000 {
		m, clip, _ := randomMechanism(t, rng)
		dim, spread := 1+rng.IntN(20), 2.0
		if i%250 == 0 {
			dim, spread = 100_000, 0.1 // norms near the clip
			clip /= math.Sqrt(float64(dim))
		}
		sum, want := m.NewSum(1, dim), []int64(nil)
		for range 1 + rng.IntN(4) {
			g := randomGradient(rng, dim, clip*math.Exp(rng.NormFloat64()*spread))
			sum.Add(g)
			if want == nil {
				want = make([]int64, len(g))
			}
			add(want, quantised(m, g))
		}
		got := sum.total
		if m.slots > 0 {
			got = make([]int64, len(want))
			for at := 0; at < len(sum.records); at += len(want) {
				add(got, sum.records[at:at+len(want)])
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: sum %v, want %v", m, got, want)
		}
	}
}

// What is said to be well inside the clip is at most the clip in exact arithmetic,
// also where the norm is close to it and where rounding adds up over many terms.
func TestInsideIsAtMostTheClip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 22))
	seen := 0
	for i := range 5000 {
		m, clip, _ := randomMechanism(t, rng)
		dim := 1 + rng.IntN(40)
		if i%500 == 0 {
			dim = 1 << 17
		}
		g := randomGradient(rng, dim, clip/math.Sqrt(float64(dim)))
		if n := math.Sqrt(sumOfSquares(g)); i%2 == 0 && n > 0 {
			for j := range g { // just below the margin, from either side
				g[j] *= clip / n * (1 - 0x1p-20*(0.999+0.002*rng.Float64()))
			}
		}
		f, ordinary, inside := m.factor(g)
		if !inside {
			continue
		}
		seen++
		v := make([]int64, dim)
		addInside(v, g, f)
		if !ordinary || !within(m, v, m.clip) {
			t.Fatalf("%+v: %d coordinates inside the clip contribute more than it", m, dim)
		}
	}
	if seen < 100 {
		t.Errorf("only %d gradients inside, that is no test", seen)
	}
}

// One unit, the last, goes too, or a pass would end without getting shorter.
func TestShrinkTakesTheLastUnit(t *testing.T) {
	v := []int64{3, 1, 0, -1, -3}
	if shrink(v); !slices.Equal(v, []int64{2, 0, 0, 0, -2}) {
		t.Errorf("it becomes %v", v)
	}
}

// addsAlike checks that AddRows adds what Add of the product does, alone and among
// other rows, and reports whether it does so without writing the product out.
func addsAlike(t *testing.T, m Mechanism, scale float64, x []float64) (taken bool) {
	t.Helper()
	product := make([]float64, len(x))
	for j, v := range x {
		product[j] = scale * v
	}
	var rows Rows
	for n := range 4 {
		rows.Empty()
		sum, plain := m.NewSum(1, len(x)), m.NewSum(1, len(x))
		for k := range n {
			rows.Put(x)
			if k == 0 {
				plain.Add(product)
			} else {
				plain.AddEmpty(product)
			}
		}
		rows.Multiply(x, 0, n)
		for k := range n {
			rows.Scale(k, scale, k == 0)
		}
		if sum.AddRows(&rows); !slices.Equal(sum.total, plain.total) || sum.slots != plain.slots || !slices.Equal(sum.records, plain.records) {
			t.Errorf("%+v: %v times %v adds %v in %d slots, %d rows; want %v in %d", m, scale, x, sum.total, sum.slots, n, plain.total, plain.slots)
		}
		taken = sum.inside.surely(scale, rows.products[0].Squares)
	}
	return taken
}

// A gradient that is a number times the features adds the same integers in one pass as
// when it is written down first, at every scale and with hostile numbers; and one pass does
// for nearly all that are well inside the clip.
func TestAddRowsIsAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 22))
	inside, taken := 0, 0
	for i := range 20_000 {
		m, clip, _ := randomMechanism(t, rng)
		dim := 1 + rng.IntN(20)
		if i%1000 == 0 {
			dim = 100_000
		}
		x := randomGradient(rng, dim, math.Exp(rng.NormFloat64()*3))
		scale := rng.NormFloat64() * clip / math.Sqrt(sumOfSquares(x)) // often near the clip
		if i%10 == 0 {
			scale = hostile[rng.IntN(len(hostile))]
		}
		did := addsAlike(t, m, scale, x)
		size := math.Sqrt(sumOfSquares(x))
		usual := func(v float64) bool { return v > 0x1p-390 && v < 0x1p390 }
		if norm := math.Abs(scale) * size; norm < .99*m.Clip() && usual(norm) && usual(size) && usual(math.Abs(scale)) && !m.l1() && m.slots == 0 {
			inside++
			taken += boolInt(did)
		}
	}
	if inside < 1000 || taken < inside {
		t.Errorf("%d of %d inside the clip were added in one pass", taken, inside)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// At the clip itself, and within a few roundings of where the one pass gives up.
func TestAddRowsNearTheClip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 23))
	for range 2000 {
		m, clip, _ := randomMechanism(t, rng)
		x := randomGradient(rng, 1+rng.IntN(20), 1)
		for _, margin := range []float64{0, 0x1p-21, 0x1p-20, 0x1p-19, 0x1p-18} {
			scale := clip * (1 - margin) / math.Sqrt(sumOfSquares(x))
			for range 4 {
				addsAlike(t, m, scale, x)
				scale = math.Nextafter(scale, 0)
			}
		}
	}
}

func FuzzAddRows(f *testing.F) {
	for i, h := range hostile {
		f.Add(uint(i), 1.0, 3.0, h, binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.5)))
	}
	f.Fuzz(func(t *testing.T, law uint, clip, noise, scale float64, data []byte) {
		m, err := laws[law%uint(len(laws))].make(clip, noise)
		if err != nil {
			return
		}
		addsAlike(t, m, scale, numbers(data))
	})
}
