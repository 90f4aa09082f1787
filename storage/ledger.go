package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"p2pnode/privacy"
)

// The errors of the ledger.
var (
	// ErrBudget: the ledger was begun with another budget or dimension.
	ErrBudget = errors.New("storage: the ledger was begun with another budget")
	// ErrRolledBack: the ledger is not the newest one of this node.
	ErrRolledBack = errors.New("storage: the ledger is not the newest: put back the newest copy of the database " +
		"together with its anchor; if it is lost, begin a new directory with new records only")
	// ErrRound: the round was paid or committed before, or was not paid.
	ErrRound = errors.New("storage: wrong round")
	// ErrPoisoned: a write failed, so what is on disk is unknown.
	ErrPoisoned = errors.New("storage: a ledger write failed: open the store again to verify it")
)

// Ledger is the durable half of the door: what was paid, and what was committed
// to be published. It is safe for concurrent use; a writing method holds the
// others up until its bytes are on disk.
type Ledger struct {
	store  *Store
	policy privacy.Policy
	start  entry // the opening entry; written with the first payment

	// noise is made here and handed out to nobody: what a ledger releases cannot
	// carry the reproducible noise of a simulation.
	noise *privacy.LiveNoise

	mu        sync.Mutex
	account   *privacy.Account
	head      link
	slot      int    // of the anchor, written last
	round     uint64 // highest paid
	cohorts   []privacy.Cohort
	unbounded bool
	last      committed
	poisoned  bool
}

// Release pays for a round with [Ledger.Pay], adds noise to the sums of the cohorts that
// paid, and returns that. An answer that is exhausted means that none could. It
// fails as Pay does, and then nothing may be released any more: whether the
// debit reached the disk is not known.
func (l *Ledger) Release(round uint64, m privacy.Mechanism, sums []privacy.Sum) (privacy.Answer, error) {
	cohorts := make([]privacy.Cohort, len(sums))
	for i := range sums {
		cohorts[i] = sums[i].Cohort()
	}
	paid, err := l.Pay(round, m, cohorts)
	if err != nil {
		return privacy.Answer{}, err
	}
	sums = slices.DeleteFunc(slices.Clone(sums), func(s privacy.Sum) bool { return !slices.Contains(paid, s.Cohort()) })
	return l.noise.Answer(m, sums), nil
}

// ReleaseUnprotected answers without noise, by way of [Ledger.PayUnprotected].
func (l *Ledger) ReleaseUnprotected(round uint64, m privacy.Mechanism, sums []privacy.Sum) (privacy.Answer, error) {
	if err := l.PayUnprotected(round); err != nil {
		return privacy.Answer{}, err
	}
	return l.noise.Answer(m, sums), nil
}

// Pay debits every cohort that can still afford m, once, and returns those in
// the order given. When it returns, the debits are on disk and in the anchor. If no
// cohort can pay, nothing is written and the round is not used.
//
// It fails with ErrRound unless round is above every round paid before, and
// with ErrPoisoned if a write failed, now or earlier.
func (l *Ledger) Pay(round uint64, m privacy.Mechanism, cohorts []privacy.Cohort) (paid []privacy.Cohort, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mayPay(round); err != nil {
		return nil, err
	}
	debits := l.account.Admit(m, cohorts)
	if len(debits) == 0 {
		return nil, nil
	}
	entries := make([]entry, len(debits))
	for i, d := range debits {
		entries[i] = entry{kind: entryDebit, round: round, cohort: d.Cohort, cost: d.Cost}
		paid = append(paid, d.Cohort)
	}
	if err := l.append(entries); err != nil {
		return nil, err
	}
	return paid, nil
}

// PayUnprotected marks a round of the door without a guarantee. It uses no
// budget, but Unbounded is true from then on. It fails as Pay does.
func (l *Ledger) PayUnprotected(round uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mayPay(round); err != nil {
		return err
	}
	return l.append([]entry{{kind: entryUnprotected, round: round}})
}

func (l *Ledger) mayPay(round uint64) error {
	if l.poisoned {
		return ErrPoisoned
	}
	if round <= l.round {
		return fmt.Errorf("%w: round %d cannot be paid after round %d", ErrRound, round, l.round)
	}
	return nil
}

// append makes entries durable, moves the anchor and only then counts them.
func (l *Ledger) append(entries []entry) error {
	if l.head.sequence == 0 {
		entries = append([]entry{l.start}, entries...)
	}
	var head link
	err := l.write(func(tx *bbolt.Tx) (err error) {
		head, err = putEntries(tx.Bucket(bucketLedger), l.head, entries)
		return err
	})
	if err != nil {
		return err
	}
	if err := l.moveAnchor(head); err != nil {
		l.poisoned = true
		return fmt.Errorf("%w: write the anchor: %w", ErrPoisoned, err)
	}
	l.head = head
	for _, e := range entries {
		if err := l.apply(e); err != nil {
			l.poisoned = true
			return fmt.Errorf("%w: %w", ErrPoisoned, err)
		}
	}
	return nil
}

// moveAnchor writes the slots of the anchor in turn.
func (l *Ledger) moveAnchor(head link) error {
	l.slot = (l.slot + 1) % anchorSlots
	return writeAnchor(anchorPath(l.store.path), l.slot, head)
}

// write runs one transaction; any error of it poisons the ledger.
func (l *Ledger) write(fn func(*bbolt.Tx) error) error {
	if err := l.store.update(fn); err != nil {
		l.poisoned = true
		return fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	return nil
}

// apply counts an entry that is on disk.
func (l *Ledger) apply(e entry) error {
	l.round = max(l.round, e.round)
	switch e.kind {
	case entryUnprotected:
		l.unbounded = true
	case entryDebit:
		if err := l.account.Apply(privacy.Debit{Cohort: e.cohort, Cost: e.cost}); err != nil {
			return fmt.Errorf("count a debit: %w", err)
		}
		if i, found := slices.BinarySearch(l.cohorts, e.cohort); !found {
			l.cohorts = slices.Insert(l.cohorts, i, e.cohort)
		}
	}
	return nil
}

// Commit stores the message to be published and the agent's state, in place of
// those of earlier rounds. It fails with ErrRound unless round is the one paid
// last and not yet committed, and with ErrPoisoned as Pay does.
func (l *Ledger) Commit(round uint64, message, state []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.poisoned {
		return ErrPoisoned
	}
	if round != l.round || round <= l.last.round {
		return fmt.Errorf("%w: round %d cannot be committed, the last paid is %d and the last committed %d", ErrRound, round, l.round, l.last.round)
	}
	return l.keep(committed{round, bytes.Clone(message), bytes.Clone(state)})
}

// SaveState stores the agent's state between commits: what it has heard since.
// It fails with ErrPoisoned as Pay does.
func (l *Ledger) SaveState(state []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.poisoned {
		return ErrPoisoned
	}
	return l.keep(committed{l.last.round, l.last.message, bytes.Clone(state)})
}

func (l *Ledger) keep(c committed) error {
	err := l.write(func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucketStore), keyCommitted, encodeCommitted(c))
	})
	if err != nil {
		return err
	}
	l.last = c
	return nil
}

// Round is the highest round ever paid, committed or burned; 0 before the first.
func (l *Ledger) Round() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.round
}

// Outgoing is the newest committed message and its round, to be sent again and
// served to late joiners byte for byte; round 0 and no bytes before the first.
func (l *Ledger) Outgoing() (round uint64, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.round, bytes.Clone(l.last.message)
}

// State is the agent's state as stored last, no bytes before the first time. Its
// round may be below Round: that one was burned.
func (l *Ledger) State() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.last.state)
}

// Unbounded reports whether anything was ever released without a guarantee.
func (l *Ledger) Unbounded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unbounded
}

// Spending is what one cohort has paid.
type Spending struct {
	Cohort   privacy.Cohort
	Releases int
	Share    float64 // of its budget, in [0, 1]
}

// Spending lists the cohorts that ever paid, sorted, all at one moment.
func (l *Ledger) Spending() []Spending {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Spending, len(l.cohorts))
	for i, c := range l.cohorts {
		list[i] = Spending{c, l.account.Releases(c), l.account.Spent(c)}
	}
	return list
}

// Position is how many releases of the policy's schedule are behind, burned ones
// included.
func (l *Ledger) Position() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account.Position()
}

// Exhausted reports whether a cohort cannot pay for the next release.
func (l *Ledger) Exhausted(c privacy.Cohort) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.policy.Next(l.account.Position())
	return !ok || l.account.Exhausted(c, m)
}
