package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/privacy"
)

// The errors of the ledger.
var (
	// ErrBudget: the ledger was begun with other terms.
	ErrBudget = errors.New("storage: the ledger was begun with other terms")
	// ErrRolledBack: the ledger is not the newest one of this node.
	ErrRolledBack = errors.New("storage: the ledger is not the newest: put back the newest copy of the database together with its anchor")
	// ErrRound: the round was paid or committed before, or was not paid.
	ErrRound = errors.New("storage: wrong round")
	// ErrPoisoned: a write failed, so what is on disk is unknown.
	ErrPoisoned = errors.New("storage: a write failed; start again, which verifies what is on disk")
)

// Ledger is the durable half of the door: it holds what was paid, and what was committed
// to be published. It is safe for concurrent use. While a method writes, other methods
// that write wait until its bytes are on disk. Methods that only read do not wait: they
// return what was on disk before.
type Ledger struct {
	store  *Store
	policy privacy.Policy

	turn sync.Mutex // held while a method writes or compares with the disk, for as long as the disk takes
	mu   sync.Mutex // guards the fields below; they change only under both locks, and only when the change is on disk
	// noise is made here and never handed out, so that a ledger cannot release with the
	// reproducible noise of a simulation.
	noise       *privacy.LiveNoise
	account     *privacy.Account
	head        link
	slot        int              // the anchor's slot that was written last
	cut         bool             // the anchor was cut short when the ledger was opened, and nothing was written since
	round       uint64           // the highest paid, public or skipped round
	paid        uint64           // the round that may be committed; 0: none
	cohorts     []privacy.Cohort // the cohorts that ever paid, sorted
	retired     privacy.Cohort   // the last retired cohort; all before it are retired too
	unprotected int              // rounds released without a guarantee
	contradicts uint64           // a round of this node that a peer holds and the ledger does not; 0: none
	last        committed
	sums        contributions
}

// Release debits once each cohort of the sums that can still afford m and that one answer has
// room for, see [privacy.Mechanism.Fitting], and returns the sums of these cohorts with noise.
// The debits are on disk and in the anchor before the noise is drawn. If the answer is
// exhausted, no cohort could pay; then nothing is written and the round is not used.
//
// It fails, and writes nothing, if m has no answer for the sums, as
// [privacy.Mechanism.CheckSums] says, or if they have more coordinates than the ledger's
// terms. It fails with ErrRound unless round is above every round before and another one
// can follow, and with ErrPoisoned if a write failed, now or earlier. It is then not known
// whether the debit reached the disk, and nothing may be released until the store is
// opened again.
func (l *Ledger) Release(round uint64, m privacy.Mechanism, sums []privacy.Sum) (privacy.Answer, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := answerable(m, sums); err != nil {
		return privacy.Answer{}, err
	}
	sums = m.Fitting(sums) // the others would pay for nothing
	cohorts := make([]privacy.Cohort, len(sums))
	for i := range sums {
		// The charge for the discreteness of the noise covers at most this many
		// coordinates.
		if n, most := sums[i].Dimension(), l.policy.Terms.Dimension; n > most {
			return privacy.Answer{}, fmt.Errorf("storage: a release has %d coordinates, and the ledger was opened for %d", n, most)
		}
		cohorts[i] = sums[i].Cohort()
	}
	paid, err := l.pay(round, m, cohorts)
	if err != nil {
		return privacy.Answer{}, err
	}
	sums = slices.DeleteFunc(slices.Clone(sums), func(s privacy.Sum) bool { return !slices.Contains(paid, s.Cohort()) })
	return l.noise.Answer(m, sums), nil
}

// ReleaseUnprotected returns the sums without a guarantee. It uses no budget, and the
// ledger keeps a note of it for ever. It fails as Release does. If there are no sums, the
// answer is exhausted; then nothing is written and the round is not used.
func (l *Ledger) ReleaseUnprotected(round uint64, m privacy.Mechanism, sums []privacy.Sum) (privacy.Answer, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := answerable(m, sums); err != nil {
		return privacy.Answer{}, err
	}
	if err := l.mayUse(round); err != nil || len(sums) == 0 {
		return privacy.Answer{}, err
	}
	if err := l.append(entry{kind: entryUnprotected, round: round}); err != nil {
		return privacy.Answer{}, err
	}
	return l.noise.Answer(m, sums), nil
}

// answerable returns an error if the sums have no answer, which must be known before
// anything is paid or written.
func answerable(m privacy.Mechanism, sums []privacy.Sum) error {
	if err := m.CheckSums(sums); err != nil {
		return fmt.Errorf("storage: nothing was paid, release other sums: %w", err)
	}
	return nil
}

// pay returns the cohorts that paid, in the order given, with their debits on disk.
func (l *Ledger) pay(round uint64, m privacy.Mechanism, cohorts []privacy.Cohort) (paid []privacy.Cohort, err error) {
	if err := l.mayUse(round); err != nil {
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
	return paid, l.append(entries...)
}

// mayUse returns an error unless a round can be paid or published.
func (l *Ledger) mayUse(round uint64) error {
	if err := l.store.writable(); err != nil {
		return err
	}
	if l.contradicts > 0 {
		return l.contradiction()
	}
	switch {
	case round <= l.round:
		return fmt.Errorf("%w: round %d cannot come after round %d", ErrRound, round, l.round)
	case round == math.MaxUint64:
		return fmt.Errorf("%w: no round could come after round %d: use a lower one", ErrRound, round)
	}
	return nil
}

// Contradict writes down that a peer holds a model of this round that the ledger does
// not know: the ledger is an old copy, or one of several. From then on releases and
// Verify fail with ErrRolledBack, also in later runs, until Retire. It fails with
// ErrPoisoned as Release does.
func (l *Ledger) Contradict(round uint64) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.contradicts >= round {
		return nil
	}
	return l.append(entry{kind: entryContradict, round: max(l.round, round)}) // l.round may have grown meanwhile
}

// contradiction returns the error of a ledger that a peer has contradicted.
func (l *Ledger) contradiction() error {
	if l.sums.foreign {
		return fmt.Errorf("%w (a private sum holds a contribution of this device that this directory knows nothing of)", ErrRolledBack)
	}
	return fmt.Errorf("%w (a peer showed that this directory is an old copy: it holds round %d, and the newest here is %d)",
		ErrRolledBack, l.contradicts, l.round)
}

// Retire ends the budget of every cohort so far, also of those that hold records and have
// not paid yet. Later rounds are above round, above the highest round so far and above
// the highest round known from a peer. A round that was paid for and not committed is
// burned. Records that arrive later open a new cohort. Retire fails with ErrPoisoned as
// Release does.
func (l *Ledger) Retire(round uint64) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	newest, err := l.store.lastSlot()
	if err != nil {
		return fmt.Errorf("storage: retire the cohorts: %w", err)
	}
	last := max(l.retired, newest.record.Cohort)
	if n := len(l.cohorts); n > 0 {
		last = max(last, l.cohorts[n-1])
	}
	return l.append(entry{kind: entryRetire, round: max(l.round, l.contradicts, round), cohort: last})
}

// append makes entries durable, then moves the anchor, and only then counts the entries.
func (l *Ledger) append(entries ...entry) error {
	if l.head.sequence == 0 {
		entries = slices.Insert(entries, 0, openingEntry(l.policy.Terms))
	}
	var head link
	err := l.store.update(func(tx *bbolt.Tx) (err error) {
		head, err = putEntries(tx.Bucket(bucketLedger), l.head, entries)
		return err
	})
	if err != nil {
		return err
	}
	if err := l.moveAnchor(head); err != nil {
		return l.store.fail(fmt.Errorf("write the anchor: %w", err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.cut = head, false // the anchor is whole again
	for _, e := range entries {
		if err := l.apply(e); err != nil {
			return l.store.fail(err)
		}
	}
	return nil
}

// moveAnchor writes the slots of the anchor in turn.
func (l *Ledger) moveAnchor(head link) error {
	l.slot = (l.slot + 1) % anchorSlots
	start := time.Now()
	err := writeAnchor(anchorPath(l.store.path), l.slot, head)
	if err == nil {
		l.store.anchors.took(time.Since(start))
	}
	return err
}

// apply counts an entry that is on disk.
func (l *Ledger) apply(e entry) error {
	switch e.kind {
	case entryContradict:
		l.contradicts = e.round
		return nil
	case entryForeignSum:
		l.contradicts, l.sums.foreign = max(l.contradicts, l.round, 1), true
		return nil
	case entryContribute:
		return l.applyContribution(e)
	}
	l.round = max(l.round, e.round)
	switch e.kind {
	case entryDebit:
		if err := l.debit(privacy.Debit{Cohort: e.cohort, Cost: e.cost}); err != nil {
			return err
		}
		l.paid = e.round
	case entryUnprotected:
		l.paid = e.round
		l.unprotected++
	case entryRetire:
		l.paid, l.retired, l.contradicts = 0, e.cohort, 0
		l.account.Retire(e.cohort)
		l.sums.since, l.sums.lossy, l.sums.foreign = 0, true, false
	}
	return nil
}

// debit counts a debit that is on disk.
func (l *Ledger) debit(d privacy.Debit) error {
	if err := l.account.Apply(d); err != nil {
		return fmt.Errorf("count a debit: %w", err)
	}
	if i, found := slices.BinarySearch(l.cohorts, d.Cohort); !found {
		l.cohorts = slices.Insert(l.cohorts, i, d.Cohort)
	}
	return nil
}

// Commit stores the message to be published and the agent's state, in place of
// those of earlier rounds. It fails with ErrRound unless round is the one paid
// last and not yet committed, and with ErrPoisoned as Release does.
func (l *Ledger) Commit(round uint64, message, state []byte) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.store.writable(); err != nil {
		return err
	}
	if round == 0 || round != l.paid || round <= l.last.round {
		return fmt.Errorf("%w: round %d cannot be committed, the last paid is %d and the last committed %d", ErrRound, round, l.paid, l.last.round)
	}
	return l.keep(committed{round: round, message: bytes.Clone(message), state: bytes.Clone(state)})
}

// CommitPublic commits a message that carries no release. The caller guarantees that it
// is a public function of what was published before, so it costs nothing. CommitPublic
// writes no entry, but uses the round: a lower one can be neither paid nor committed any
// more. It fails with ErrRound unless round is above every round before, with
// ErrRolledBack if a peer contradicts the ledger, and with ErrPoisoned as Release does.
func (l *Ledger) CommitPublic(round uint64, message, state []byte) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.mayUse(round); err != nil {
		return err
	}
	c := committed{round: round, public: true, message: bytes.Clone(message), state: bytes.Clone(state)}
	if err := l.keep(c); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round = round
	return nil
}

// SaveState stores the agent's state between two commits, so that what the agent has
// heard since is kept. It fails with ErrPoisoned as Release does.
func (l *Ledger) SaveState(state []byte) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	c := l.last
	c.state = bytes.Clone(state)
	return l.keep(c)
}

func (l *Ledger) keep(c committed) error {
	err := l.store.update(func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucketStore), keyCommitted, encodeCommitted(c))
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = c
	return nil
}
