package accountant

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

func lowMu(epsilon, delta float64) float64 {
	low, _ := GaussianMu(epsilon, delta)
	return low
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
		sigma := c.Sens * math.Sqrt(float64(c.T)) / lowMu(c.Eps, c.Delta)
		if math.Abs(sigma/c.Sigma-1) > 1e-9 {
			t.Errorf("eps %v delta %v T %d: sigma %.15g, want %.15g", c.Eps, c.Delta, c.T, sigma, c.Sigma)
		}
	}
	for name, c := range file.Accounting {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "eps"), "_")
		eps, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mu := lowMu(eps, math.Exp(-5)); math.Abs(mu/c.Mu-1) > 1e-9 {
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
		epsilon, delta := math.Exp(rng.Float64()*24-16), math.Exp(-rng.Float64()*689-0.7)
		if i%2 == 0 { // the ordinary range too
			epsilon, delta = math.Exp(rng.Float64()*6-4), math.Exp(-rng.Float64()*30-0.7)
		}
		low, high := GaussianMu(epsilon, delta)
		if exactDelta(epsilon, low).Cmp(exact(delta)) > 0 {
			t.Errorf("(%v, %v): mu %v is over the budget", epsilon, delta, low)
		}
		if exactDelta(epsilon, high).Cmp(exact(delta)) < 0 {
			t.Errorf("(%v, %v): mu %v should be over the budget", epsilon, delta, high)
		}
		if high-low > 2.1e-14*(1+1/epsilon)*high {
			t.Errorf("(%v, %v): bracket is %v wide", epsilon, delta, high-low)
		}
	}
}

func TestGaussianEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		epsilon, delta := math.Exp(rng.Float64()*8-4), math.Exp(-rng.Float64()*200-1)
		// A relative error of mu weighs up to 1/epsilon more in epsilon.
		tolerance := 1e-13 * math.Pow(1+1/epsilon, 2) * (1 + math.Abs(math.Log(delta)))
		if got := GaussianEpsilon(delta, lowMu(epsilon, delta)); math.Abs(got/epsilon-1) > tolerance {
			t.Errorf("(%v, %v): there and back gives epsilon %v", epsilon, delta, got)
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

func TestCheckBudget(t *testing.T) {
	for _, b := range [][2]float64{{1, 1e-6}, {1e-9, 1e-300}, {1e6, 0.5}} {
		if err := CheckBudget(b[0], b[1]); err != nil {
			t.Errorf("%v: %v", b, err)
		}
	}
	for _, b := range [][2]float64{
		{}, {0, 0.1}, {-1, 0.1}, {1e-10, 0.1}, {2e6, 0.1}, {math.Inf(1), 0.1}, {math.NaN(), 0.1},
		{1, 0}, {1, -1}, {1, 0.51}, {1, 1e-301}, {1, math.NaN()}, {1, math.Inf(1)},
	} {
		if CheckBudget(b[0], b[1]) == nil {
			t.Errorf("%v is accepted", b)
		}
		if low, high := GaussianMu(b[0], b[1]); low != 0 || !math.IsInf(high, 1) {
			t.Errorf("%v has mu between %v and %v", b, low, high)
		}
	}
}

func BenchmarkGaussianMu(b *testing.B) {
	for b.Loop() {
		if low, _ := GaussianMu(1, 1e-6); low == 0 {
			b.Fatal("no mu")
		}
	}
}

// The excess is the mass of the loss above epsilon, by quadrature; delta is the part of
// it that counts, and the bound from the profile lies above, by less than three times.
func TestGaussianExcess(t *testing.T) {
	for _, mu := range []float64{0.03, 0.24, 1, 3} {
		loss := distuv.Normal{Mu: mu * mu / 2, Sigma: mu}
		for _, x := range []float64{-1, 0, 1, 3, 4.5} {
			epsilon := mu*mu/2 + x*mu
			got := GaussianExcess(epsilon, mu)
			want := quad.Fixed(loss.Prob, epsilon, epsilon+12*mu, 4000, nil, 0)
			if math.Abs(got/want-1) > 1e-9 {
				t.Errorf("mu %v, epsilon %v: %v, want %v", mu, epsilon, got, want)
			}
			counted := quad.Fixed(func(l float64) float64 { return loss.Prob(l) * -math.Expm1(epsilon-l) }, epsilon, epsilon+12*mu, 4000, nil, 0)
			if delta := GaussianDelta(epsilon, mu); math.Abs(delta/counted-1) > 1e-6 || delta >= got {
				t.Errorf("mu %v, epsilon %v: delta %v, want %v, less than %v", mu, epsilon, delta, counted, got)
			}
			bound := Excess(epsilon, func(e float64) float64 { return GaussianDelta(e, mu) })
			if bound < got || x >= 1 && bound > 3*got && bound < 1 {
				t.Errorf("mu %v, epsilon %v: the profile's bound is %v, the excess %v", mu, epsilon, bound, got)
			}
		}
	}
	if GaussianExcess(1, 0) != 0 || GaussianExcess(-1, 0) != 1 || !math.IsNaN(GaussianExcess(1, -1)) {
		t.Error("without a record to tell of, nothing is told")
	}
}
