package accountant

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// tenGroups is 200 steps in 10 distinct groups that cannot be merged.
func tenGroups() []Group {
	var groups []Group
	for i := range 10 {
		a := 0.02 * float64(i+1)
		switch i % 5 {
		case 0:
			groups = append(groups, Group{Laplace(a), 20})
		case 1:
			groups = append(groups, Group{Gaussian(a), 20})
		case 2:
			groups = append(groups, Group{TruncatedLaplace(a, 20), 20})
		case 3:
			groups = append(groups, Group{TruncatedGaussian(a, 8), 20})
		case 4:
			step, _ := Subsampled(Gaussian(10*a), 0.1, WithoutReplacement)
			groups = append(groups, Group{step, 20})
		}
	}
	return groups
}

func BenchmarkComposeTenGroups(b *testing.B) {
	groups := tenGroups()
	b.ReportAllocs()
	for b.Loop() {
		loss, err := Compose(1e-6, groups...)
		if err != nil {
			b.Fatal(err)
		}
		loss.Epsilon(1e-6)
	}
}

func BenchmarkLargestLaplaceStep(b *testing.B) {
	for b.Loop() {
		if _, err := LargestLaplaceStep(1, 1e-6, 100); err != nil {
			b.Fatal(err)
		}
	}
}

// enumerated is the exact epsilon of randomised responses: all 2^n outcomes.
func enumerated(delta float64, epsilons []float64) float64 {
	type outcome struct{ loss, probability float64 }
	outcomes := make([]outcome, 1<<len(epsilons))
	for lies := range outcomes {
		o := outcome{0, 1}
		for i, e := range epsilons {
			truth := 1 / (1 + math.Exp(-e))
			if lies>>i&1 == 1 {
				truth, e = math.Exp(-e)*truth, -e
			}
			o.loss, o.probability = o.loss+e, o.probability*truth
		}
		outcomes[lies] = o
	}
	_, epsilon := bisect(0, 1e3, func(epsilon float64) bool {
		sum := 0.0
		for _, o := range outcomes {
			sum -= o.probability * min(0, math.Expm1(epsilon-o.loss))
		}
		return sum <= delta
	})
	return epsilon
}

func TestComposeAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for range 40 {
		epsilons := make([]float64, 1+rng.IntN(9))
		var groups []Group
		for i := range epsilons {
			epsilons[i] = logUniform(rng, 0.01, 5)
			groups = append(groups, Group{Pure(epsilons[i]), 1})
		}
		delta := logUniform(rng, 1e-12, 1e-3)
		got, want := epsilonOf(delta, groups...), enumerated(delta, epsilons)
		if got < want*(1-1e-10) || got > want*(1+1e-4) {
			t.Errorf("%v at %v: %v, want %v", epsilons, delta, got, want)
		}
	}
}

func TestComposeAgainstClosedForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	for range 40 {
		a, k, delta := logUniform(rng, 0.01, 5), 1+int(logUniform(rng, 1, 1000)), logUniform(rng, 1e-12, 1e-3)
		// Gaussian steps are joined beforehand. As parts of their own they are a
		// test of the grid, here with a margin for the error of so many points.
		var parts []part
		forward, backward := Gaussian(a).directions()
		for n := range min(k, 3) {
			parts = append(parts, part{forward, backward, (k + n) / min(k, 3)})
		}
		d := compose(delta, parts, cheap)
		want := GaussianEpsilon(delta, a*math.Sqrt(float64(k)))
		for _, got := range []float64{d.epsilon(delta), epsilonOf(delta, Group{Gaussian(a), k})} {
			if got < want*(1-1e-9) || got > want*(1+1e-4) {
				t.Errorf("%d Gaussian steps of %v at %v: %v, want %v", k, a, delta, got, want)
			}
		}
		delta0 := delta * rng.Float64() / float64(k)
		want = ApproxPureEpsilon(a, delta0, k, delta)
		if got := epsilonOf(delta, Group{ApproxPure(a, delta0), k}); got < want*(1-1e-9) || got > want*(1+1e-4) {
			t.Errorf("%d steps of (%v, %v) at %v: %v, want %v", k, a, delta0, delta, got, want)
		}
		want = max(0, a+2*math.Log1p(-delta)) // 1 - e^{(eps-a)/2} = delta
		if got := epsilonOf(delta, Group{Laplace(a), 1}); got < want*(1-1e-9) || got > want*(1+1e-6) {
			t.Errorf("one Laplace step of %v at %v: %v, want %v", a, delta, got, want)
		}
	}
}

// For one step of any kind the loss has the profile of the step, and a little more.
func TestComposeOneStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	for range 80 {
		step := randomStep(rng, Poisson)
		loss, err := Compose(1e-5, Group{step, 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			epsilon := logUniform(rng, 0.001, 5)
			for _, e := range []float64{epsilon, -epsilon} {
				if got, want := loss.Delta(e), step.Delta(e); got < want*(1-1e-12) || got > want*(1+1e-4)+1e-9 {
					t.Fatalf("%+v: delta(%v) is %v, want %v", step, e, got, want)
				}
			}
		}
	}
}

func randomGroups(rng *rand.Rand, s Sampling, most float64) []Group {
	var groups []Group
	for range 1 + rng.IntN(4) {
		groups = append(groups, Group{randomStep(rng, s), int(logUniform(rng, 1, most))})
	}
	return groups
}

// The slow twin has eight times as many points: a grid's error falls with their
// square.
func TestComposeAgainstFinerGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 1))
	for range 16 {
		groups, delta := randomGroups(rng, Poisson, 300), logUniform(rng, 1e-12, 1e-3)
		loss, err := Compose(delta, groups...)
		if err != nil {
			t.Fatal(err)
		}
		merged, _, _ := merge(groups)
		var parts []part
		for _, g := range merged {
			forward, backward := g.Step.directions()
			parts = append(parts, part{forward, backward, g.Count})
		}
		coarse := loss.directions[0]
		fine := compose(delta, parts, 8*cheap)
		got, want := coarse.epsilon(delta), fine.epsilon(delta)
		if math.IsInf(want, 1) && math.IsInf(got, 1) {
			continue
		}
		if got < want*(1-1e-5) || got > want*(1+1e-4) {
			t.Errorf("%+v at %v: %v, finer %v", groups, delta, got, want)
		}
		if back := coarse.delta(got); got > 0 && math.Abs(back/delta-1) > 1e-6 && back > delta {
			t.Errorf("%+v: delta(epsilon(%v)) is %v", groups, delta, back)
		}
	}
}

// convolve by its definition, for lattices of a few masses.
func TestConvolveAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	for range 50 {
		s := sum{spacing: 0.5, length: 1}
		want, first := []float64{1}, 0
		for range 1 + rng.IntN(3) {
			l := lattice{first: rng.IntN(9) - 5, mass: make([]float64, 1+rng.IntN(5))}
			for i := range l.mass {
				l.mass[i] = rng.Float64()
			}
			count := 1 + rng.IntN(3)
			s.lattices, s.counts = append(s.lattices, l), append(s.counts, count)
			for range count {
				next := make([]float64, len(want)+len(l.mass)-1)
				for i, p := range want {
					for j, q := range l.mass {
						next[i+j] += p * q
					}
				}
				want, first = next, first+l.first
			}
		}
		s.first, s.length = first, fastLength(len(want))
		tilt := rng.Float64()
		got, scale := s.convolve(tilt), s.logMoment(tilt)
		for i, p := range want {
			tilted := p * math.Exp(tilt*s.spacing*float64(first+i)-scale)
			if math.Abs(got[i]-tilted) > 1e-13 {
				t.Fatalf("mass %d is %v, want %v", i, got[i], tilted)
			}
		}
	}
}

func TestLossProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	for range 15 {
		groups, delta := randomGroups(rng, WithoutReplacement, 60), logUniform(rng, 1e-9, 1e-3)
		loss, err := Compose(delta, groups...)
		if err != nil {
			t.Fatal(err)
		}
		epsilon := loss.Epsilon(delta)

		// The order of the groups is irrelevant, and groups can be split.
		reversed := slices.Clone(groups)
		slices.Reverse(reversed)
		reversed = append(reversed, Group{groups[0].Step, 0})
		if got := epsilonOf(delta, reversed...); math.Abs(got-epsilon) > 1e-5*epsilon {
			t.Errorf("%+v: %v in one order, %v in the other", groups, epsilon, got)
		}
		// One more step costs more.
		more := slices.Clone(groups)
		more[0].Count++
		if got := epsilonOf(delta, more...); got < epsilon*(1-2e-5) {
			t.Errorf("%+v: one more step costs %v, less than %v", groups, got, epsilon)
		}
		if delta < 1e-6 {
			continue // tilted: precise to the right only
		}
		// All probability is accounted for.
		d := loss.directions[0]
		total := d.infinite
		for _, m := range d.mass {
			total += m
		}
		if total < 1-1e-12 || total > 1+1e-12 {
			t.Errorf("%+v: the masses sum to 1 and %g", groups, total-1)
		}
		// Replace-one is symmetric.
		for _, e := range []float64{0.01, 0.3, 2} {
			if got, want := loss.Delta(-e), -math.Expm1(-e)+math.Exp(-e)*loss.Delta(e); math.Abs(got-want) > 1e-4 {
				t.Errorf("%+v: delta(%v) is %v, its mirror image %v", groups, -e, got, want)
			}
		}
	}
}

func TestEpsilonIsMonotone(t *testing.T) {
	kinds := map[string]func(a float64) Step{
		"Gaussian": Gaussian, "Laplace": Laplace, "pure": Pure,
		"truncated Laplace":  func(a float64) Step { return TruncatedLaplace(a, 30) },
		"truncated Gaussian": func(a float64) Step { return TruncatedGaussian(a, 8) },
		"Poisson":            func(a float64) Step { return subsample(Gaussian(a), 0.1, Poisson) },
		"batch":              func(a float64) Step { return subsample(Laplace(a), 0.1, WithoutReplacement) },
	}
	for name, kind := range kinds {
		last := 0.0
		for i := range 12 {
			got := epsilonOf(1e-5, Group{kind(0.05 * math.Pow(1.4, float64(i))), 20})
			if !(got > last) {
				t.Errorf("%s: a larger sensitivity costs %v, no more than %v", name, got, last)
			}
			last = got
		}
		last = 0
		for i := range 10 {
			got := epsilonOf(1e-5, Group{kind(0.2), 1 << i})
			if !(got > last) {
				t.Errorf("%s: %d steps cost %v, no more than %v", name, 1<<i, got, last)
			}
			last = got
		}
	}
}

// Far from the delta that was given, answers are larger and never too small.
func TestLossFarFromDelta(t *testing.T) {
	mu := 0.5 * math.Sqrt(10)
	for _, at := range []float64{0.5, 1e-3, 1e-12, 1e-30, 1e-250} {
		loss, err := Compose(at, Group{Gaussian(0.5), 10}, Group{Laplace(1e-6), 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, epsilon := range []float64{-5, -1, 0, 0.5, 2, 8, 20, 60} {
			if got, want := loss.Delta(epsilon), GaussianDelta(epsilon, mu); got < want*(1-1e-9) || got > 1 {
				t.Errorf("composed at %v: delta(%v) is %v, below %v", at, epsilon, got, want)
			}
		}
		for _, delta := range []float64{0.9, 0.1, 1e-6, 1e-20, 1e-100} {
			if got, want := loss.Epsilon(delta), GaussianEpsilon(delta, mu); got < want*(1-1e-9) {
				t.Errorf("composed at %v: epsilon(%v) is %v, below %v", at, delta, got, want)
			}
		}
	}
}

// Any size of step has an answer, in bounded time, that is not too small.
func TestComposeExtremes(t *testing.T) {
	for _, c := range []struct {
		name     string
		delta    float64
		groups   []Group
		min, max float64 // epsilon
	}{
		{"nothing", 1e-6, nil, 0, 0},
		{"no sensitivity", 1e-6, []Group{{Gaussian(0), 10}, {Laplace(0), 4}, {Pure(0), 2}}, 0, 0},
		{"no count", 1e-6, []Group{{Laplace(3), 0}}, 0, 0},
		{"least Laplace", 1e-6, []Group{{Laplace(5e-324), 10}}, 0, 0},
		{"tiny Laplace", 1e-12, []Group{{Laplace(1e-10), 10}}, 0.9e-9, 1e-9},
		{"tiny Laplace, tiny delta", 1e-300, []Group{{Laplace(1e-200), 3}}, 2.99e-200, 3e-200},
		{"huge pure", 1e-6, []Group{{Pure(1e300), 2}}, 1.99e300, 2e300},
		{"huge Gaussian", 1e-6, []Group{{Gaussian(100), 1}}, GaussianEpsilon(1e-6, 100), GaussianEpsilon(1e-6, 100) * 1.001},
		{"far apart", 1e-30, []Group{{Gaussian(0.3), 7}, {Laplace(1e-9), 1}}, 9.2246341, 9.226},
		{"least delta", 1e-300, []Group{{Laplace(0.1), 100}}, 9.9, 10},
		{"rarely any", 1e-6, []Group{{subsample(Gaussian(1), 1e-7, Poisson), 1000}}, 0, 1e-3},
		{"only infinite", 1e-6, []Group{{ApproxPure(0, 1e-8), 10}}, 0, 0},
		{"infinite over delta", 1e-6, []Group{{ApproxPure(0, 1e-6), 10}}, math.Inf(1), math.Inf(1)},
		{"disjoint", 1e-6, []Group{{TruncatedLaplace(2, 0.7), 1}}, math.Inf(1), math.Inf(1)},
		{"nearly disjoint", 1e-3, []Group{{TruncatedGaussian(1, 0.5001), 60}}, math.Inf(1), math.Inf(1)},
	} {
		if got := epsilonOf(c.delta, c.groups...); !(got >= c.min && got <= c.max) {
			t.Errorf("%s: epsilon is %v, want %v to %v", c.name, got, c.min, c.max)
		}
	}
}

func TestComposeRefuses(t *testing.T) {
	many := make([]Group, MaxGroups+1)
	for i := range many {
		many[i] = Group{Pure(float64(i)), 1}
	}
	for name, groups := range map[string][]Group{
		"no step":         {{nil, 1}},
		"negative count":  {{Laplace(1), -1}},
		"too many":        {{Laplace(1), maxSteps}, {Laplace(1), 1}},
		"overflow":        {{Laplace(1), 1<<(bits.UintSize-1) - 1}},
		"too different":   many,
		"no protection":   {{Gaussian(1e200), 1}},
		"mixed adjacency": {{subsample(Laplace(1), 0.5, Poisson), 1}, {subsample(Laplace(1), 0.5, WithoutReplacement), 1}},
	} {
		if _, err := Compose(1e-6, groups...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, delta := range []float64{0, -1, 0.6, math.NaN(), math.Inf(1)} {
		if _, err := Compose(delta, Group{Laplace(1), 1}); err == nil {
			t.Errorf("a delta of %v is accepted", delta)
		}
	}
	loss, err := Compose(1e-6, Group{Laplace(1), 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Loss{loss, {}} {
		if d := l.Delta(math.NaN()); d != 1 {
			t.Errorf("delta at no number is %v", d)
		}
		for _, delta := range []float64{math.NaN(), -1} {
			if e := l.Epsilon(delta); !math.IsInf(e, 1) {
				t.Errorf("epsilon at %v is %v", delta, e)
			}
		}
	}
	if e := new(Loss).Epsilon(0.5); !math.IsInf(e, 1) {
		t.Errorf("a loss that was never composed has epsilon %v", e)
	}
}
