package privacy

import (
	"strconv"
	"testing"
)

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

// Whatever the accounting, to decide on one cohort allocates nothing.
func TestDecisionsDoNotAllocate(t *testing.T) {
	for name, c := range decisions(t) {
		if n := testing.AllocsPerRun(100, func() {
			c.account.Price(c.m)
			c.account.Exhausted(3, c.m)
			c.account.Share(c.m)
			c.account.Spent(3)
		}); n != 0 {
			t.Errorf("%s: a decision allocates %v times", name, n)
		}
	}
}

type decision struct {
	account *Account
	m       Mechanism
}

// decisions is, for each accounting, an account with fifty cohorts that paid and the
// mechanism that is next. The plan has a thousand steps.
func decisions(t testing.TB) map[string]decision {
	b := Budget{1, 1e-6}
	filter := func(a Accounting, order float64) *Account {
		return mustOpen(t, Policy{Terms: Terms{Budget: b, Dimension: 10, Accounting: a, Order: order}})
	}
	gaussian, laplace := mustGaussian(t, 1, 1000), must(t)(NewLaplace(1, 10000))
	var steps []Step
	for k := range 1000 {
		steps = append(steps, Step{mustGaussian(t, 1, 5000+float64(k)), 1})
	}
	plan := Policy{Terms: Terms{Budget: b, Dimension: 10, Accounting: CommittedPlan}, Schedule: NewSchedule(steps...)}
	plan.Terms.Plan = plan.Schedule.Hash()
	all := map[string]decision{
		"gdp":            {filter(GaussianFilter, 0), gaussian},
		"pure":           {filter(PureFilter, 0), laplace},
		"renyi/gaussian": {filter(RenyiFilter, 20), gaussian},
		"renyi/laplace":  {filter(RenyiFilter, 20), laplace},
		"plan":           {mustOpen(t, plan), steps[0].Mechanism},
	}
	for name, c := range all {
		for cohort := range Cohort(50) {
			if name != "plan" && !spend(t, c.account, c.m, cohort) {
				t.Fatalf("%s: cohort %d cannot pay", name, cohort)
			}
		}
	}
	return all
}

// BenchmarkDecision is price and affordability of one cohort.
func BenchmarkDecision(b *testing.B) {
	for name, c := range decisions(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c.account.Exhausted(3, c.m) {
					b.Fatal("exhausted")
				}
			}
		})
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
