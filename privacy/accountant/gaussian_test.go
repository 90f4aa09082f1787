package accountant

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// reference reads a file of reference values into v.
func reference(t *testing.T, name string, v any) {
	t.Helper()
	dir := os.Getenv("P2PNODE_SHARED")
	if dir == "" {
		t.Skip("set P2PNODE_SHARED to the directory that has reference/" + name)
	}
	data, err := os.ReadFile(filepath.Join(dir, "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	decode(t, data, v)
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// referenceCase is one entry of privacy_values.json. Input differs by kind.
type referenceCase struct {
	ID, Kind, Side string
	Input          json.RawMessage
	Expected       any     // a float64 in the kinds that are computed here
	RelTol         float64 `json:"rel_tol"`
}

// accepts reports whether got is on the right side of the expected value: an
// upper bound may be over it by rel_tol but under it by rounding only.
func (c referenceCase) accepts(got float64) bool {
	want, ok := c.Expected.(float64)
	below, above := c.RelTol, c.RelTol
	switch c.Side {
	case "upper":
		below = 5e-6
	case "lower":
		above = 5e-6
	}
	return ok && got >= want*(1-below) && got <= want*(1+above)
}

func TestReferenceValues(t *testing.T) {
	var file struct{ Cases []referenceCase }
	reference(t, "privacy_values.json", &file)
	compute := map[string]func(referenceCase) float64{
		"gauss_sigma": func(c referenceCase) float64 {
			var in struct{ Eps, Delta, L2 float64 }
			decode(t, c.Input, &in)
			return in.L2 / mustMu(t, Budget{in.Eps, in.Delta})
		},
		"gauss_delta": func(c referenceCase) float64 {
			var in struct{ Eps, Mu float64 }
			decode(t, c.Input, &in)
			return GaussianDelta(in.Eps, in.Mu)
		},
		"gauss_compose_eps": func(c referenceCase) float64 {
			var in struct {
				L2, Sigma []float64
				Delta     float64
			}
			decode(t, c.Input, &in)
			var squares float64
			for i := range in.L2 {
				squares += math.Pow(in.L2[i]/in.Sigma[i], 2)
			}
			return GaussianEpsilon(in.Delta, math.Sqrt(squares))
		},
	}
	seen := map[string]int{}
	for _, c := range file.Cases {
		f, ok := compute[c.Kind]
		if !ok {
			continue // a kind that this package does not compute
		}
		seen[c.Kind]++
		if got := f(c); !c.accepts(got) {
			t.Errorf("%s: got %.15g, want %v (%s, %g)", c.ID, got, c.Expected, c.Side, c.RelTol)
		}
	}
	for kind := range compute {
		if seen[kind] == 0 {
			t.Errorf("the file has no case of kind %s", kind)
		}
	}
}

func mustMu(t *testing.T, b Budget) float64 {
	t.Helper()
	mu, err := GaussianMu(b)
	if err != nil {
		t.Fatal(err)
	}
	return mu
}

// The agents' golden file states the sigma of T releases and the total mu of a
// budget, computed by another program.
func TestGoldenCalibration(t *testing.T) {
	var file struct {
		Gaussian []struct {
			Eps, Delta, Sens, Sigma float64
			T                       int
		}
		Accounting map[string]struct {
			Mu float64 `json:"gdp_mu_total"`
		} `json:"accounting_delta_exp-5_per_step"`
	}
	reference(t, "agents_golden.json", &file)
	if len(file.Gaussian) == 0 || len(file.Accounting) == 0 {
		t.Fatal("the file has no calibrations")
	}
	for _, c := range file.Gaussian {
		sigma := c.Sens * math.Sqrt(float64(c.T)) / mustMu(t, Budget{c.Eps, c.Delta})
		if math.Abs(sigma/c.Sigma-1) > 1e-9 {
			t.Errorf("eps %v delta %v T %d: sigma %.15g, want %.15g", c.Eps, c.Delta, c.T, sigma, c.Sigma)
		}
		m, err := Calibrate(Budget{c.Eps, c.Delta}, c.Sens/2, c.T, 100)
		if err != nil {
			t.Fatal(err)
		}
		// The grid, and the charge for 100 coordinates, cost less than 3e-8.
		if ratio := m.Sigma() / c.Sigma; ratio < 1-1e-9 || ratio > 1+3e-8 {
			t.Errorf("eps %v delta %v T %d: calibrated sigma is %.12f of the golden one", c.Eps, c.Delta, c.T, ratio)
		}
	}
	for name, c := range file.Accounting {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "eps"), "_")
		eps, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mu := mustMu(t, Budget{eps, math.Exp(-5)}); math.Abs(mu/c.Mu-1) > 1e-9 {
			t.Errorf("%s: mu %.15g, want %.15g", name, mu, c.Mu)
		}
	}
}

func TestGaussianDeltaAgainstExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	smallest := 1.0
	for range 200 {
		mu := math.Exp(rng.Float64()*12 - 8)
		x := rng.Float64()*40 - 3
		epsilon := max(0, mu*x+mu*mu/2)
		got := GaussianDelta(epsilon, mu)
		want, _ := exactDelta(epsilon, mu).Float64()
		smallest = min(smallest, want)
		x = epsilon/mu - mu/2
		if tolerance := 1e-14 * (1 + max(1, x)/mu + x*x + mu); math.Abs(got/want-1) > tolerance {
			t.Errorf("delta(%v; %v) = %v, want %v within %g", epsilon, mu, got, want, tolerance)
		}
	}
	if smallest > 1e-290 {
		t.Errorf("the smallest delta tried is %g, that is no test of the tail", smallest)
	}
}

// The derivative of delta in mu is phi(-eps/mu + mu/2), so delta is an integral
// of positive terms: an independent formula.
func TestGaussianDeltaAgainstQuadrature(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.3, 1, 4} {
		for _, mu := range []float64{0.05, 0.4, 1, 3} {
			density := func(s float64) float64 { // m = mu e^-s
				m := mu * math.Exp(-s)
				return m * distuv.UnitNormal.Prob(epsilon/m-m/2)
			}
			want := quad.Fixed(density, 0, 40, 400, nil, 0)
			if got := GaussianDelta(epsilon, mu); math.Abs(got-want) > 1e-9*want+1e-15 {
				t.Errorf("delta(%v; %v) = %v, want %v", epsilon, mu, got, want)
			}
		}
	}
}

func TestGaussianDeltaShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		mu := math.Exp(rng.Float64()*6 - 5) // beyond 3 delta is nearly 1
		epsilon := rng.Float64() * 3 * mu
		d := GaussianDelta(epsilon, mu)
		if mirror := -math.Expm1(-epsilon) + math.Exp(-epsilon)*d; math.Abs(GaussianDelta(-epsilon, mu)-mirror) > 1e-14 {
			t.Errorf("the profile is not symmetric at epsilon %v, mu %v", epsilon, mu)
		}
		if GaussianDelta(epsilon*1.01+0.001, mu) >= d || GaussianDelta(epsilon, mu*1.01) <= d {
			t.Errorf("delta(%v; %v) is not monotone", epsilon, mu)
		}
	}
	for _, c := range []struct{ epsilon, mu, want float64 }{
		{1, 0, 0}, {0, 0, 0}, {1, math.Inf(1), 1}, {math.Inf(1), 3, 0}, {1e6, 1e-3, 0}, {5e-324, 5e-324, 0},
		{-1, 0, -math.Expm1(-1)}, {math.Inf(-1), 1, 1}, {1, 1e9, 1}, {1, 1e300, 1},
		{math.NaN(), 1, math.NaN()}, {1, math.NaN(), math.NaN()}, {1, -1, math.NaN()},
	} {
		if got := GaussianDelta(c.epsilon, c.mu); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("delta(%v; %v) = %v, want %v", c.epsilon, c.mu, got, c.want)
		}
	}
}

// GaussianMu never claims more than the budget gives, and loses no more than
// its margin: exact arithmetic on both sides.
func TestGaussianMuIsTightAndNeverOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 200 {
		b := Budget{math.Exp(rng.Float64()*24 - 16), math.Exp(-rng.Float64()*689 - 0.7)}
		if i%2 == 0 { // the ordinary range too
			b = Budget{math.Exp(rng.Float64()*6 - 4), math.Exp(-rng.Float64()*30 - 0.7)}
		}
		lo, hi := muBracket(b)
		budget := exact(b.Delta)
		if exactDelta(b.Epsilon, lo).Cmp(budget) > 0 {
			t.Errorf("%+v: mu %v is over the budget", b, lo)
		}
		if exactDelta(b.Epsilon, hi).Cmp(budget) < 0 {
			t.Errorf("%+v: mu %v should be over the budget", b, hi)
		}
		if hi-lo > 2.1e-14*(1+1/b.Epsilon)*hi {
			t.Errorf("%+v: bracket is %v wide", b, hi-lo)
		}
		if mu := mustMu(t, b); mu != lo {
			t.Errorf("%+v: GaussianMu is %v, not the lower end %v", b, mu, lo)
		}
	}
}

func TestGaussianEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		b := Budget{math.Exp(rng.Float64()*8 - 4), math.Exp(-rng.Float64()*200 - 1)}
		// A relative error of mu weighs up to 1/epsilon more in epsilon.
		tolerance := 1e-13 * math.Pow(1+1/b.Epsilon, 2) * (1 + math.Abs(math.Log(b.Delta)))
		if got := GaussianEpsilon(b.Delta, mustMu(t, b)); math.Abs(got/b.Epsilon-1) > tolerance {
			t.Errorf("%+v: there and back gives epsilon %v", b, got)
		}
	}
	for _, c := range []struct{ delta, mu, want float64 }{
		{1e-6, 0, 0}, {0.5, 0.1, 0}, {1, 5, 0}, {0, 1, math.Inf(1)}, {-1, 1, math.Inf(1)},
		{1e-6, math.Inf(1), math.Inf(1)}, {math.NaN(), 1, math.Inf(1)}, {0.1, math.NaN(), math.Inf(1)}, {0.1, -1, math.Inf(1)},
	} {
		if got := GaussianEpsilon(c.delta, c.mu); got != c.want {
			t.Errorf("epsilon(%v; %v) = %v, want %v", c.delta, c.mu, got, c.want)
		}
	}
}

func TestBudgetValidate(t *testing.T) {
	for _, b := range []Budget{{1, 1e-6}, {1e-9, 1e-300}, {1e6, 0.5}} {
		if err := b.Validate(); err != nil {
			t.Errorf("%+v: %v", b, err)
		}
	}
	for _, b := range []Budget{
		{}, {0, 0.1}, {-1, 0.1}, {1e-10, 0.1}, {2e6, 0.1}, {math.Inf(1), 0.1}, {math.NaN(), 0.1},
		{1, 0}, {1, -1}, {1, 0.51}, {1, 1e-301}, {1, math.NaN()}, {1, math.Inf(1)},
	} {
		if b.Validate() == nil {
			t.Errorf("%+v is accepted", b)
		}
		if _, err := GaussianMu(b); err == nil {
			t.Errorf("%+v has a mu", b)
		}
		if got := b.ForRecords(3).Epsilon; !math.IsInf(got, 1) {
			t.Errorf("%+v for three records has epsilon %v", b, got)
		}
	}
}

func TestBudgetForRecords(t *testing.T) {
	b := Budget{1, 1e-6}
	if got := b.ForRecords(1); got != b {
		t.Errorf("one record costs %+v, want %+v", got, b)
	}
	last := b.Epsilon
	for k := 2; k <= 40; k++ {
		got := b.ForRecords(k)
		// Exact arithmetic: k mu keeps the stated epsilon, and not much less.
		mu := float64(k) * mustMu(t, b)
		if exactDelta(got.Epsilon, mu).Cmp(exact(b.Delta)) > 0 || exactDelta(got.Epsilon*(1-1e-9), mu).Cmp(exact(b.Delta)) < 0 {
			t.Errorf("%d records cost %+v, that is not the epsilon of %d mu", k, got, k)
		}
		if got.Delta != b.Delta || got.Epsilon <= last+b.Epsilon*0.99 {
			t.Errorf("%d records cost %+v, that is no more than %v plus one", k, got, last)
		}
		last = got.Epsilon
	}
}

func BenchmarkGaussianMu(b *testing.B) {
	for b.Loop() {
		if _, err := GaussianMu(Budget{1, 1e-6}); err != nil {
			b.Fatal(err)
		}
	}
}
