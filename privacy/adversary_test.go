package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"p2pnode/privacy/accountant"
)

// event is one thing that happened to an account: debits of one release, or a
// retirement.
type event struct {
	debits []Debit
	retire bool
	last   Cohort
}

// adversary attacks an account: after seeing all that happened it chooses any
// mechanism, any cohorts, forged debits and retirements. It keeps what every cohort
// took part in.
type adversary struct {
	rng     *rand.Rand
	account *Account
	choose  func(share float64) Mechanism // a mechanism of about this share of the budget
	paid    map[Cohort][]Mechanism
	history []event
}

func (v *adversary) attack(t *testing.T, moves int) {
	t.Helper()
	v.paid = map[Cohort][]Mechanism{}
	for range moves {
		switch v.rng.IntN(12) {
		case 0:
			v.forge(t)
		case 1:
			if v.rng.IntN(6) == 0 {
				last := Cohort(v.rng.IntN(3))
				v.account.Retire(last)
				v.history = append(v.history, event{retire: true, last: last})
			}
		default:
			v.release(t)
		}
	}
}

func (v *adversary) release(t *testing.T) {
	t.Helper()
	cohorts := make([]Cohort, 1+v.rng.IntN(4))
	for i := range cohorts {
		cohorts[i] = Cohort(v.rng.IntN(7))
	}
	share := math.Exp(v.rng.Float64()*7 - 6.5)
	if v.rng.IntN(3) == 0 { // just what is left to the first
		share = max(1e-4, 1-v.account.Spent(cohorts[0]))
	}
	m := v.choose(share)
	debits := v.account.Admit(m, cohorts)
	for _, d := range debits {
		if v.account.Retired(d.Cohort) || v.account.Exhausted(d.Cohort, m) {
			t.Errorf("cohort %d is admitted and exhausted", d.Cohort)
		}
	}
	for _, d := range debits {
		if err := v.account.Apply(d); err != nil {
			t.Errorf("admitted, then refused: %v", err)
		}
		v.paid[d.Cohort] = append(v.paid[d.Cohort], m)
	}
	v.history = append(v.history, event{debits: debits})
}

// forge tries debits that no admission gave. Those with another price than the
// terms have are accepted as long as they add up, so only the ones that never make
// sense are tried.
func (v *adversary) forge(t *testing.T) {
	t.Helper()
	costs := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 2 * v.account.limit, v.account.limit + 1}
	d := Debit{Cohort(v.rng.IntN(7)), costs[v.rng.IntN(len(costs))]}
	spent, position := v.account.Spent(d.Cohort), v.account.Position()
	if v.account.Apply(d) == nil || v.account.Spent(d.Cohort) != spent || v.account.Position() != position {
		t.Errorf("a debit of %v is accepted", d.Cost)
	}
}

// checkReplay replays the history into a fresh account and compares everything.
func (v *adversary) checkReplay(t *testing.T, p Policy) {
	t.Helper()
	again := mustOpen(t, p)
	for _, e := range v.history {
		if e.retire {
			again.Retire(e.last)
		}
		for _, d := range e.debits {
			if err := again.Apply(d); err != nil {
				t.Fatalf("replay: %v", err)
			}
		}
	}
	for c := range Cohort(7) {
		a := v.account
		if a.Spent(c) != again.Spent(c) || a.Releases(c) != again.Releases(c) || a.Retired(c) != again.Retired(c) ||
			a.Position() != again.Position() || a.Left(c) != again.Left(c) {
			t.Errorf("cohort %d is replayed as another", c)
		}
		if a.Releases(c) != len(v.paid[c]) || a.Spent(c) > 1 || a.Spent(c) < 0 {
			t.Errorf("cohort %d: %d releases, %v spent, paid %d times", c, a.Releases(c), a.Spent(c), len(v.paid[c]))
		}
	}
}

func mustOpen(t testing.TB, p Policy) *Account {
	t.Helper()
	a, err := OpenAccount(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The exact sum of squared mu of a cohort is never over what its budget allows.
func TestGaussianFilterAgainstAdversary(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(11, seed))
		p := Policy{Terms: Terms{Budget: randomBudget(rng), Dimension: 1 + rng.IntN(50), Accounting: GaussianFilter}}
		v := adversary{rng: rng, account: mustOpen(t, p)}
		v.choose = func(share float64) Mechanism {
			if m, ok := v.foreign(t); ok {
				return m
			}
			m := mustGaussian(t, 1, 2/math.Sqrt(share*v.account.limit))
			if rng.IntN(3) == 0 {
				m = must(t)(m.Bounded(1.7, p.Terms.Dimension))
			}
			return m
		}
		v.attack(t, 200)
		v.checkReplay(t, p)
		for c, paid := range v.paid {
			sum := new(big.Rat)
			for _, m := range paid {
				mu := big.NewRat(m.sensitivity(), m.sigma)
				sum.Add(sum, mu.Mul(mu, mu))
			}
			total, _ := sum.Float64()
			if delta := accountant.GaussianDelta(p.Terms.Budget.Epsilon, math.Sqrt(total)); delta > p.Terms.Budget.Delta {
				t.Errorf("%+v: cohort %d has delta %v", p.Terms.Budget, c, delta)
			}
		}
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

// foreign is, sometimes, a mechanism that no filter has a price for.
func (v *adversary) foreign(t *testing.T) (m Mechanism, ok bool) {
	t.Helper()
	switch v.rng.IntN(40) {
	case 0:
		return Mechanism{}, true
	case 1:
		return must(t)(NewUnprotected(1)), true
	case 2:
		return must(t)(NewTruncatedGaussian(1, 1e6, 5e6)), true
	case 3:
		return must(t)(NewTruncatedLaplace(1, 1e6, 5e6)), true
	case 4:
		return must(t)(mustGaussian(t, 1, 1e6).Subsampled(1, 10)), true
	}
	return Mechanism{}, false
}

// The exact sum of epsilons, the unit for discreteness included, is never over
// epsilon.
func TestPureFilterAgainstAdversary(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(12, seed))
		b := randomBudget(rng)
		p := Policy{Terms: Terms{Budget: b, Dimension: 1 + rng.IntN(50), Accounting: PureFilter}}
		v := adversary{rng: rng, account: mustOpen(t, p)}
		v.choose = func(share float64) Mechanism {
			if m, ok := v.foreign(t); ok {
				return m
			}
			return must(t)(NewLaplace(1, 2/(share*b.Epsilon)))
		}
		v.attack(t, 200)
		v.checkReplay(t, p)
		budget := rational(b.Epsilon)
		for c, paid := range v.paid {
			sum := new(big.Rat)
			for _, m := range paid {
				sum.Add(sum, big.NewRat(2*m.clip+int64(p.Terms.Dimension), m.sigma))
			}
			if sum.Cmp(budget) > 0 {
				t.Errorf("%+v: cohort %d is overspent", b, c)
			}
		}
	}
}

// The exact loss of what a cohort took part in, Gaussian and Laplace mixed, is within
// the budget: the Renyi filter is never tight, so a numerical composition can tell.
func TestRenyiFilterAgainstAdversary(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(13, seed))
		b := Budget{math.Exp(rng.Float64()*4 - 2.5), math.Exp(-rng.Float64()*20 - 2)}
		order := 1 + math.Exp(rng.Float64()*3)*math.Sqrt(-math.Log(b.Delta))/b.Epsilon
		p := Policy{Terms: Terms{Budget: b, Dimension: 1 + rng.IntN(50), Accounting: RenyiFilter, Order: order}}
		a, err := OpenAccount(p)
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
