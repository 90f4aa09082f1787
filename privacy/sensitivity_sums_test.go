package privacy

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// The values of an independent program.
func TestSumsAgainstTheIndependentProgram(t *testing.T) {
	dir := os.Getenv("P2PNODE_SHARED")
	if dir == "" {
		t.Skip("P2PNODE_SHARED does not say where the reference values are")
	}
	data, err := os.ReadFile(filepath.Join(dir, "reference", "sums_golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Sensitivity struct {
			Items  []struct{ A, B, Sens float64 }
			Gram   []struct{ Alpha, R, C, Sens_tight float64 }
			Second []struct {
				C, Rmax, Kappa, Sens_tight float64
				M_min                      int
			}
		}
		Noise struct {
			Mu []struct {
				Epsilon, Delta, Mu float64
				Sd                 []struct{ Sens, Sd float64 }
			}
			Committee []struct {
				S, T   int
				Factor float64
			}
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	compared := 0
	within := func(what string, got, want, tolerance float64) {
		t.Helper()
		compared++
		if !(math.Abs(got-want) <= tolerance*want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	same := func(what string, got, want float64) {
		t.Helper()
		within(what, got, want, 1e-9)
	}
	for _, g := range golden.Sensitivity.Items {
		same("items", ItemsSensitivity(g.A, g.B), g.Sens)
	}
	for _, g := range golden.Sensitivity.Gram {
		same("gram", GramSensitivity(g.Alpha, g.R, g.C), g.Sens_tight)
	}
	for _, g := range golden.Sensitivity.Second {
		same("moments", MomentsSensitivity(g.C, g.Rmax, g.Kappa, g.M_min), g.Sens_tight)
	}
	for _, g := range golden.Noise.Mu {
		mu := Budget{g.Epsilon, g.Delta}.Mu()
		same("mu", mu, g.Mu)
		for _, n := range g.Sd {
			same("sd", n.Sens/mu, n.Sd)
		}
	}
	for _, g := range golden.Noise.Committee {
		m := must(t)(mustGaussian(t, 1, 3).Bounded(1, 1))
		// A part is a whole number of units, 2^28 at least.
		within("committee", m.PartStd(g.S-g.T)*math.Sqrt(float64(g.S))/m.NoiseStd(), g.Factor, 0x1p-28)
	}
	if compared < 30 {
		t.Errorf("only %d values were compared", compared)
	}
}

// svec is the upper triangle of x x' times scale, off the diagonal times sqrt 2.
func svec(x []float64, scale float64) []float64 {
	var v []float64
	for i := range x {
		for j := i; j < len(x); j++ {
			term := scale * x[i] * x[j]
			if i != j {
				term *= math.Sqrt2
			}
			v = append(v, term)
		}
	}
	return v
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

// shorten scales x to at most the length most, in place.
func shorten(x []float64, most float64) []float64 {
	norm := distance(x, make([]float64, len(x)))
	for i := range x {
		if norm > most {
			x[i] *= most / norm
		}
	}
	return x
}

// shortVector is a vector of length at most, and often exactly, most.
func shortVector(rng *rand.Rand, dim int, most float64) []float64 {
	x := make([]float64, dim)
	for i := range x {
		x[i] = most * rng.NormFloat64() * math.Exp2(rng.Float64()*4-2)
	}
	return shorten(x, most)
}

// itemsVector sums votes for keys: at its key a record adds to a count and to a sum.
func itemsVector(keys []int, votes []float64, count, vote float64) []float64 {
	v := make([]float64, 6)
	for i, k := range keys {
		if k < 0 {
			continue // an empty slot
		}
		v[k] += min(max(votes[i], -vote), vote)
		v[k+3] += count
	}
	return v
}

// Random people, several votes for a key, empty slots, colliding keys; a record is
// replaced by any other.
func TestItemsSensitivityHoldsAndIsReached(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	for _, c := range []struct{ count, vote float64 }{{.75, .75}, {1, .75}, {.3, 1.5}, {2, .1}} {
		d, most := ItemsSensitivity(c.count, c.vote), 0.0
		for range 20_000 {
			keys, votes := make([]int, 5), make([]float64, 5)
			for i := range keys {
				keys[i], votes[i] = rng.IntN(4)-1, rng.NormFloat64()*3
			}
			before := itemsVector(keys, votes, c.count, c.vote)
			i := rng.IntN(len(keys))
			keys[i], votes[i] = rng.IntN(4)-1, rng.NormFloat64()*3
			most = max(most, distance(before, itemsVector(keys, votes, c.count, c.vote)))
		}
		if most > d || most < .999*d {
			t.Errorf("%+v: the vector moves by %v, the sensitivity is %v", c, most, d)
		}
	}
}

// gramRecord is what one record adds, of which the label gives these numbers.
func gramRecord(x []float64, alpha float64, label ...float64) []float64 {
	v := svec(x, alpha)
	for _, y := range label {
		for _, xi := range x {
			v = append(v, y*xi)
		}
	}
	return v
}

// Pairs at every angle and length, two thirds of them at the bounds.
func TestGramSensitivityHoldsAndIsReached(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	for _, c := range []struct{ alpha, radius, target float64 }{{.3, 3.2, .5}, {.1, 3.2, .5}, {1, 1, 1}, {.5, math.Sqrt2, 2}, {2, 1, 1}} {
		d, most := GramSensitivity(c.alpha, c.radius, c.target), 0.0
		for range 50_000 {
			angle := rng.Float64() * math.Pi
			p, q := c.radius*min(1, rng.Float64()*3), c.radius*min(1, rng.Float64()*3)
			y, z := c.target*min(1, rng.Float64()*3), -c.target*min(1, rng.Float64()*3)
			one, other := []float64{p, 0}, []float64{q * math.Cos(angle), q * math.Sin(angle)}
			most = max(most, distance(gramRecord(one, c.alpha, y), gramRecord(other, c.alpha, z)))
			turn, turned := 2*math.Pi*rng.Float64(), 2*math.Pi*rng.Float64() // labels of two numbers
			several := distance(gramRecord(one, c.alpha, y*math.Cos(turn), y*math.Sin(turn)), gramRecord(other, c.alpha, z*math.Cos(turned), z*math.Sin(turned)))
			most = max(most, several)
		}
		if most > d || most < .999*d {
			t.Errorf("%+v: the vector moves by %v, the sensitivity is %v", c, most, d)
		}
	}
}

// momentsVector is what a device with the vectors vs adds.
func momentsVector(vs [][]float64, most, half float64) []float64 {
	m := float64(len(vs))
	r := make([]float64, len(vs[0]))
	for _, v := range vs {
		for i := range r {
			r[i] += v[i] / m
		}
	}
	w := m / (m + half)
	total := svec(shorten(r, most), w)
	for _, v := range vs {
		for i, term := range svec(v, w/(m*m)) {
			total[i] -= term
		}
	}
	return total
}

// search climbs: records are replaced and moved as long as that moves the device's
// vector further.
func momentsMoved(rng *rand.Rand, m int, clip, most, half float64, steps int) float64 {
	vs := make([][]float64, m)
	for i := range vs {
		vs[i] = shortVector(rng, 2, clip)
	}
	other := shortVector(rng, 2, clip)
	moved := func() float64 {
		before := momentsVector(vs, most, half)
		vs[0], other = other, vs[0]
		defer func() { vs[0], other = other, vs[0] }()
		return distance(before, momentsVector(vs, most, half))
	}
	best := moved()
	for range steps {
		i := rng.IntN(m + 1)
		kept, keptOther := vs[i%m], other
		fresh := shortVector(rng, 2, clip)
		if i == m {
			other = fresh
		} else {
			vs[i] = fresh
		}
		if d := moved(); d >= best {
			best = d
		} else {
			vs[i%m], other = kept, keptOther
		}
	}
	return best
}

// Hill climbing over all of a device's records. The bound adds up two terms whose
// extremes differ in direction, so it is near and not reached.
func TestMomentsSensitivityHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	for _, c := range []struct {
		clip, most, half float64
		least            int
	}{{2.6, .6, 200, 10}, {1, .3, 20, 3}, {1, 1, 0, 2}, {2.9, .8, 60, 10}} {
		d, most := MomentsSensitivity(c.clip, c.most, c.half, c.least), 0.0
		for m := c.least; m < c.least+4; m++ {
			for range 20 {
				most = max(most, momentsMoved(rng, m, c.clip, c.most, c.half, 400))
			}
		}
		if most > d || most < .6*d {
			t.Errorf("%+v: the vector moves by %v, the sensitivity is %v", c, most, d)
		}
	}
}

// Fewer records than the sensitivity is for break it: a device with so few must send zero.
func TestMomentsSensitivityNeedsItsLeastRecords(t *testing.T) {
	rng, moved := rand.New(rand.NewPCG(15, 4)), 0.0
	for range 20 {
		moved = max(moved, momentsMoved(rng, 2, 2.6, .6, 20, 400))
	}
	if d := MomentsSensitivity(2.6, .6, 20, 100); moved <= d {
		t.Errorf("two records move the vector by %v only, with a sensitivity of %v for 100", moved, d)
	}
}

// H against every pair in the plane, on a grid.
func TestOuterDistance(t *testing.T) {
	for _, d := range []float64{.05, .3, .7, .9, 1.1, 1.3, 1.5, 2} {
		most := 0.0
		for a := 0.0; a <= 1; a += .025 {
			for b := 0.0; b <= 1; b += .025 {
				for k := range 200 {
					angle := math.Pi * float64(k) / 200
					r, s := []float64{a, 0}, []float64{b * math.Cos(angle), b * math.Sin(angle)}
					if distance(r, s) <= d+1e-9 {
						most = max(most, distance(svec(r, 1), svec(s, 1)))
					}
				}
			}
		}
		if h := outerDistance(1, d); most > h*(1+1e-7) || most < .93*h {
			t.Errorf("at distance %v: %v is reached, H is %v", d, most, h)
		}
	}
}

// The search over m ends at the largest value of the formula.
func TestMomentsSensitivityIsTheLargestOfAll(t *testing.T) {
	for _, c := range []struct {
		clip, most, half float64
		least            int
	}{{2.6, .6, 200, 10}, {1, .6, 200, 10}, {1, .3, 20, 3}, {1, 1, 0, 2}, {8, .1, 1000, 1}} {
		best := 0.0
		for m := c.least; m < c.least+100_000; m++ {
			n := float64(m)
			best = max(best, n/(n+c.half)*(outerDistance(c.most, 2*c.clip/n)+math.Sqrt2*c.clip*c.clip/(n*n)))
		}
		if got := MomentsSensitivity(c.clip, c.most, c.half, c.least); !(math.Abs(got-best) <= 1e-12*best) {
			t.Errorf("%+v: %v, the largest is %v", c, got, best)
		}
	}
}

func FuzzSumSensitivities(f *testing.F) {
	f.Add(uint64(1), .75, .75, 3)
	f.Add(uint64(2), .3, 3.2, 10)
	f.Add(uint64(3), 2.6, .6, 2)
	f.Fuzz(func(t *testing.T, seed uint64, a, b float64, m int) {
		if !(a > 1e-9 && a < 1e9 && b > 1e-9 && b < 1e9 && m >= 1 && m < 30) {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		key, other := rng.IntN(3), rng.IntN(3)
		if d := distance(itemsVector([]int{key}, []float64{b}, a, b), itemsVector([]int{other}, []float64{-b}, a, b)); !(d <= ItemsSensitivity(a, b)) {
			t.Errorf("a vote moves items by %v, the sensitivity for %v, %v is %v", d, a, b, ItemsSensitivity(a, b))
		}
		x, z := shortVector(rng, 3, b), shortVector(rng, 3, b)
		if d := distance(gramRecord(x, a, 1), gramRecord(z, a, -1)); !(d <= GramSensitivity(a, b, 1)*(1+1e-12)) {
			t.Errorf("%v to %v moves gram by %v, the sensitivity for %v, %v is %v", x, z, d, a, b, GramSensitivity(a, b, 1))
		}
		if d := momentsMoved(rng, m, a, b, 200, 5); !(d <= MomentsSensitivity(a, b, 200, m)*(1+1e-12)) {
			t.Errorf("a record of %d moves moments by %v, the sensitivity for %v, %v is %v", m, d, a, b, MomentsSensitivity(a, b, 200, m))
		}
	})
}

// Votes without counts are votes.
func TestItemsWithoutCounts(t *testing.T) {
	if got := ItemsSensitivity(0, 1); got < 2 || got > 2+1e-12 {
		t.Errorf("votes of one without counts have the sensitivity %v", got)
	}
}

func TestSumSensitivitiesRefuseNonsense(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, d := range []float64{
		ItemsSensitivity(-1, 1), ItemsSensitivity(1, 0), ItemsSensitivity(nan, 1), ItemsSensitivity(1, inf),
		GramSensitivity(0, 1, 1), GramSensitivity(1, nan, 1), GramSensitivity(1, 1, -1), GramSensitivity(inf, 1, 1),
		MomentsSensitivity(0, 1, 1, 1), MomentsSensitivity(1, 0, 1, 1), MomentsSensitivity(1, nan, 1, 1), MomentsSensitivity(1, 1, -1, 1),
		MomentsSensitivity(1, 1, 1, 0), MomentsSensitivity(1, 1, inf, 1), MomentsSensitivity(1e9, 1, 1, 1), MomentsSensitivity(inf, inf, 1, 1),
	} {
		if !math.IsInf(d, 1) {
			t.Errorf("a sensitivity of %v for numbers that make no sense", d)
		}
	}
}
