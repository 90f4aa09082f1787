package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"p2pnode/privacy"
)

// The errors that [Ledger.Contribute] returns beside those of a release.
var (
	// ErrExhausted: none of the cohorts can pay. Nothing was written.
	ErrExhausted = errors.New("storage: none of these records can pay for this private sum")
	// ErrBurned: the sum was paid for, but no bytes were committed. The budget is spent.
	ErrBurned = errors.New("storage: this private sum was paid for and nothing was kept to send: what it cost is spent, wait for the next sum")
)

// SumID names a private sum: the digest of all its terms.
type SumID [32]byte

// Contribution is what a device pays for to take part in a private sum.
type Contribution struct {
	Sum       SumID
	Epoch     uint64            // from 1; a record takes part in the sums of one
	Mechanism privacy.Mechanism // one that [privacy.Mechanism.Bounded] returned
	Cohorts   []privacy.Cohort  // the cohorts whose records the vector is made of
}

// Contributed is what the ledger knows of a private sum.
type Contributed struct {
	Sum     SumID
	Epoch   uint64
	Cohorts []privacy.Cohort // the cohorts that paid, ascending
	Kept    bool             // its bytes are committed; otherwise the sum is burned
}

// contributions is what a ledger has counted of private sums.
type contributions struct {
	paid    map[SumID]Contributed
	epochs  map[privacy.Cohort]uint64
	since   uint64 // the lowest epoch that was paid for since cohorts were last retired; 0: none
	lossy   bool   // a restore retired what there was, cohorts or none: contributions may be missing
	foreign bool   // a certified list held a contribution that the ledger does not know
}

func (c contributions) same(o contributions) bool {
	equal := func(a, b Contributed) bool {
		return a.Epoch == b.Epoch && a.Kept == b.Kept && slices.Equal(a.Cohorts, b.Cohorts)
	}
	return c.since == o.since && c.lossy == o.lossy && c.foreign == o.foreign && maps.EqualFunc(c.paid, o.paid, equal)
}

// Contribute is the second exit of the door: shares leave through it, never a vector. It
// debits each cohort that can pay and has taken part in no other epoch, once. It waits
// until the debits are on disk and in the anchor, as [Ledger.Release] does, and only then
// calls share with these cohorts, in ascending order. share returns everything that may
// ever be sent for this sum, and those bytes are on disk when Contribute returns them.
// share must not call the ledger.
//
// For a sum that was committed before, Contribute returns what Upload returns, every
// time, and neither debits nor calls share. A sum that was debited but not committed,
// because share failed or the process died, is burned, and Contribute returns ErrBurned.
// It fails with ErrExhausted if no cohort can pay, with ErrRolledBack if the ledger was
// contradicted, and with ErrPoisoned as Release does.
func (l *Ledger) Contribute(c Contribution, share func(paid []privacy.Cohort) ([]byte, error)) (upload []byte, err error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if known, ok := l.sums.paid[c.Sum]; ok {
		if !known.Kept {
			return nil, ErrBurned
		}
		return l.upload(c.Sum)
	}
	if share == nil {
		return nil, errors.New("storage: nothing was paid: a contribution needs a function that makes its bytes")
	}
	paid, err := l.payForSum(c)
	if err != nil {
		return nil, err
	}
	if upload, err = share(paid); err == nil && len(upload) == 0 {
		err = errors.New("there are no bytes")
	}
	if err != nil {
		return nil, fmt.Errorf("%w (make the contribution: %w)", ErrBurned, err)
	}
	upload = bytes.Clone(upload)
	err = l.store.update(func(tx *bbolt.Tx) error { return put(tx.Bucket(bucketSums), c.Sum[:], upload) })
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.sums.paid[c.Sum]
	known.Kept = true
	l.sums.paid[c.Sum] = known
	return upload, nil
}

// payForSum returns the cohorts that paid, in ascending order. Their debits are on disk.
func (l *Ledger) payForSum(c Contribution) (paid []privacy.Cohort, err error) {
	switch terms, n := l.policy.Terms, c.Mechanism.Dimension(); {
	case c.Epoch == 0:
		return nil, errors.New("storage: epochs of private sums are numbered from 1")
	case n < 1 || n > terms.Dimension: // the charge for the discreteness of the noise covers no more coordinates
		return nil, fmt.Errorf("storage: a contribution of %d coordinates from a ledger opened for 1 to %d", n, terms.Dimension)
	case terms.Accounting == privacy.CommittedPlan:
		return nil, fmt.Errorf("storage: accounting %q has no price for a private sum: choose %q", terms.Accounting, privacy.GaussianFilter)
	}
	if err := errors.Join(l.store.writable(), l.store.upgraded()); err != nil {
		return nil, err
	}
	if l.contradicts > 0 {
		return nil, l.contradiction()
	}
	cohorts := slices.DeleteFunc(slices.Clone(c.Cohorts), func(k privacy.Cohort) bool {
		epoch := l.sums.epochs[k]
		return epoch > 0 && epoch != c.Epoch
	})
	slices.Sort(cohorts)
	var entries []entry
	for _, d := range l.account.AdmitApart(c.Mechanism, cohorts) {
		entries = append(entries, entry{kind: entryContribute, epoch: c.Epoch, cohort: d.Cohort, cost: d.Cost, sum: c.Sum})
		paid = append(paid, d.Cohort)
	}
	if len(entries) == 0 {
		return nil, ErrExhausted
	}
	return paid, l.append(entries...)
}

// applyContribution counts an entry that is on disk.
func (l *Ledger) applyContribution(e entry) error {
	known := l.sums.paid[e.sum]
	switch epoch := l.sums.epochs[e.cohort]; {
	case e.epoch == 0, known.Epoch > 0 && known.Epoch != e.epoch, epoch > 0 && epoch != e.epoch:
		return fmt.Errorf("a contribution of cohort %d to epoch %d after another one", e.cohort, e.epoch)
	case slices.Contains(known.Cohorts, e.cohort):
		return fmt.Errorf("cohort %d contributed twice to one sum", e.cohort)
	}
	if err := l.debit(privacy.Debit{Cohort: e.cohort, Cost: e.cost, Apart: true}); err != nil {
		return err
	}
	if l.sums.paid == nil {
		l.sums.paid, l.sums.epochs = make(map[SumID]Contributed), make(map[privacy.Cohort]uint64)
	}
	l.sums.paid[e.sum] = Contributed{Sum: e.sum, Epoch: e.epoch, Cohorts: append(known.Cohorts, e.cohort)}
	l.sums.epochs[e.cohort] = e.epoch
	if l.sums.since == 0 || e.epoch < l.sums.since {
		l.sums.since = e.epoch
	}
	return nil
}

// ContradictSum writes down that a committee certified a contribution of this device to
// this sum that differs from the one in the ledger: the directory is an old copy, or a
// copy of it runs elsewhere. From then on the ledger pays for nothing, as after
// [Ledger.Contradict], and the error is ErrRolledBack.
//
// When a restore retires the cohorts of a ledger, the ledger may have lost contributions
// that it made before. They prove nothing against it, and none of them can be paid for
// again. So ContradictSum returns nil if the sum's epoch is not later than the first
// epoch that the ledger has paid for since then.
func (l *Ledger) ContradictSum(sum SumID, epoch uint64) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.sums.lossy && (l.sums.since == 0 || epoch <= l.sums.since) {
		return nil
	}
	if !l.sums.foreign {
		if err := l.append(entry{kind: entryForeignSum, epoch: epoch, sum: sum}); err != nil {
			return err
		}
	}
	return l.contradiction()
}

// Upload returns the bytes that were committed for a sum, or the part of them that
// [Ledger.Trim] kept; nil if there are none.
func (l *Ledger) Upload(sum SumID) ([]byte, error) {
	l.mu.Lock()
	kept := l.sums.paid[sum].Kept // what is kept stays
	l.mu.Unlock()                 // reading the file may wait for a deletion, and that for a backup
	if !kept {
		return nil, nil
	}
	return l.upload(sum)
}

// Trim keeps the first n bytes, at least one, of what was committed for a sum, and drops
// the rest. If nothing was committed, it does nothing. It is for a sum that has ended, so
// that nothing is sent to it any more. From then on Upload returns the bytes that were
// kept.
func (l *Ledger) Trim(sum SumID, n int) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if n < 1 {
		return fmt.Errorf("storage: %d bytes of a contribution cannot be kept: keep at least one", n)
	}
	if !l.sums.paid[sum].Kept {
		return nil
	}
	upload, err := l.upload(sum)
	if err != nil || len(upload) <= n {
		return err
	}
	return l.store.update(func(tx *bbolt.Tx) error { return put(tx.Bucket(bucketSums), sum[:], upload[:n]) })
}

func (l *Ledger) upload(sum SumID) (upload []byte, err error) {
	err = l.store.view(func(tx *bbolt.Tx) error {
		found, err := get(tx.Bucket(bucketSums), sum[:])
		upload = bytes.Clone(found)
		return err
	})
	if err == nil && upload == nil {
		err = fmt.Errorf("%w: a contribution is missing", ErrDamaged)
	}
	return upload, err
}

// Contributions lists the private sums that were paid for, by epoch and name.
func (l *Ledger) Contributions() []Contributed {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Contributed, 0, len(l.sums.paid))
	for _, c := range l.sums.paid {
		c.Cohorts = slices.Clone(c.Cohorts)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Contributed) int {
		if a.Epoch != b.Epoch {
			return cmp.Compare(a.Epoch, b.Epoch)
		}
		return bytes.Compare(a.Sum[:], b.Sum[:])
	})
	return list
}

// Epoch returns the epoch whose sums a cohort has contributed to; 0: none yet.
func (l *Ledger) Epoch(c privacy.Cohort) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums.epochs[c]
}

// loadUploads notes which contributions are committed.
func (l *Ledger) loadUploads(tx *bbolt.Tx) error {
	b := tx.Bucket(bucketSums)
	if b == nil {
		return nil // a file of the first release
	}
	return b.ForEach(func(key, _ []byte) error {
		known, paid := Contributed{}, false
		if len(key) == len(SumID{}) {
			known, paid = l.sums.paid[SumID(key)]
		}
		if !paid {
			return fmt.Errorf("%w: a contribution was kept and never paid", ErrDamaged)
		}
		known.Kept = true
		l.sums.paid[known.Sum] = known
		return nil
	})
}
