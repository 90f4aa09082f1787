package privacy

import (
	"fmt"
	"slices"
)

// MaxReleases is the largest number of releases one cohort can take part in,
// whatever its budget: the discreteness of so many is charged in advance.
const MaxReleases = 1 << 16

// Account decides, per cohort, whether a release can be paid. It is the
// Gaussian filter: a release is admitted while
//
//	sum over the cohort's releases of (2 clip/sigma)^2 <= mu_B^2
//
// with mu_B the largest mu whose guarantee implies the budget. It holds for
// mechanisms chosen after seeing all earlier releases (Smith and Thakurta 2022;
// Koskela, Tobaben, Honkela 2022) and wastes nothing. All rounding is against
// the spender. It lives in memory: the caller keeps the debits and replays them
// through Apply. Not safe for concurrent use.
type Account struct {
	limit float64 // mu_B^2, rounded down
	spent map[Cohort]expense
}

type expense struct {
	muSquared float64
	releases  int
}

// Debit is the price of one release for one cohort.
type Debit struct {
	Cohort Cohort
	Cost   float64 // in what the account adds up, rounded up
}

// NewAccount returns an account in which every cohort has the budget b, for
// releases of at most dim coordinates.
func NewAccount(b Budget, dim int) (*Account, error) {
	limit, err := muSquaredLimit(b, dim)
	if err != nil {
		return nil, err
	}
	return &Account{limit: limit, spent: make(map[Cohort]expense)}, nil
}

// muSquaredLimit is mu_B^2, rounded down, after the charge for discreteness.
func muSquaredLimit(b Budget, dim int) (float64, error) {
	if err := b.Validate(); err != nil {
		return 0, err
	}
	if dim < 1 {
		return 0, fmt.Errorf("privacy: dimension is %d, it must be at least 1", dim)
	}
	mu := charge(b, float64(dim)*MaxReleases, minSigma).Mu()
	if mu == 0 {
		return 0, fmt.Errorf("privacy: epsilon %v is less than the discreteness of %d coordinates costs, choose a larger one", b.Epsilon, dim)
	}
	return down(mu * mu), nil
}

// Admit returns the debits of those cohorts that can pay for one release of m,
// in the order given, and changes nothing. A cohort given twice is admitted
// once. An unprotected mechanism is never admitted.
func (a *Account) Admit(m Mechanism, cohorts []Cohort) []Debit {
	if !m.Protected() {
		return nil
	}
	price := m.muSquared()
	debits := make([]Debit, 0, len(cohorts))
	for _, c := range cohorts {
		d := Debit{c, price}
		if _, ok := a.after(d); ok && !slices.Contains(debits, d) {
			debits = append(debits, d)
		}
	}
	return debits
}

// Apply records a debit. It returns an error and changes nothing if the debit
// is not a positive number or would break the bound: an account replayed from a
// sound ledger never sees either.
func (a *Account) Apply(d Debit) error {
	e, ok := a.after(d)
	if !ok {
		return fmt.Errorf("privacy: cohort %d cannot pay this debit, the ledger is not of this budget", d.Cohort)
	}
	a.spent[d.Cohort] = e
	return nil
}

// Spent returns the share of the cohort's budget that is used, in [0, 1]: the
// sum of squared mu over its limit.
func (a *Account) Spent(c Cohort) float64 { return a.spent[c].muSquared / a.limit }

// Releases returns how many releases the cohort has paid for.
func (a *Account) Releases(c Cohort) int { return a.spent[c].releases }

// Exhausted reports that c cannot pay for one more release of m.
func (a *Account) Exhausted(c Cohort, m Mechanism) bool {
	if !m.Protected() {
		return true
	}
	_, ok := a.after(Debit{c, m.muSquared()})
	return !ok
}

// after returns what d's cohort will have spent once it paid d, and whether it
// can.
func (a *Account) after(d Debit) (expense, bool) {
	e := a.spent[d.Cohort].plus(d.Cost)
	return e, d.Cost > 0 && e.muSquared <= a.limit && e.releases <= MaxReleases
}

// plus adds one release to an expense, rounding up.
func (e expense) plus(muSquared float64) expense {
	return expense{up(e.muSquared + muSquared), e.releases + 1}
}
