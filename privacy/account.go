package privacy

import (
	"fmt"
	"slices"
)

// MaxReleases is the largest number of releases one cohort can take part in,
// whatever its budget: the discreteness of so many is charged in advance.
const MaxReleases = 1 << 16

// Account decides, per cohort, whether a release can be paid. Under a filter a
// release is admitted while the prices of the cohort's releases add up to at
// most a limit that implies the budget:
//
//	Gaussian  sum of (sensitivity/sigma)^2   Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2022
//	pure      sum of epsilon                 Rogers, Roth, Ullman, Vadhan 2016
//	Renyi     sum of divergences, one order  Feldman, Zrnic 2021
//
// This holds for mechanisms chosen after seeing all earlier releases. Under a
// plan the k-th release must have the mechanism of the schedule's k-th step,
// and the loss of the whole schedule was within the budget before the first.
//
// All rounding is against the spender. An account lives in memory: the caller
// keeps the debits and replays them through Apply. Not safe for concurrent use.
type Account struct {
	policy   Policy
	limit    float64 // of what is added up, rounded down; under a plan the number of its steps
	releases float64 // what of the limit releases may spend
	position int
	retired  bool   // cohorts up to and including last
	last     Cohort // that was retired
	spent    map[Cohort]expense
}

// expense is what a cohort paid: the sum of its prices, rounded up, and their
// number. Under a plan, in place of the sum, the step it paid last.
type expense struct {
	sum      float64
	released float64 // of releases alone
	releases int     // contributions included
	apart    int     // contributions
}

// Debit is the price of one release for one cohort.
type Debit struct {
	Cohort Cohort
	// Cost is in what the account adds up, rounded up. Under a plan it is the
	// number of the planned step, from 1.
	Cost float64
	// Apart says that it is for a contribution to a private sum: it uses the budget
	// as a release does, and no place of the schedule. A plan has none of them.
	Apart bool
}

// NewAccount returns an account in which every cohort has the policy's budget.
// It fails if the terms make no sense, if they know no price for a mechanism of
// the schedule and, under a plan, if the terms do not hold the schedule's hash
// or the schedule costs more than the budget.
func NewAccount(p Policy) (*Account, error) {
	a := &Account{policy: p, spent: make(map[Cohort]expense)}
	if p.Terms.Accounting == CommittedPlan {
		if err := p.checkPlan(); err != nil {
			return nil, err
		}
		a.limit = float64(p.Schedule.Releases())
		return a, nil
	}
	var err error
	if a.limit, err = p.Terms.limit(); err != nil {
		return nil, err
	}
	if !(p.Apart >= 0 && p.Apart <= 1) {
		return nil, fmt.Errorf("privacy: %v of the budget is kept apart for private sums, choose 0 to 1", p.Apart)
	}
	a.releases = p.releasable(a.limit)
	for _, step := range p.Schedule.steps {
		if err := p.Terms.priced(step.Mechanism); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Price is what one release of m costs a cohort under the account's terms, in
// what the account adds up; false when the terms know no price for it. Under a
// plan that is the number of the next step, for its mechanism alone.
func (a *Account) Price(m Mechanism) (cost float64, ok bool) {
	if a.policy.Terms.Accounting != CommittedPlan {
		return a.policy.Terms.price(m)
	}
	planned, ok := a.policy.Next(a.position)
	return float64(a.position + 1), ok && m == planned
}

// Share is what one release of m costs a cohort, as a share of its budget: by
// so much Spent grows. It is 0 for a mechanism without a price. Under a plan it
// is one step of all.
func (a *Account) Share(m Mechanism) float64 {
	cost, ok := a.Price(m)
	switch {
	case !ok:
		return 0
	case a.policy.Terms.Accounting == CommittedPlan:
		return 1 / a.limit
	}
	return cost / a.limit
}

// Admit returns the debits of those cohorts that can pay for one release of m,
// in the order given, and changes nothing. A cohort given twice is admitted
// once. A mechanism without a price is never admitted.
func (a *Account) Admit(m Mechanism, cohorts []Cohort) []Debit {
	return a.admit(make([]Debit, 0, 4), m, cohorts, false) // inlined: on the stack of callers that do not keep it
}

// AdmitApart is Admit for a contribution to a private sum.
func (a *Account) AdmitApart(m Mechanism, cohorts []Cohort) []Debit {
	return a.admit(nil, m, cohorts, true)
}

// admit is Admit in the memory of debits, which is empty.
func (a *Account) admit(debits []Debit, m Mechanism, cohorts []Cohort, apart bool) []Debit {
	price, ok := a.Price(m)
	if !ok {
		return nil
	}
	if len(cohorts) > cap(debits) {
		debits = make([]Debit, 0, len(cohorts))
	}
	var most Cohort // cohorts come in order, nearly always: then none is looked for
	for _, c := range cohorts {
		d := Debit{Cohort: c, Cost: price, Apart: apart}
		if _, ok := a.after(d); ok && (c > most || !slices.Contains(debits, d)) {
			debits = append(debits, d)
			most = max(most, c)
		}
	}
	return debits
}

// Apply records a debit. It returns an error and changes nothing if the debit
// would break the bound, is of a retired cohort or, under a plan, is of another
// step than the next one or the present one for a cohort that has not paid it:
// an account replayed from a sound ledger never sees any.
func (a *Account) Apply(d Debit) error {
	e, ok := a.after(d)
	if !ok {
		return fmt.Errorf("privacy: cohort %d cannot pay this debit, the ledger is not of this budget", d.Cohort)
	}
	a.spent[d.Cohort] = e
	if a.policy.Terms.Accounting == CommittedPlan {
		a.position = int(e.sum)
	} else {
		a.position = max(a.position, e.releases-e.apart)
	}
	return nil
}

// Retire ends the account of all cohorts up to and including last: they can pay
// for nothing any more.
func (a *Account) Retire(last Cohort) { a.retired, a.last = true, max(a.last, last) }

// Retired reports that c was retired.
func (a *Account) Retired(c Cohort) bool { return a.retired && c <= a.last }

// Position is how many releases the schedule has behind it: the number of the
// last planned step that was paid, or the releases of the cohort that has most,
// contributions apart.
func (a *Account) Position() int { return a.position }

// Spent returns the share of the cohort's budget that is used, in [0, 1]: the
// sum of its prices over the limit or, under a plan, the share of the steps it
// took part in.
func (a *Account) Spent(c Cohort) float64 {
	e := a.spent[c]
	if a.policy.Terms.Accounting == CommittedPlan {
		return float64(e.releases) / a.limit
	}
	return e.sum / a.limit
}

// Releases returns how many releases the cohort has paid for, contributions apart.
func (a *Account) Releases(c Cohort) int { return a.spent[c].releases - a.spent[c].apart }

// Contributions returns how many contributions to private sums the cohort has paid for.
func (a *Account) Contributions(c Cohort) int { return a.spent[c].apart }

// Exhausted reports that c cannot pay for one more release of m.
func (a *Account) Exhausted(c Cohort, m Mechanism) bool {
	price, ok := a.Price(m)
	if ok {
		_, ok = a.after(Debit{Cohort: c, Cost: price})
	}
	return !ok
}

// Left is how many more releases of the policy the account was opened with the
// cohort can pay for, if it takes part in every one from here on.
func (a *Account) Left(c Cohort) int {
	if a.Retired(c) {
		return 0
	}
	if a.policy.Terms.Accounting == CommittedPlan {
		return a.policy.Schedule.Releases() - a.position
	}
	e := a.spent[c]
	for left := 0; ; left++ {
		m, _ := a.policy.Next(a.position + left)
		price, ok := a.policy.Terms.price(m)
		if e = e.plus(price); !ok || !a.within(e) || e.released > a.releases {
			return left
		}
	}
}

// after returns what d's cohort will have paid once it paid d, and whether it
// can.
func (a *Account) after(d Debit) (expense, bool) {
	e := a.spent[d.Cohort]
	if a.policy.Terms.Accounting == CommittedPlan {
		// Cohorts of one release pay the same step one after the other.
		next, present := float64(a.position+1), float64(a.position)
		ok := (d.Cost == next || d.Cost == present) && d.Cost > e.sum && d.Cost <= a.limit
		return expense{sum: d.Cost, releases: e.releases + 1}, ok && !d.Apart && !a.Retired(d.Cohort)
	}
	released := e.released
	if e = e.plus(d.Cost); d.Apart {
		e.released = released
		e.apart++
	}
	return e, d.Cost > 0 && a.within(e) && e.released <= a.releases && !a.Retired(d.Cohort)
}

// within reports that a filter admits the expense.
func (a *Account) within(e expense) bool { return e.sum <= a.limit && e.releases <= MaxReleases }

// plus adds one release to an expense, rounding up.
func (e expense) plus(price float64) expense {
	return expense{up(e.sum + price), up(e.released + price), e.releases + 1, e.apart}
}
