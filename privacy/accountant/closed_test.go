package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// pureDelta is the sum of theorem 3.3 in 320 bits.
func pureDelta(epsilon0 float64, k int, epsilon float64) float64 {
	lie := exactExp(exact(epsilon0))
	sum, binomial, total := exact(0), exact(1), exact(1)
	for range k {
		total = mul(total, add(exact(1), lie))
	}
	for l := range k + 1 {
		over := sub(exactExp(exact(float64(k-l)*epsilon0)), exactExp(exact(epsilon+float64(l)*epsilon0)))
		if over.Sign() > 0 {
			sum = add(sum, mul(binomial, over))
		}
		binomial = quo(mul(binomial, exact(float64(k-l))), exact(float64(l+1)))
	}
	delta, _ := quo(sum, total).Float64()
	return delta
}

func TestPureEpsilonAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for range 60 {
		epsilon0, k := logUniform(rng, 0.01, 3), 1+rng.IntN(60)
		delta := logUniform(rng, 1e-12, 0.3)
		epsilon := PureEpsilon(epsilon0, k, delta)
		if epsilon == 0 {
			if pureDelta(epsilon0, k, 0) > delta*(1+1e-10) {
				t.Errorf("%d of %v: no epsilon at %v", k, epsilon0, delta)
			}
			continue
		}
		below, above := pureDelta(epsilon0, k, epsilon*(1-1e-9)), pureDelta(epsilon0, k, epsilon*(1+1e-9))
		if !(below >= delta && above <= delta) {
			t.Errorf("%d of %v: delta %v is not between %v and %v", k, epsilon0, delta, above, below)
		}
		// With a delta of their own.
		delta0 := delta / 2 / float64(k)
		rest := 1 - (1-delta)/math.Pow(1-delta0, float64(k))
		if got, want := ApproxPureEpsilon(epsilon0, delta0, k, delta), PureEpsilon(epsilon0, k, rest); math.Abs(got-want) > 1e-3*want {
			t.Errorf("%d of (%v, %v): %v, want %v", k, epsilon0, delta0, got, want)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ got, want float64 }{
		{PureEpsilon(0.5, 4, 0), 2}, {PureEpsilon(0, 4, 0), 0}, {PureEpsilon(1, 0, 0), 0}, {PureEpsilon(1, 3, 1), 0},
		{PureEpsilon(-1, 4, 0.1), inf}, {PureEpsilon(nan, 4, 0.1), inf}, {PureEpsilon(1, -1, 0.1), inf},
		{PureEpsilon(1, maxSteps+1, 0.1), inf}, {PureEpsilon(1, 4, nan), inf}, {PureEpsilon(1, 4, -1), inf},
		{ApproxPureEpsilon(1, 0.1, 10, 0.5), inf}, {ApproxPureEpsilon(1, 2, 1, 0.5), inf}, {ApproxPureEpsilon(1, 0, 3, 2), inf},
		{ApproxPureEpsilon(1, 0.1, 1, 0.1), 1},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// Each accountant is at least as tight as the one before.
func TestChainOfAccountants(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	for range 25 {
		a, k := logUniform(rng, 0.01, 1.5), 1+rng.IntN(200)
		delta := logUniform(rng, 1e-10, 0.01)
		epsilons := make([]float64, k)
		for i := range epsilons {
			epsilons[i] = a
		}
		kairouz, exact := Kairouz(epsilons, delta).Min(), PureEpsilon(a, k, delta)
		pure, laplace := epsilonOf(delta, Group{Pure(a), k}), epsilonOf(delta, Group{Laplace(a), k})
		if !(kairouz >= exact*(1-1e-12) && pure >= exact*(1-1e-12) && pure >= laplace*(1-1e-9)) {
			t.Errorf("%d of %v at %v: Kairouz %v, exact %v, grid %v, Laplace %v", k, a, delta, kairouz, exact, pure, laplace)
		}
		if pure > exact*(1+1e-4) {
			t.Errorf("%d of %v at %v: grid %v, exact %v", k, a, delta, pure, exact)
		}
		if z := ZCDPEpsilon(float64(k)*a*a/2, delta); z < laplace*(1-1e-4) {
			t.Errorf("%d of %v at %v: zCDP %v is below %v", k, a, delta, z, laplace)
		}
	}
	for _, k := range []KairouzBounds{Kairouz([]float64{1, math.NaN()}, 0.1), Kairouz([]float64{-1}, 0.1), Kairouz([]float64{math.Inf(1)}, 0.1)} {
		if !math.IsInf(k.Min(), 1) {
			t.Errorf("senseless epsilons compose to %+v", k)
		}
	}
	for _, c := range []struct {
		epsilon  float64
		releases int
	}{{0, 3}, {-1, 3}, {math.NaN(), 3}, {math.Inf(1), 3}, {1, 0}, {1, -1}} {
		if got := KairouzShare(c.epsilon, 1e-6, c.releases); got != 0 {
			t.Errorf("a share of %v in %d releases is %v", c.epsilon, c.releases, got)
		}
	}
	if got := Excess(math.NaN(), func(float64) float64 { return 0 }); got != 1 {
		t.Errorf("nobody knows epsilon, and the loss exceeds it with probability %v at most", got)
	}
	if k := Kairouz([]float64{1, 2}, 0); k.Min() != 3 || !math.IsInf(k.Second, 1) || !math.IsInf(k.Third, 1) {
		t.Errorf("without slack: %+v", k)
	}
}

func TestRenyiAgainstDefinition(t *testing.T) {
	for _, order := range []float64{1.001, 1.5, 2, 7, 30} {
		for _, a := range []float64{1e-6, 1e-3, 0.1, 1, 3} {
			// The mean of e^{(n-1) loss}: the loss is a where the noise x < 0, a-2x up
			// to x = a, and -a beyond.
			n := order
			inner := quad.Fixed(func(x float64) float64 {
				return math.Exp(-x+(n-1)*(a-2*x)) / 2
			}, 0, a, 100, nil, 0)
			want := math.Log(math.Exp((n-1)*a)/2+inner+math.Exp(-n*a)/2) / (n - 1)
			got := LaplaceRenyi(order, a)
			if math.Abs(got-want) > 1e-9*want+1e-15/(n-1) {
				t.Errorf("order %v, a %v: %v, want %v", order, a, got, want)
			}
			if zcdp := order * a * a / 2; got > zcdp*(1+1e-12) {
				t.Errorf("order %v, a %v: %v is over zCDP's %v", order, a, got, zcdp)
			}
		}
		if GaussianRenyi(order, 0.5) != order*0.125 {
			t.Errorf("order %v: Gaussian divergence %v", order, GaussianRenyi(order, 0.5))
		}
	}
	// Both forms where they meet.
	l, r := LaplaceRenyi(3, 0.5*(1-1e-12)), LaplaceRenyi(3, 0.5*(1+1e-12))
	if math.Abs(l/r-1) > 1e-11 {
		t.Errorf("the two forms differ: %v and %v", l, r)
	}
}

func TestRenyiBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	for range 2000 {
		order := 1 + logUniform(rng, 1e-3, 1e4)
		epsilon, delta := logUniform(rng, 1e-3, 100), logUniform(rng, 1e-200, 0.5)
		budget := RenyiBudget(order, epsilon, delta)
		if budget <= 0 {
			continue
		}
		if got := renyiEpsilon(order, budget, delta); got > epsilon {
			t.Errorf("order %v: a divergence of %v costs %v, over %v", order, budget, got, epsilon)
		}
		size := epsilon + (math.Log(order)-math.Log(delta))/(order-1) - math.Log1p(-1/order)
		if got := renyiEpsilon(order, budget+1e-14*size, delta); got < epsilon {
			t.Errorf("order %v: more than %v is left at %v", order, budget, epsilon)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, got := range []float64{
		renyiEpsilon(1, 1, 0.1), renyiEpsilon(nan, 1, 0.1), renyiEpsilon(2, -1, 0.1), renyiEpsilon(2, nan, 0.1),
		renyiEpsilon(2, 1, 0), renyiEpsilon(2, 1, nan), LaplaceRenyi(1, 1), LaplaceRenyi(2, -1), LaplaceRenyi(inf, 1),
		GaussianRenyi(0.5, 1), GaussianRenyi(2, nan), ZCDPEpsilon(-1, 0.1), ZCDPEpsilon(nan, 0.1), ZCDPEpsilon(1, 0),
	} {
		if got != inf {
			t.Errorf("senseless numbers give %v", got)
		}
	}
	for _, got := range []float64{RenyiBudget(1, 1, 0.1), RenyiBudget(2, nan, 0.1), RenyiBudget(2, 1, 0), RenyiBudget(inf, 1, 0.1)} {
		if got > 0 {
			t.Errorf("senseless numbers have a budget of %v", got)
		}
	}
}

// The order chosen is the best of a dense scan.
func TestZCDPEpsilonIsLeast(t *testing.T) {
	for _, rho := range []float64{1e-8, 1e-3, 0.1, 2, 50} {
		for _, delta := range []float64{0.3, 1e-3, 1e-6, 1e-12} {
			least := math.Inf(1)
			for i := range 20000 {
				order := 1 + math.Exp(float64(i)/500-12)
				least = min(least, renyiEpsilon(order, rho*order, delta))
			}
			if got := ZCDPEpsilon(rho, delta); got > least*(1+1e-6)+1e-9 || got < GaussianEpsilon(delta, math.Sqrt(2*rho)) {
				t.Errorf("rho %v, delta %v: %v, a scan gives %v", rho, delta, got, least)
			}
		}
	}
}
