package privacy

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxReleases is the largest number of releases in which one cohort can take part,
// whatever its budget: the account charges in advance for the discreteness of that
// many.
const MaxReleases = 1 << 16

// Account decides, for each cohort, whether a release can be paid. Under a filter a
// release is admitted while the prices of the cohort's releases add up to at most a
// limit that implies the budget:
//
//	Gaussian  sum of (sensitivity/sigma)^2   Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2022
//	pure      sum of epsilon                 Rogers, Roth, Ullman, Vadhan 2016
//	Renyi     sum of divergences, one order  Feldman, Zrnic 2021
//
// This holds for mechanisms chosen after seeing all earlier releases. Under a plan the
// k-th release must have the mechanism of the schedule's k-th step, and the loss of the
// whole schedule was within the budget before the first.
//
// All rounding is to the spender's disadvantage. An account lives in memory: the caller
// stores the debits and replays them through Apply. It is not safe for concurrent use.
type Account struct {
	policy   Policy
	limit    float64 // of the prices' sum, rounded down; under a plan the number of its steps
	releases float64 // the part of the limit that releases may spend
	position int
	retired  bool   // cohorts up to and including last are retired
	last     Cohort // the last retired cohort
	spent    []paid // sorted by cohort; a single one lies in first
	first    [1]paid
}

// paid is what a cohort has paid, if it has ever paid anything.
type paid struct {
	cohort Cohort
	expense
}

// expense is what a cohort has paid: the sum of its prices, rounded up, and their
// number. Under a plan, the sum is replaced by the number of the step it paid last.
type expense struct {
	sum      float64
	released float64 // the sum for releases only
	releases int     // number of releases, including contributions
	apart    int     // number of contributions
}

// Debit is the price of one release for one cohort.
type Debit struct {
	Cohort Cohort
	// Cost is in the unit that the account adds up, rounded up. Under a plan it is the
	// number of the planned step, from 1.
	Cost float64
	// Apart means that the debit is for a contribution to a private sum: it uses the
	// budget as a release does, but no place in the schedule. A plan has no such
	// debits.
	Apart bool
}

// NewAccount returns an account in which every cohort has the policy's budget. It
// returns an error if the terms are invalid or have no price for a mechanism of the
// schedule. Under a plan it also returns an error if the terms do not hold the
// schedule's hash, or if the schedule costs more than the budget.
func NewAccount(p Policy) (*Account, error) {
	a := &Account{policy: p}
	a.spent = a.first[:0]
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

// Price is what one release of m costs a cohort under the account's terms, in the unit
// that the account adds up. ok is false if the terms have no price for it. Under a plan
// only the mechanism of the next step has a price, the number of that step.
func (a *Account) Price(m Mechanism) (cost float64, ok bool) {
	if a.policy.Terms.Accounting != CommittedPlan {
		return a.policy.Terms.price(m)
	}
	planned, ok := a.policy.Next(a.position)
	return float64(a.position + 1), ok && m == planned
}

// Share is what one release of m costs a cohort, as a share of its budget: Spent grows
// by this much. It is 0 for a mechanism without a price. Under a plan it is one step of
// all steps.
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
	return a.admit(make([]Debit, 0, 4), m, cohorts, false) // inlined, so that the slice is on the stack of callers that do not keep it
}

// AdmitApart is Admit for a contribution to a private sum.
func (a *Account) AdmitApart(m Mechanism, cohorts []Cohort) []Debit {
	return a.admit(nil, m, cohorts, true)
}

// admit is Admit with memory for the debits, which must be empty.
func (a *Account) admit(debits []Debit, m Mechanism, cohorts []Cohort, apart bool) []Debit {
	price, ok := a.Price(m)
	if !ok {
		return nil
	}
	if len(cohorts) > cap(debits) {
		debits = make([]Debit, 0, len(cohorts))
	}
	var most Cohort // cohorts nearly always come in order; then no search is needed
	for _, c := range cohorts {
		d := Debit{Cohort: c, Cost: price, Apart: apart}
		if _, ok := a.after(d); ok && (c > most || !slices.Contains(debits, d)) {
			debits = append(debits, d)
			most = max(most, c)
		}
	}
	return debits
}

// Apply records a debit. It returns an error and changes nothing if the debit would
// exceed the bound or is of a retired cohort. Under a plan the debit must also be for
// the next step, or for the present one by a cohort that has not paid it. An account
// replayed from a sound ledger never returns such an error.
func (a *Account) Apply(d Debit) error {
	e, ok := a.after(d)
	if !ok {
		return fmt.Errorf("privacy: cohort %d cannot pay this debit, the ledger is not of this budget", d.Cohort)
	}
	if k, known := a.find(d.Cohort); known {
		a.spent[k].expense = e
	} else {
		a.spent = slices.Insert(a.spent, k, paid{d.Cohort, e})
	}
	if a.policy.Terms.Accounting == CommittedPlan {
		a.position = int(e.sum)
	} else {
		a.position = max(a.position, e.releases-e.apart)
	}
	return nil
}

// Retire ends the account of all cohorts up to and including last: they can no longer
// pay for anything.
func (a *Account) Retire(last Cohort) { a.retired, a.last = true, max(a.last, last) }

// Retired reports whether c is retired.
func (a *Account) Retired(c Cohort) bool { return a.retired && c <= a.last }

// Position is how many releases of the schedule have been made: the number of the last
// planned step that was paid, or the largest number of releases of a cohort, without
// contributions.
func (a *Account) Position() int { return a.position }

// Spent returns the share of the cohort's budget that is used, in [0, 1]: the
// sum of its prices over the limit or, under a plan, the share of the steps it
// took part in.
func (a *Account) Spent(c Cohort) float64 {
	e := a.paidBy(c)
	if a.policy.Terms.Accounting == CommittedPlan {
		return float64(e.releases) / a.limit
	}
	return e.sum / a.limit
}

// Releases returns how many releases the cohort has paid for, contributions apart.
func (a *Account) Releases(c Cohort) int { return a.paidBy(c).releases - a.paidBy(c).apart }

// Contributions returns how many contributions to private sums the cohort has paid for.
func (a *Account) Contributions(c Cohort) int { return a.paidBy(c).apart }

// Exhausted reports whether c cannot pay for one more release of m.
func (a *Account) Exhausted(c Cohort, m Mechanism) bool {
	price, ok := a.Price(m)
	if ok {
		_, ok = a.after(Debit{Cohort: c, Cost: price})
	}
	return !ok
}

// Left is how many more releases of the account's policy the cohort can pay for, if it
// takes part in every one from now on.
func (a *Account) Left(c Cohort) int {
	if a.Retired(c) {
		return 0
	}
	if a.policy.Terms.Accounting == CommittedPlan {
		return a.policy.Schedule.Releases() - a.position
	}
	e := a.paidBy(c)
	for left := 0; ; left++ {
		m, _ := a.policy.Next(a.position + left)
		price, ok := a.policy.Terms.price(m)
		if e = e.plus(price); !ok || !a.within(e) || e.released > a.releases {
			return left
		}
	}
}

// after returns what d's cohort will have paid after d, and whether it can pay d.
func (a *Account) after(d Debit) (expense, bool) {
	e := a.paidBy(d.Cohort)
	if a.policy.Terms.Accounting == CommittedPlan {
		// The cohorts of one release pay the same step one after the other.
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

// paidBy is what a cohort has paid.
func (a *Account) paidBy(c Cohort) expense {
	if k, known := a.find(c); known {
		return a.spent[k].expense
	}
	return expense{}
}

// find is the place of a cohort in spent.
func (a *Account) find(c Cohort) (int, bool) {
	return slices.BinarySearchFunc(a.spent, c, func(p paid, c Cohort) int { return cmp.Compare(p.cohort, c) })
}

// within reports whether a filter admits the expense.
func (a *Account) within(e expense) bool { return e.sum <= a.limit && e.releases <= MaxReleases }

// plus adds one release to an expense, rounding up.
func (e expense) plus(price float64) expense {
	return expense{up(e.sum + price), up(e.released + price), e.releases + 1, e.apart}
}
