package storage

import (
	"bytes"

	"p2pnode/privacy"
)

// Round returns the highest round that cannot be used any more, because it was paid,
// committed, burned, public, or skipped by [Ledger.Retire]; 0 before the first.
func (l *Ledger) Round() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.round
}

// Outgoing returns the newest committed message and its round, to be sent again and
// served to late joiners byte for byte; round 0 and no bytes before the first.
func (l *Ledger) Outgoing() (round uint64, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.round, bytes.Clone(l.last.message)
}

// State returns the agent's state as it was stored last, or no bytes before the first
// time. If its round is below Round, Round was burned.
func (l *Ledger) State() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.last.state)
}

// Unbounded reports whether anything was ever released without a guarantee.
func (l *Ledger) Unbounded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unprotected > 0
}

// Unprotected returns how many rounds were released without a guarantee. The round
// numbers do not tell that, because they jump when cohorts are retired.
func (l *Ledger) Unprotected() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unprotected
}

// Spending is what one cohort has paid.
type Spending struct {
	Cohort   privacy.Cohort
	Releases int
	Sums     int     // private sums that it has contributed to
	Share    float64 // of its budget that it has spent, in [0, 1]
	Retired  bool    // it never pays again, whatever its share
}

// Spending lists the cohorts that ever paid, sorted. All values are of one moment.
func (l *Ledger) Spending() []Spending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spending()
}

func (l *Ledger) spending() []Spending {
	list := make([]Spending, len(l.cohorts))
	for i, c := range l.cohorts {
		list[i] = Spending{c, l.account.Releases(c), l.account.Contributions(c), l.account.Spent(c), c <= l.retired}
	}
	return list
}

// Retired returns the last retired cohort, or 0 if there is none. It and all cohorts
// before it never pay again.
func (l *Ledger) Retired() privacy.Cohort {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired
}

// Contradicted returns the round that [Ledger.Contradict] wrote down; 0 if it wrote none,
// or if Retire was called after it.
func (l *Ledger) Contradicted() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.contradicts
}

// ForeignSum reports whether [Ledger.ContradictSum] wrote a contradiction down and Retire
// was not called since. Then Contradicted returns a round, but no peer has shown one.
func (l *Ledger) ForeignSum() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums.foreign
}

// Position returns how many releases of the policy's schedule are done. Burned ones
// count.
func (l *Ledger) Position() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account.Position()
}

// Exhausted reports whether a cohort cannot pay for the next release.
func (l *Ledger) Exhausted(c privacy.Cohort) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.next()
	return !ok || l.account.Exhausted(c, m)
}

// Left returns how many more releases a cohort can pay for, and the share of its budget
// that the next of them costs. Both are 0 for a retired or exhausted cohort.
func (l *Ledger) Left(c privacy.Cohort) (left int, next float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.next()
	if !ok || l.account.Exhausted(c, m) {
		return 0, 0
	}
	return l.account.Left(c), l.account.Share(m)
}

// Price returns what a contribution with this mechanism costs, as a share of a cohort's
// budget; 0 if the ledger's terms have no price for it.
func (l *Ledger) Price(m privacy.Mechanism) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account.Share(m)
}

// next returns the mechanism of the next release.
func (l *Ledger) next() (privacy.Mechanism, bool) { return l.policy.Next(l.account.Position()) }
