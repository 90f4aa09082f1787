package privacy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"p2pnode/privacy/accountant"
)

func mustPolicy(t testing.TB, d Design) Policy {
	t.Helper()
	p, err := d.Policy()
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	return p
}

// everyDesign calls f with each combination of noise, accounting, pace and batch that
// has a meaning.
func everyDesign(t *testing.T, f func(*testing.T, Design)) {
	for _, c := range []struct {
		accounting Accounting
		noises     []Noise
		batches    []int
	}{
		{GaussianFilter, []Noise{Gaussian}, []int{0}},
		{PureFilter, []Noise{Laplace}, []int{0}},
		{RenyiFilter, []Noise{Gaussian, Laplace}, []int{0}},
		{CommittedPlan, []Noise{Gaussian, Laplace, TruncatedGaussian, TruncatedLaplace}, []int{0, 7}},
	} {
		for _, noise := range c.noises {
			for _, batch := range c.batches {
				for _, pace := range []Pace{Uniform, Growing, OneShot} {
					d := Design{Budget: Budget{0.8, 1e-6}, Dimension: 20, Clip: 3, Releases: 3, Noise: noise, Accounting: c.accounting, Pace: pace}
					switch pace {
					case Growing:
						d.Contraction = 0.8
					case OneShot:
						d.Releases = 1
					}
					if batch > 0 {
						d.Batch, d.Slots = batch, 50
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%d", c.accounting, noise, pace, batch), func(t *testing.T) {
						t.Parallel()
						f(t, d)
					})
				}
			}
		}
	}
}

// scaled is the schedule with all noise multiplied by factor, the bounds with it, on
// the same grid.
func scaled(s Schedule, factor float64) Schedule {
	steps := slices.Clone(s.steps)
	for i := range steps {
		m := &steps[i].Mechanism
		m.sigma = int64(float64(m.sigma) * factor)
		m.bound = int64(float64(m.bound) * factor)
	}
	return NewSchedule(steps...)
}

// What a design gives is what was asked for; an account pays for all of it, and would
// not with a thousandth less noise.
func TestEveryDesign(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustPolicy(t, d)
		if n := p.Schedule.Releases(); n != d.Releases {
			t.Errorf("%d releases, want %d", n, d.Releases)
		}
		a := mustOpen(t, p)
		if left := a.Left(1); left != d.Releases {
			t.Errorf("%d releases can be paid, want %d", left, d.Releases)
		}
		last := math.Inf(1)
		for k := range d.Releases {
			m, ok := p.Next(k)
			if !ok || m.noise != d.Noise || m.batch != d.Batch || m.slots != d.Slots || math.Abs(m.Clip()/d.Clip-1) > 1e-6 {
				t.Fatalf("release %d is %+v", k, m)
			}
			if d.Pace == Growing && m.Scale() >= last {
				t.Errorf("release %d has noise %v after %v", k, m.Scale(), last)
			}
			last = m.Scale()
			share, before := a.Share(m), a.Spent(1)
			if !spend(t, a, m, 1) {
				t.Fatalf("release %d cannot be paid", k)
			}
			if grown := a.Spent(1) - before; math.Abs(grown-share) > 1e-12 {
				t.Errorf("release %d costs %v, it should be %v", k, grown, share)
			}
			if left := a.Left(1); left != d.Releases-k-1 {
				t.Errorf("%d releases are left after %d", left, k+1)
			}
		}
		if s := a.Spent(1); s > 1 || s < 1-1e-6 {
			t.Errorf("%v of the budget is spent at the end", s)
		}
		if m, _ := p.Next(d.Releases - 1); !a.Exhausted(1, m) || a.Exhausted(2, m) != (d.Accounting == CommittedPlan) {
			t.Error("after the last release the wrong cohorts are exhausted")
		}
		cost, err := Design{}.costs(p.Terms)
		if err != nil {
			t.Fatal(err)
		}
		if over, err := cost(scaled(p.Schedule, 0.999)); err != nil || over <= 1 {
			t.Errorf("with less noise it costs %v of the budget, %v", over, err)
		}
	})
}

// Filters find the least noise to 1e-9 of it: two units of the noise less, and the last
// release is refused.
func TestFilterDesignsAreLeast(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		if d.Accounting == CommittedPlan {
			return // found to 1e-4
		}
		p := mustPolicy(t, d)
		steps := slices.Clone(p.Schedule.steps)
		for i := range steps {
			steps[i].Mechanism.sigma -= 2
		}
		cost, err := Design{}.costs(p.Terms)
		if err != nil {
			t.Fatal(err)
		}
		if over, err := cost(NewSchedule(steps...)); err != nil || over <= 1 {
			t.Errorf("with less noise it costs %v of the budget, %v", over, err)
		}
	})
}

// The accountings agree where they must: a plan needs no more noise than a filter,
// a batch less than all records, and Gaussian noise the same as under the exact
// filter.
func TestDesignsCompared(t *testing.T) {
	t.Parallel()
	noise := func(n Noise, a Accounting, batch int) float64 {
		d := Design{Budget: Budget{1, 1e-6}, Dimension: 5, Clip: 1, Releases: 20, Noise: n, Accounting: a}
		if batch > 0 {
			d.Batch, d.Slots = batch, 100
		}
		m, _ := mustPolicy(t, d).Next(0)
		return m.Scale()
	}
	gdp, plan := noise(Gaussian, GaussianFilter, 0), noise(Gaussian, CommittedPlan, 0)
	if plan < gdp*(1-1e-6) || plan > gdp*(1+1e-4) {
		t.Errorf("Gaussian: plan %v, filter %v", plan, gdp)
	}
	if renyi := noise(Gaussian, RenyiFilter, 0); renyi < gdp*1.02 || renyi > gdp*1.15 {
		t.Errorf("Gaussian: Renyi %v, filter %v", renyi, gdp)
	}
	pure, renyi, laplace := noise(Laplace, PureFilter, 0), noise(Laplace, RenyiFilter, 0), noise(Laplace, CommittedPlan, 0)
	if !(laplace < renyi && renyi < pure) || renyi > laplace*1.08 {
		t.Errorf("Laplace: plan %v, Renyi %v, pure %v", laplace, renyi, pure)
	}
	for full, cut := range map[float64]float64{plan: noise(TruncatedGaussian, CommittedPlan, 0), laplace: noise(TruncatedLaplace, CommittedPlan, 0)} {
		if cut < full*(1-1e-4) || cut > full*(1+1e-3) {
			t.Errorf("truncated %v, not truncated %v", cut, full)
		}
	}
	for _, batch := range []int{1, 50} {
		if sampled := noise(Gaussian, CommittedPlan, batch); sampled >= plan || sampled < plan*float64(batch)/100/2 {
			t.Errorf("batch of %d: %v, all records %v", batch, sampled, plan)
		}
	}
	if all := noise(Gaussian, CommittedPlan, 100); math.Abs(all/plan-1) > 2e-4 {
		t.Errorf("a batch of all records: %v, all records %v", all, plan)
	}
}

func TestDesignDefaults(t *testing.T) {
	d := Design{Budget: Budget{1, 1e-6}, Dimension: 5, Clip: 1, Releases: 3}
	p := mustPolicy(t, d)
	m, _ := p.Next(0)
	if p.Terms != (Terms{Budget: d.Budget, Dimension: 5, Accounting: GaussianFilter}) || m.Noise() != Gaussian || len(p.Schedule.steps) != 1 {
		t.Errorf("the default policy is %+v", p)
	}
	d.Noise = Laplace
	if p := mustPolicy(t, d); p.Terms.Accounting != PureFilter {
		t.Errorf("the accounting for Laplace noise is %q", p.Terms.Accounting)
	}
	d.Pace, d.Releases = OneShot, 0
	if p := mustPolicy(t, d); p.Schedule.Releases() != 1 {
		t.Errorf("one-shot has %d releases", p.Schedule.Releases())
	}
	unprotected := mustPolicy(t, Design{Noise: Unprotected, Clip: 3})
	if m, ok := unprotected.Next(17); !ok || m.Protected() || unprotected.Terms != (Terms{}) {
		t.Errorf("the unprotected policy is %+v", unprotected)
	}
	if _, err := NewAccount(unprotected); err == nil {
		t.Error("an account is opened for an unprotected policy")
	}
}

// Every choice without a meaning is an error that names something to choose instead.
func TestDesignErrors(t *testing.T) {
	good := Design{Budget: Budget{1, 1e-6}, Dimension: 5, Clip: 1, Releases: 3}
	for name, c := range map[string]struct {
		change func(*Design)
		says   string
	}{
		"budget":             {func(d *Design) { d.Budget.Epsilon = 0 }, "epsilon"},
		"dimension":          {func(d *Design) { d.Dimension = 0 }, "dimension"},
		"clip":               {func(d *Design) { d.Clip = math.NaN() }, "clip"},
		"noise":              {func(d *Design) { d.Noise = "uniform" }, "gaussian"},
		"accounting":         {func(d *Design) { d.Accounting = "zcdp" }, "renyi"},
		"pace":               {func(d *Design) { d.Pace = "faster" }, "growing"},
		"no releases":        {func(d *Design) { d.Releases = 0 }, "1 to"},
		"too many":           {func(d *Design) { d.Releases = MaxReleases + 1 }, "1 to"},
		"laplace in gdp":     {func(d *Design) { d.Noise, d.Accounting = Laplace, GaussianFilter }, `"pure"`},
		"gaussian in pure":   {func(d *Design) { d.Accounting = PureFilter }, `"gdp"`},
		"truncated":          {func(d *Design) { d.Noise = TruncatedGaussian }, `"plan"`},
		"truncated in renyi": {func(d *Design) { d.Noise, d.Accounting = TruncatedLaplace, RenyiFilter }, `"plan"`},
		"batch in gdp":       {func(d *Design) { d.Batch, d.Slots = 3, 10 }, `"plan"`},
		"batch without":      {func(d *Design) { d.Batch, d.Accounting = 3, CommittedPlan }, "slots"},
		"slots without":      {func(d *Design) { d.Slots, d.Accounting = 3, CommittedPlan }, "batch"},
		"large batch":        {func(d *Design) { d.Batch, d.Slots, d.Accounting = 11, 10, CommittedPlan }, "batch"},
		"one-shot of many":   {func(d *Design) { d.Pace = OneShot }, "1"},
		"no contraction":     {func(d *Design) { d.Pace = Growing }, "between 0 and 1"},
		"expansion":          {func(d *Design) { d.Pace, d.Contraction = Growing, 1 }, "between 0 and 1"},
		"stray contraction":  {func(d *Design) { d.Contraction = 0.5 }, "growing"},
		"hard contraction":   {func(d *Design) { d.Pace, d.Contraction, d.Releases = Growing, 0.01, 50 }, "nearer to 1"},
		"all different":      {func(d *Design) { growing(d, Laplace, 1025) }, "1024 at most, or pace"},
		"batches differ":     {func(d *Design) { growing(d, Gaussian, 1025); d.Batch, d.Slots = 3, 10 }, "1024 at most, or pace"},
		"tiny budget":        {func(d *Design) { d.Budget, d.Releases, d.Dimension = Budget{1e-9, 1e-300}, 60000, 1000 }, "larger"},
		"no signal":          {func(d *Design) { d.Budget = Budget{1e-9, 1e-300}; d.Noise = Laplace }, "larger"},
		"unprotected clip":   {func(d *Design) { d.Noise, d.Clip = Unprotected, -1 }, "clip"},
	} {
		d := good
		c.change(&d)
		p, err := d.Policy()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "privacy: ") {
			t.Errorf("%s: %v, %+v", name, err, p)
		}
	}
}

// growing makes a plan whose releases all differ.
func growing(d *Design, noise Noise, releases int) {
	d.Noise, d.Accounting, d.Pace, d.Contraction, d.Releases = noise, CommittedPlan, Growing, 0.9999, releases
}

// A plan may be of as many different releases as it can be composed of, and of any number
// where they are composed together or a filter adds them up.
func TestReleasesThatAllDiffer(t *testing.T) {
	d := Design{Budget: Budget{1, 1e-6}, Dimension: 3, Clip: 1}
	growing(&d, Laplace, accountant.MaxGroups)
	if err := d.validate(); err != nil {
		t.Error(err)
	}
	growing(&d, Gaussian, MaxReleases)
	if err := d.validate(); err != nil {
		t.Error(err)
	}
	growing(&d, Laplace, MaxReleases)
	d.Accounting = RenyiFilter
	if err := d.validate(); err != nil {
		t.Error(err)
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, noise := range []Noise{Gaussian, Laplace} {
		for _, pace := range []Pace{Uniform, Growing} {
			d := Design{Budget: Budget{1, 1e-6}, Dimension: 20, Clip: 1, Releases: 50, Noise: noise, Accounting: CommittedPlan, Pace: pace}
			if pace == Growing {
				d.Contraction = 0.9
			}
			b.Run(fmt.Sprintf("%s/%s", noise, pace), func(b *testing.B) {
				for b.Loop() {
					mustPolicy(b, d)
				}
			})
		}
	}
}
