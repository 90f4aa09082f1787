package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
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
	d := Debit{Cohort: Cohort(v.rng.IntN(7)), Cost: costs[v.rng.IntN(len(costs))]}
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
	a, err := NewAccount(p)
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

// A random adversary chooses every mechanism after seeing all that happened. In
// exact arithmetic no cohort ever spends more than its budget, and no release
// is refused that would have fitted with a 1e-9 of the budget to spare.
func TestFilterNeverOverspends(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(3, seed))
		b := randomBudget(rng)
		a := mustAccount(t, b, 1+rng.IntN(100))
		limit, slack := rational(a.limit), rational(a.limit*(1-1e-9))
		if math.Sqrt(a.limit) > b.Mu() {
			t.Fatalf("%+v: the limit itself is over the budget", b)
		}
		spent := map[Cohort]*big.Rat{}
		for range 300 {
			c := Cohort(rng.IntN(4))
			if spent[c] == nil {
				spent[c] = new(big.Rat)
			}
			// Anything from a thousandth of the whole budget to twice of it, and
			// often just what is left.
			share := math.Exp(rng.Float64()*7.6 - 6.9)
			if rng.IntN(4) == 0 {
				share = max(1e-6, 1-a.Spent(c))
			}
			m := mustGaussian(t, 1, 2/math.Sqrt(share*a.limit))
			after := new(big.Rat).Add(spent[c], price(m))
			admitted := spend(t, a, m, c)
			if admitted {
				spent[c] = after
			}
			if spent[c].Cmp(limit) > 0 {
				t.Fatalf("%+v: cohort %d is overspent", b, c)
			}
			if !admitted && after.Cmp(slack) < 0 {
				t.Errorf("%+v: a release is refused that fits easily", b)
			}
			exactShare, _ := new(big.Rat).Quo(spent[c], limit).Float64()
			if got := a.Spent(c); got < exactShare-1e-15 || got > exactShare+1e-12 || got > 1 {
				t.Errorf("%+v: spent is %v, exactly %v", b, got, exactShare)
			}
		}
	}
}
