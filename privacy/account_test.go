package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

func mustAccount(t testing.TB, b Budget, dim int) *Account {
	t.Helper()
	a, err := NewAccount(Policy{Terms: Terms{Budget: b, Dimension: dim, Accounting: GaussianFilter}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// spend pays for one release of m if it can.
func spend(t testing.TB, a *Account, m Mechanism, c Cohort) bool {
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

func TestAdmit(t *testing.T) {
	b := Budget{1, 1e-6}
	m := mustCalibrate(t, b, 1, 3, 10)
	a := mustAccount(t, b, 10)
	for range 3 {
		spend(t, a, m, 5)
	}
	got := a.Admit(m, []Cohort{9, 5, 2, 9, 7, 2})
	want := []Debit{{Cohort: 9, Cost: m.muSquared()}, {Cohort: 2, Cost: m.muSquared()}, {Cohort: 7, Cost: m.muSquared()}}
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
		if err := a.Apply(Debit{Cohort: 1, Cost: v}); err == nil {
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

// Who was retired pays for nothing, at no price; who came later does. To retire less than
// before changes nothing.
func TestRetire(t *testing.T) {
	everyAccount(t, func(t *testing.T, a *Account, m Mechanism) {
		cohorts := []Cohort{0, 4, 5, math.MaxUint64}
		if a.Retired(0) || len(a.Admit(m, cohorts)) != 4 {
			t.Error("cohorts begin retired")
		}
		spend(t, a, m, 4)
		m, _ = a.policy.Next(a.Position())
		price, _ := a.Price(m)
		spent := a.Spent(4)
		a.Retire(4)
		a.Retire(2)
		debits := a.Admit(m, cohorts)
		if !slices.Equal(debits, []Debit{{Cohort: 5, Cost: price}, {Cohort: math.MaxUint64, Cost: price}}) {
			t.Errorf("admitted %v", debits)
		}
		for _, c := range []Cohort{0, 4} {
			if !a.Retired(c) || !a.Exhausted(c, m) || a.Left(c) != 0 || a.Apply(Debit{Cohort: c, Cost: price}) == nil {
				t.Errorf("cohort %d is not retired", c)
			}
		}
		if a.Spent(4) != spent || a.Releases(4) != 1 || a.Retired(5) || a.Left(5) == 0 {
			t.Error("to retire changes what was spent, or who comes later")
		}
		a.Retire(math.MaxUint64)
		if len(a.Admit(m, cohorts)) != 0 {
			t.Error("somebody is left when all are retired")
		}
	})
}

// everyAccount calls f with an account of each accounting, and its first mechanism.
func everyAccount(t *testing.T, f func(*testing.T, *Account, Mechanism)) {
	for _, d := range []Design{
		{Accounting: GaussianFilter}, {Accounting: PureFilter, Noise: Laplace},
		{Accounting: RenyiFilter}, {Accounting: CommittedPlan},
	} {
		d.Budget, d.Dimension, d.Clip, d.Releases = Budget{1, 1e-6}, 4, 1, 7
		p := mustPolicy(t, d)
		m, _ := p.Next(0)
		t.Run(string(d.Accounting), func(t *testing.T) { f(t, mustOpen(t, p), m) })
	}
}

// Position, Releases and Left count what was paid, each in its own way.
func TestCounting(t *testing.T) {
	everyAccount(t, func(t *testing.T, a *Account, m Mechanism) {
		plan := a.policy.Terms.Accounting == CommittedPlan
		for k := range 7 {
			debits := a.Admit(m, []Cohort{9, Cohort(k % 2)}) // the one with fewer releases pays last
			for _, d := range debits {
				if err := a.Apply(d); err != nil {
					t.Fatal(err)
				}
			}
			left := 7 - (k+2-k%2)/2 // of cohort 0, which took part in every second
			if plan {
				left = 7 - (k + 1)
			}
			if len(debits) != 2 || a.Position() != k+1 || a.Releases(9) != k+1 || a.Left(9) != 6-k || a.Left(0) != left {
				t.Fatalf("after %d: %v, position %d, %d left for 9 and %d for 0, want %d", k+1, debits, a.Position(), a.Left(9), a.Left(0), left)
			}
		}
		if s := a.Spent(9); s < 1-1e-6 || s > 1 {
			t.Errorf("%v is spent", s)
		}
		// A cohort that comes late has its whole budget under a filter, and what is
		// left of the plan under a plan.
		if late, want := a.Left(50), map[bool]int{true: 0, false: 7}[plan]; late != want {
			t.Errorf("a late cohort has %d left, want %d", late, want)
		}
	})
}

// What cannot be opened: each with a reason.
func TestNewAccountErrors(t *testing.T) {
	gaussian := must(t)(NewGaussian(1, 100))
	sampled := must(t)(gaussian.Subsampled(1, 2))
	wide := must(t)(gaussian.Bounded(1, 99))
	b := Budget{1, 1e-6}
	for name, p := range map[string]Policy{
		"nothing":         {},
		"budget":          {Terms: Terms{Dimension: 1, Accounting: GaussianFilter}},
		"dimension":       {Terms: Terms{Budget: b, Accounting: GaussianFilter}},
		"accounting":      {Terms: Terms{Budget: b, Dimension: 1, Accounting: "sum"}},
		"no order":        {Terms: Terms{Budget: b, Dimension: 1, Accounting: RenyiFilter}},
		"order one":       {Terms: Terms{Budget: b, Dimension: 1, Accounting: RenyiFilter, Order: 1}},
		"order NaN":       {Terms: Terms{Budget: b, Dimension: 1, Accounting: RenyiFilter, Order: math.NaN()}},
		"order infinite":  {Terms: Terms{Budget: b, Dimension: 1, Accounting: RenyiFilter, Order: math.Inf(1)}},
		"order too low":   {Terms: Terms{Budget: b, Dimension: 1, Accounting: RenyiFilter, Order: 1.5}},
		"stray order":     {Terms: Terms{Budget: b, Dimension: 1, Accounting: GaussianFilter, Order: 2}},
		"stray plan":      {Terms: Terms{Budget: b, Dimension: 1, Accounting: GaussianFilter, Plan: [32]byte{1}}},
		"laplace in gdp":  {Terms: Terms{Budget: b, Dimension: 1, Accounting: GaussianFilter}, Schedule: NewSchedule(Step{must(t)(NewLaplace(1, 100)), 1})},
		"gaussian pure":   {Terms: Terms{Budget: b, Dimension: 1, Accounting: PureFilter}, Schedule: NewSchedule(Step{gaussian, 1})},
		"sampled":         {Terms: Terms{Budget: b, Dimension: 1, Accounting: GaussianFilter}, Schedule: NewSchedule(Step{gaussian, 1}, Step{sampled, 1})},
		"too wide":        {Terms: Terms{Budget: b, Dimension: 98, Accounting: GaussianFilter}, Schedule: NewSchedule(Step{wide, 1})},
		"unprotected":     {Terms: Terms{Budget: b, Dimension: 1, Accounting: GaussianFilter}, Schedule: NewSchedule(Step{must(t)(NewUnprotected(1)), 1})},
		"zero mechanism":  {Terms: Terms{Budget: b, Dimension: 1, Accounting: GaussianFilter}, Schedule: NewSchedule(Step{Mechanism{}, 1})},
		"all coordinates": {Terms: Terms{Budget: Budget{1e-12, 1e-6}, Dimension: math.MaxInt32, Accounting: GaussianFilter}},
	} {
		if _, err := NewAccount(p); err == nil {
			t.Errorf("%s: an account is opened", name)
		}
	}
}

// Nothing but a policy makes an account that admits anything: the zero one has no limit,
// and there is no field to set.
func TestZeroAccount(t *testing.T) {
	var a Account
	m := mustGaussian(t, 1, 1000)
	if len(a.Admit(m, []Cohort{1})) != 0 || !a.Exhausted(1, m) || a.Share(m) != 0 || a.Left(1) != 0 {
		t.Error("the zero account admits something")
	}
	for _, cost := range []float64{0, 1e-300, 1, math.NaN(), math.Inf(1)} {
		if a.Apply(Debit{Cohort: 1, Cost: cost}) == nil {
			t.Errorf("the zero account accepts a debit of %v", cost)
		}
	}
	for i := range reflect.TypeFor[Account]().NumField() {
		if f := reflect.TypeFor[Account]().Field(i); f.IsExported() {
			t.Errorf("Account.%s can be set from outside", f.Name)
		}
	}
}

// A number from the offline accountant cannot be spent: what a method of an account takes is
// mechanisms and cohorts, and the one number, of a debit, only adds to what was spent.
func TestAccountsTakeNoNumbers(t *testing.T) {
	account := reflect.TypeFor[*Account]()
	for i := range account.NumMethod() {
		method := account.Method(i)
		for j := 1; j < method.Type.NumIn(); j++ {
			switch in := method.Type.In(j); in {
			case reflect.TypeFor[Mechanism](), reflect.TypeFor[Cohort](), reflect.TypeFor[[]Cohort]():
			case reflect.TypeFor[Debit]():
				if method.Name != "Apply" {
					t.Errorf("%s takes a debit", method.Name)
				}
			default:
				t.Errorf("%s takes a %s", method.Name, in)
			}
		}
	}
}

// What is kept for private sums, releases leave, and sums have it.
func TestReleasesLeaveWhatIsApart(t *testing.T) {
	design := Design{Budget: Budget{1, 1e-6}, Dimension: 3, Widest: 1000, Clip: 1, Releases: 4, Apart: 0.75}
	p, err := design.Policy()
	require.NoError(t, err)
	whole, err := Design{Budget: design.Budget, Dimension: 3, Clip: 1, Releases: 4}.Policy()
	require.NoError(t, err)
	m, _ := p.Next(0)
	full, _ := whole.Next(0)
	if ratio := m.Scale() / full.Scale(); math.Abs(ratio-2) > 1e-6 || p.Terms.Dimension != 1000 {
		t.Errorf("a quarter of the budget makes %v times the noise; terms %+v", ratio, p.Terms)
	}
	a, err := NewAccount(p)
	require.NoError(t, err)
	released := 0
	for spend(t, a, m, 1) {
		released++
	}
	if released != 4 || a.Left(1) != 0 || a.Left(2) != 4 || !a.Exhausted(1, m) {
		t.Errorf("%d releases, %d left", released, a.Left(1))
	}
	contributed := 0
	for ds := a.AdmitApart(m, []Cohort{1}); len(ds) == 1; ds = a.AdmitApart(m, []Cohort{1}) {
		require.NoError(t, a.Apply(ds[0]))
		contributed++
	}
	if contributed != 12 || a.Contributions(1) != 12 || a.Releases(1) != 4 || a.Spent(1) > 1 {
		t.Errorf("%d contributions, spent %v", contributed, a.Spent(1))
	}

	design.Apart = 1
	none, err := design.Policy()
	require.NoError(t, err)
	if _, ok := none.Next(0); ok {
		t.Error("a policy without releases has one")
	}
	if a, err = NewAccount(none); err != nil || a.Left(1) != 0 || len(a.AdmitApart(full, []Cohort{1})) != 1 || len(a.Admit(full, []Cohort{1})) != 0 {
		t.Errorf("all is apart: %v", err)
	}
	for _, wrong := range []float64{-0.1, 1.1, math.NaN()} {
		design.Apart = wrong
		if _, err := design.Policy(); err == nil || !strings.Contains(err.Error(), "choose a share from 0 to 1") {
			t.Errorf("a share of %v: %v", wrong, err)
		}
	}
}

// Where releases have more and more weight, what is left is counted with the prices that
// are to come.
func TestLeftOfAGrowingPace(t *testing.T) {
	d := Design{Budget: Budget{1, 1e-6}, Dimension: 3, Clip: 1, Releases: 6, Pace: Growing, Contraction: 0.5}
	p := mustPolicy(t, d)
	a := mustOpen(t, p)
	for k := range d.Releases {
		if got := a.Left(1); got != d.Releases-k {
			t.Errorf("after %d releases %d are left, want %d", k, got, d.Releases-k)
		}
		m, _ := p.Next(k)
		if !spend(t, a, m, 1) {
			t.Fatalf("release %d is not paid", k)
		}
	}
}
