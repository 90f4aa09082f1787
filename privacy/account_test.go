package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func mustAccount(t testing.TB, b Budget, dim int) *Account {
	t.Helper()
	a, err := OpenAccount(Policy{Terms: Terms{Budget: b, Dimension: dim, Accounting: GaussianFilter}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// spend pays for one release of m if it can.
func spend(t *testing.T, a *Account, m Mechanism, c Cohort) bool {
	t.Helper()
	debits := a.Admit(m, []Cohort{c})
	for _, d := range debits {
		if err := a.Apply(d); err != nil {
			t.Fatalf("admitted, then refused: %v", err)
		}
	}
	return len(debits) == 1
}

// rational is the exact value of a finite float64.
func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// price is (2 clip/sigma)^2 of a mechanism in exact arithmetic.
func price(m Mechanism) *big.Rat {
	mu := big.NewRat(2*m.clip, m.sigma)
	return new(big.Rat).Mul(mu, mu)
}

func randomBudget(rng *rand.Rand) Budget {
	return Budget{math.Exp(rng.Float64()*9 - 5), math.Exp(-rng.Float64()*40 - 0.7)}
}

// However small the price, a cohort takes part in MaxReleases releases at most,
// because no more are charged for their discreteness.
func TestMaxReleases(t *testing.T) {
	b := Budget{100, 1e-6}
	a, m := mustAccount(t, b, 1), mustGaussian(t, 1, 1e6)
	d := a.Admit(m, []Cohort{1})[0]
	for i := range MaxReleases {
		if err := a.Apply(d); err != nil {
			t.Fatalf("release %d: %v", i+1, err)
		}
	}
	if a.Spent(1) > 0.5 {
		t.Fatalf("%v is spent, that is no test of the number", a.Spent(1))
	}
	if !a.Exhausted(1, m) || len(a.Admit(m, []Cohort{1, 2})) != 1 || a.Apply(d) == nil {
		t.Error("one more release is admitted")
	}
	last := mustCalibrate(t, b, 1, MaxReleases, 1)
	for spend(t, a, last, 2) {
	}
	if n := a.Releases(2); n != MaxReleases {
		t.Errorf("the largest calibration is admitted %d times", n)
	}
}

// A random adversary chooses every mechanism after seeing all that happened. In
// exact arithmetic no cohort ever spends more than its budget, and no release
// is refused that would have fitted with a 1e-9 of the budget to spare.
func TestFilterNeverOverspends(t *testing.T) {
	for seed := range uint64(60) {
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

func TestAdmit(t *testing.T) {
	b := Budget{1, 1e-6}
	m := mustCalibrate(t, b, 1, 3, 10)
	a := mustAccount(t, b, 10)
	for range 3 {
		spend(t, a, m, 5)
	}
	got := a.Admit(m, []Cohort{9, 5, 2, 9, 7, 2})
	want := []Debit{{9, m.muSquared()}, {2, m.muSquared()}, {7, m.muSquared()}}
	if !slices.Equal(got, want) {
		t.Errorf("admitted %v, want %v: in order, once each, without the exhausted", got, want)
	}
	if a.Spent(9) != 0 || a.Exhausted(9, m) || a.Spent(404) != 0 {
		t.Error("asking has spent something")
	}
	if got := a.Admit(m, nil); len(got) != 0 {
		t.Errorf("admitted %v for no cohorts", got)
	}
}

func TestUnprotectedIsNeverAdmitted(t *testing.T) {
	a := mustAccount(t, Budget{1e6, 0.5}, 1)
	m, err := NewUnprotected(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Mechanism{m, {}} {
		if len(a.Admit(m, []Cohort{1})) != 0 || !a.Exhausted(1, m) {
			t.Errorf("%+v is admitted", m)
		}
	}
}

// A ledger that was tampered with or belongs to another budget is noticed.
func TestApplyRefuses(t *testing.T) {
	a := mustAccount(t, Budget{1, 1e-6}, 1)
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), a.limit, a.limit * 2} {
		if err := a.Apply(Debit{1, v}); err == nil {
			t.Errorf("a debit of %v is applied", v)
		}
	}
	if a.Spent(1) != 0 {
		t.Errorf("refused debits have spent %v", a.Spent(1))
	}
}

// Replaying the debits gives the same account, to the last bit.
func TestReplay(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	b := Budget{2, 1e-8}
	a, again := mustAccount(t, b, 20), mustAccount(t, b, 20)
	for range 200 {
		m := mustGaussian(t, 1, 20*math.Exp(rng.NormFloat64()))
		for _, d := range a.Admit(m, []Cohort{1, 2, Cohort(rng.IntN(9))}) {
			if err := a.Apply(d); err != nil {
				t.Fatal(err)
			}
			if err := again.Apply(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	for c := range Cohort(9) {
		if a.Spent(c) != again.Spent(c) {
			t.Errorf("cohort %d: %v replayed as %v", c, a.Spent(c), again.Spent(c))
		}
	}
}

func TestDecisionsAllocateOnlyTheResult(t *testing.T) {
	a, m := mustAccount(t, Budget{1, 1e-6}, 10), mustGaussian(t, 1, 100)
	cohorts := make([]Cohort, 50)
	for i := range cohorts {
		cohorts[i] = Cohort(i)
		spend(t, a, m, cohorts[i])
	}
	if n := testing.AllocsPerRun(100, func() { a.Admit(m, cohorts) }); n > 1 {
		t.Errorf("Admit allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { a.Exhausted(3, m); a.Spent(3) }); n != 0 {
		t.Errorf("Exhausted and Spent allocate %v times", n)
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			a, m := mustAccount(b, Budget{1, 1e-6}, 30), mustGaussian(b, 1, 100)
			cohorts := make([]Cohort, n)
			for i := range cohorts {
				cohorts[i] = Cohort(i)
			}
			for b.Loop() {
				a.Admit(m, cohorts)
			}
		})
	}
}
