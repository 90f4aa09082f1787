package privacy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"p2pnode/privacy/accountant"
)

// The exact loss of what a cohort took part in, Gaussian and Laplace mixed, is within
// the budget: the Renyi filter is never tight, so a numerical composition can tell.
func TestRenyiFilterAgainstAdversary(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(13, seed))
		b := Budget{math.Exp(rng.Float64()*4 - 2.5), math.Exp(-rng.Float64()*20 - 2)}
		order := 1 + math.Exp(rng.Float64()*3)*math.Sqrt(-math.Log(b.Delta))/b.Epsilon
		p := Policy{Terms: Terms{Budget: b, Dimension: 1 + rng.IntN(50), Accounting: RenyiFilter, Order: order}}
		a, err := NewAccount(p)
		if err != nil {
			continue // the order says nothing about this budget
		}
		// Few distinct mechanisms, so that the composition is quick.
		var choice []Mechanism
		for k := range 4 {
			mu := math.Sqrt(2 * math.Exp2(-float64(2*k+1)) * a.limit / order)
			choice = append(choice, mustGaussian(t, 1, 2/mu), must(t)(NewLaplace(1, 2/mu)))
		}
		v := adversary{rng: rng, account: a}
		v.choose = func(float64) Mechanism {
			if m, ok := v.foreign(t); ok {
				return m
			}
			return choice[rng.IntN(len(choice))]
		}
		v.attack(t, 300)
		v.checkReplay(t, p)
		c, paid := v.busiest()
		if delta := exactDelta(t, p.Terms, paid); delta > b.Delta {
			t.Errorf("%+v, order %v: cohort %d has delta %v", b, order, c, delta)
		}
	}
}

// exactDelta is the delta, at the epsilon of the terms, of releases of the
// mechanisms, by numerical composition of the continuous steps that dominate them.
func exactDelta(t *testing.T, terms Terms, paid []Mechanism) float64 {
	t.Helper()
	counts := map[Mechanism]int{}
	for _, m := range paid {
		counts[m]++
	}
	var groups []accountant.Group
	for m, n := range counts {
		var step accountant.Step
		switch s, scale := float64(m.sensitivity()), float64(m.sigma); m.noise {
		case Gaussian, TruncatedGaussian:
			step = accountant.Gaussian(s / scale)
		case Laplace:
			step = accountant.Laplace((s + float64(terms.Dimension)) / scale)
		case TruncatedLaplace:
			step = accountant.TruncatedLaplace((s+float64(terms.Dimension))/scale, float64(m.bound)/scale)
		default:
			t.Fatalf("%+v was admitted", m)
		}
		if m.slots > 0 {
			var err error
			if step, err = accountant.Subsampled(step, float64(m.batch)/float64(m.slots), accountant.WithoutReplacement); err != nil {
				t.Fatal(err)
			}
		}
		groups = append(groups, accountant.Group{Step: step, Count: n})
	}
	loss, err := accountant.Compose(terms.Budget.Delta, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return loss.Delta(terms.Budget.Epsilon)
}

// A plan admits its k-th mechanism at its k-th release and nothing else, once for
// each cohort; what any cohort took part in is within the budget.
func TestPlanAgainstAdversary(t *testing.T) {
	t.Parallel()
	for seed, d := range []Design{
		{Noise: Gaussian}, {Noise: Laplace}, {Noise: TruncatedLaplace, Batch: 3, Slots: 20},
		{Noise: TruncatedGaussian, Pace: Growing, Contraction: 0.7},
		{Noise: Laplace, Pace: Growing, Contraction: 0.7, Batch: 1, Slots: 2},
	} {
		d.Budget, d.Dimension, d.Clip, d.Releases, d.Accounting = Budget{0.7, 1e-7}, 12, 1, 6, CommittedPlan
		p := mustPolicy(t, d)
		rng := rand.New(rand.NewPCG(14, uint64(seed)))
		v := adversary{rng: rng, account: mustOpen(t, p)}
		v.choose = func(float64) Mechanism {
			if m, ok := v.foreign(t); ok {
				return m
			}
			// The right one, mostly; the one before or after it, sometimes.
			m, ok := p.Schedule.at(max(0, v.account.Position()+rng.IntN(9)/4-rng.IntN(5)/4))
			if !ok {
				t.Fatal("the schedule is empty")
			}
			return m
		}
		v.attack(t, 60)
		v.checkReplay(t, p)
		if n := v.account.Position(); n != d.Releases {
			t.Errorf("%s: the attack ends at step %d of %d", d.Noise, n, d.Releases)
		}
		c, paid := v.busiest()
		if len(paid) > d.Releases {
			t.Errorf("%s: cohort %d took part in %d releases", d.Noise, c, len(paid))
		}
		if delta := exactDelta(t, p.Terms, paid); delta > d.Budget.Delta*(1+1e-9) {
			t.Errorf("%s: cohort %d has delta %v", d.Noise, c, delta)
		}
		v.checkSteps(t, p)
		for _, m := range append(slices.Clone(v.paid[3]), must(t)(NewUnprotected(1)), Mechanism{}) {
			if debits := v.account.Admit(m, []Cohort{100}); len(debits) > 0 {
				t.Errorf("%s: %v is admitted after the last step", d.Noise, debits)
			}
		}
	}
}

// checkSteps checks in the history of a plan that every step was used by one release and
// that no cohort paid a step twice.
func (v *adversary) checkSteps(t *testing.T, p Policy) {
	t.Helper()
	step := 0.0
	for _, e := range v.history {
		if len(e.debits) == 0 {
			continue
		}
		step++
		seen := map[Cohort]bool{}
		for _, d := range e.debits {
			if d.Cost != step || seen[d.Cohort] {
				t.Errorf("debit %+v in the release of step %v", d, step)
			}
			seen[d.Cohort] = true
		}
	}
	if int(step) > p.Schedule.Releases() {
		t.Errorf("%v steps of %d", step, p.Schedule.Releases())
	}
}

// busiest is the cohort that spent most, and what it took part in.
func (v *adversary) busiest() (Cohort, []Mechanism) {
	most := Cohort(0)
	for c := range v.paid {
		if v.account.Spent(c) > v.account.Spent(most) || v.account.Spent(c) == v.account.Spent(most) && c < most {
			most = c
		}
	}
	return most, v.paid[most]
}
