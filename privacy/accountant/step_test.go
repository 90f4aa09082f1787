package accountant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// logUniform draws from [lo, hi], evenly on a logarithmic scale.
func logUniform(rng *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(rng.Float64()*math.Log(hi/lo))
}

func subsample(base Step, q float64, s Sampling) Step {
	step, err := Subsampled(base, q, s)
	if err != nil {
		panic(err)
	}
	return step
}

// randomStep is a step of any kind, subsampled in the given way one time in three.
func randomStep(rng *rand.Rand, s Sampling) Step {
	a := logUniform(rng, 0.01, 5)
	base := []Step{
		Gaussian(a),
		Laplace(a),
		TruncatedLaplace(a, a/2+logUniform(rng, 0.1, 30)),
		TruncatedGaussian(a, a/2+logUniform(rng, 0.1, 9)),
		Pure(a),
		ApproxPure(a, logUniform(rng, 1e-14, 1e-3)),
	}[rng.IntN(6)]
	if rng.IntN(3) > 0 {
		return base
	}
	return subsample(base, logUniform(rng, 0.001, 0.5), s)
}

// pair is a mechanism as two densities on the line, told from delta by adding up
// what one has over e^eps times the other on a fine grid: the definition.
type pair struct{ p, q func(x float64) float64 }

func (d pair) delta(epsilon float64) float64 {
	const points = 1 << 18
	const width = 60.0
	sum := 0.0
	for i := range points {
		x := width * ((float64(i)+0.5)/points - 0.5)
		sum += max(0, d.p(x)-math.Exp(epsilon)*d.q(x))
	}
	return sum * width / points
}

func (d pair) mixed(share float64) pair {
	return pair{func(x float64) float64 { return (1-share)*d.q(x) + share*d.p(x) }, d.q}
}

func truncated(density func(x float64) float64, a, bound float64) pair {
	within := func(x float64) float64 {
		if math.Abs(x) > bound {
			return 0
		}
		return density(x)
	}
	mass := pair{within, func(float64) float64 { return 0 }}.delta(0)
	return pair{
		func(x float64) float64 { return within(x) / mass },
		func(x float64) float64 { return within(x-a) / mass },
	}
}

func TestProfilesAgainstDefinition(t *testing.T) {
	normal := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	double := func(x float64) float64 { return math.Exp(-math.Abs(x)) / 2 }
	for _, c := range []struct {
		name string
		step Step
		law  pair
	}{
		{"Gaussian", Gaussian(0.7), truncated(normal, 0.7, 25)},
		{"Laplace", Laplace(1.3), truncated(double, 1.3, 28)},
		{"truncated Laplace", TruncatedLaplace(0.5, 4), truncated(double, 0.5, 4)},
		{"truncated Laplace, short", TruncatedLaplace(1.5, 1), truncated(double, 1.5, 1)},
		{"truncated Gaussian", TruncatedGaussian(0.5, 3), truncated(normal, 0.5, 3)},
		{"truncated Gaussian, short", TruncatedGaussian(1.5, 1), truncated(normal, 1.5, 1)},
		{"disjoint", TruncatedGaussian(2.5, 1), truncated(normal, 2.5, 1)},
	} {
		for _, epsilon := range []float64{-1.2, -0.3, 0, 0.1, 0.4, 1, 2} {
			// An edge that falls within a cell of the grid is worth up to 2e-4.
			if got, want := c.step.Delta(epsilon), c.law.delta(epsilon); math.Abs(got-want) > 5e-4 {
				t.Errorf("%s: delta(%v) is %v, want %v", c.name, epsilon, got, want)
			}
			// Sampled, and asked in both directions.
			remove := c.law.mixed(0.3)
			add := pair{remove.q, remove.p}
			want := max(remove.delta(epsilon), add.delta(epsilon))
			if got := subsample(c.step, 0.3, Poisson).Delta(epsilon); math.Abs(got-want) > 5e-4 {
				t.Errorf("%s, Poisson: delta(%v) is %v, want %v", c.name, epsilon, got, want)
			}
		}
	}
}

// Any profile falls, is convex in e^eps, mirrors that of the other direction, and
// lies between 0 and 1.
func TestProfileShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for range 400 {
		step := randomStep(rng, Poisson)
		forward, backward := step.directions()
		if math.Abs(forward(0)-backward(0)) > 1e-13 {
			t.Errorf("%+v: total variation is %v and %v", step, forward(0), backward(0))
		}
		for range 20 {
			e := logUniform(rng, 1e-3, 8)
			mid := math.Log((1 + math.Exp(e)) / 2)
			low, middle, high := forward(0), forward(mid), forward(e)
			if !(high <= middle+1e-15 && middle <= low+1e-15 && high >= 0 && low <= 1) {
				t.Fatalf("%+v: not falling from %v over %v to %v at %v", step, low, middle, high, e)
			}
			if middle > (low+high)/2+1e-14 {
				t.Fatalf("%+v: not convex up to %v", step, e)
			}
			if want := -math.Expm1(-e) + math.Exp(-e)*backward(e); math.Abs(forward.at(-e, backward)-want) > 1e-15 {
				t.Fatalf("%+v: the mirror image at %v is off", step, e)
			}
		}
		if end := forward.end(); forward(end) > forward(math.Inf(1)) {
			t.Errorf("%+v: a finite loss beyond the largest, %v", step, end)
		}
	}
}

// The limits that join the kinds.
func TestProfileLimits(t *testing.T) {
	for _, e := range []float64{-2, -0.1, 0, 0.05, 0.9, 2.9, 3, 40} {
		for _, c := range []struct {
			name      string
			got, want Step
		}{
			{"Laplace far truncated", TruncatedLaplace(1, math.Inf(1)), Laplace(1)},
			{"Gaussian far truncated", TruncatedGaussian(1, 40), Gaussian(1)},
			{"all records, Poisson", subsample(ApproxPure(1, 1e-3), 1, Poisson), ApproxPure(1, 1e-3)},
			{"all records", subsample(Laplace(1), 1, WithoutReplacement), Laplace(1)},
			{"no infinite loss", ApproxPure(3, 0), Pure(3)},
		} {
			if got, want := c.got.Delta(e), c.want.Delta(e); math.Abs(got-want) > 1e-13*want+1e-300 {
				t.Errorf("%s: delta(%v) is %v, want %v", c.name, e, got, want)
			}
		}
	}
}

func TestSenselessSteps(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, step := range []Step{
		Gaussian(-1), Gaussian(nan), Gaussian(inf), Laplace(-1), Laplace(nan), Laplace(inf),
		TruncatedLaplace(-1, 1), TruncatedLaplace(1, 0), TruncatedLaplace(1, nan), TruncatedLaplace(inf, 1),
		TruncatedGaussian(-1, 1), TruncatedGaussian(1, 0), TruncatedGaussian(1, nan), TruncatedGaussian(nan, 1),
		Pure(-1), Pure(nan), Pure(inf), ApproxPure(1, -1), ApproxPure(1, 2), ApproxPure(1, nan),
	} {
		if got := step.Delta(3); got != 1 {
			t.Errorf("%v has delta %v", step, got)
		}
		if _, err := Compose(1e-6, Group{step, 1}); err == nil {
			t.Errorf("%v is composed", step)
		}
		if _, err := Subsampled(step, 0.5, Poisson); err == nil {
			t.Errorf("%v is subsampled", step)
		}
	}
	if got := Laplace(1).Delta(nan); got != 1 {
		t.Errorf("delta at no number is %v", got)
	}
	for _, q := range []float64{0, -1, 1.1, nan, inf} {
		if _, err := Subsampled(Laplace(1), q, Poisson); err == nil {
			t.Errorf("a share of %v is accepted", q)
		}
	}
	if _, err := Subsampled(nil, 0.5, Poisson); err == nil {
		t.Error("no step is subsampled")
	}
	if _, err := Subsampled(Laplace(1), 0.5, 0); err == nil {
		t.Error("an unknown way of sampling is accepted")
	}
	if _, err := Subsampled(subsample(Laplace(1), 0.5, Poisson), 0.5, Poisson); err == nil {
		t.Error("a step is subsampled twice")
	}
}
