package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/privacy"
)

// bounded returns a mechanism with which the given number of contributions uses the
// budget up.
func bounded(t testing.TB, sums int) privacy.Mechanism {
	t.Helper()
	m, err := gaussian(t, sums).Bounded(2, dim)
	require.NoError(t, err)
	return m
}

// contributionOf returns a contribution to the sum with this number, in epoch 1.
func contributionOf(number uint64, m privacy.Mechanism, cohorts ...privacy.Cohort) Contribution {
	c := Contribution{Epoch: 1, Mechanism: m, Cohorts: cohorts}
	binary.BigEndian.PutUint64(c.Sum[:], number)
	return c
}

func uploadOf(number uint64) []byte { return fmt.Appendf(nil, "masked vector %d", number) }

// contribute contributes bytes that follow from the sum.
func contribute(l *Ledger, c Contribution) ([]byte, error) {
	return l.Contribute(c, func([]privacy.Cohort) ([]byte, error) { return uploadOf(binary.BigEndian.Uint64(c.Sum[:])), nil })
}

// Shares are made after the debits are on disk and in the anchor, never before.
func TestContributionIsPaidForFirst(t *testing.T) {
	s, l := open(t, newPath(t))
	require.NoError(t, unprotect(l, 1)) // the ledger is begun
	calls := 0
	upload, err := l.Contribute(contributionOf(1, bounded(t, 10), 3, 1), func(paid []privacy.Cohort) ([]byte, error) {
		calls++
		entries, err := entriesOf(l)
		require.NoError(t, err)
		a, err := readAnchor(anchorPath(s.path))
		require.NoError(t, err)
		if len(entries) != 4 || entries[2].cohort != 1 || entries[3].cohort != 3 || a.head.sequence != 4 || !slices.Equal(paid, []privacy.Cohort{1, 3}) {
			t.Errorf("shares are made for %v with %d entries on disk and the anchor at %d", paid, len(entries), a.head.sequence)
		}
		return uploadOf(1), nil
	})
	if err != nil || !bytes.Equal(upload, uploadOf(1)) || calls != 1 {
		t.Fatalf("contributed %q in %d calls: %v", upload, calls, err)
	}
	for _, k := range l.Spending() {
		if k.Releases != 0 || k.Sums != 1 || k.Share < 0.09 || k.Share > 0.11 {
			t.Errorf("a contribution of a tenth of the budget: %+v", k)
		}
	}
	lines, err := l.Lines()
	if err != nil || len(lines) != 4 || lines[3].Kind != "contributed" || lines[3].Epoch != 1 || lines[3].Sum[:16] != "0000000000000001" {
		t.Errorf("exported %+v, %v", lines, err)
	}
	require.NoError(t, firstError(l.Verify()))
}

// A sum is contributed to once: later calls, also of later runs, return the same bytes
// and cost nothing.
func TestContributionIsSentAgainByteForByte(t *testing.T) {
	s, l := open(t, newPath(t))
	c := contributionOf(1, bounded(t, 10), 1)
	first, err := contribute(l, c)
	require.NoError(t, err)
	spent := spentBy(l, 1)
	never := func([]privacy.Cohort) ([]byte, error) {
		t.Error("shares were made a second time")
		return []byte("other bytes"), nil
	}
	for range 2 {
		again, err := l.Contribute(c, never)
		kept, lost := l.Upload(c.Sum)
		if err != nil || lost != nil || !bytes.Equal(again, first) || !bytes.Equal(kept, first) || spentBy(l, 1) != spent {
			t.Errorf("again: %q, kept %q, spent %v; %v, %v", again, kept, spentBy(l, 1), err, lost)
		}
		s, l = reopen(t, s)
	}
	require.NoError(t, firstError(l.Verify()))
	if none, err := l.Upload(SumID{9}); none != nil || err != nil {
		t.Errorf("of a sum without contribution: %q, %v", none, err)
	}
}

// Once a sum is over, its contribution is cut to the part that names it. That part stays,
// costs nothing, and is all that Contribute returns. If nothing was contributed to a sum,
// there is nothing to cut.
func TestContributionIsTrimmed(t *testing.T) {
	s, l := open(t, newPath(t))
	c := contributionOf(1, bounded(t, 10), 1)
	first, err := contribute(l, c)
	require.NoError(t, err)
	spent := spentBy(l, 1)
	require.NoError(t, l.Trim(c.Sum, len(first)), l.Trim(SumID{9}, 3))
	for _, n := range []int{0, -1} {
		if err := l.Trim(c.Sum, n); err == nil || errors.Is(err, ErrPoisoned) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if kept, err := l.Upload(c.Sum); err != nil || !bytes.Equal(kept, first) {
		t.Errorf("nothing was to be cut, and %q is left, %v", kept, err)
	}
	require.NoError(t, l.Trim(c.Sum, 6), l.Trim(c.Sum, 6), l.Trim(c.Sum, 7))
	for range 2 {
		kept, err := l.Upload(c.Sum)
		again, lost := contribute(l, c)
		if err != nil || lost != nil || string(kept) != "masked" || string(again) != "masked" || spentBy(l, 1) != spent {
			t.Errorf("%q is left, %q is sent again, spent %v; %v, %v", kept, again, spentBy(l, 1), err, lost)
		}
		s, l = reopen(t, s)
	}
	require.NoError(t, firstError(l.Verify()))
}

// Without a function that makes the bytes nothing is paid, and the sum can still be
// contributed to. What was committed needs none.
func TestContributionWithoutAFunctionIsFree(t *testing.T) {
	_, l := open(t, newPath(t))
	c := contributionOf(1, bounded(t, 10), 1)
	if _, err := l.Contribute(c, nil); err == nil || errors.Is(err, ErrBurned) {
		t.Errorf("without a function: %v", err)
	}
	if entries, err := entriesOf(l); err != nil || len(entries) != 0 || spentBy(l, 1) != 0 {
		t.Errorf("%d entries, %v spent, %v", len(entries), spentBy(l, 1), err)
	}
	first, err := contribute(l, c)
	require.NoError(t, err)
	if again, err := l.Contribute(c, nil); err != nil || !bytes.Equal(again, first) {
		t.Errorf("%q is sent again, want %q; %v", again, first, err)
	}
}

// A sum that was paid for and not committed is burned, whatever happens later.
func TestContributionWithoutBytesIsBurned(t *testing.T) {
	for name, share := range map[string]func([]privacy.Cohort) ([]byte, error){
		"an error": func([]privacy.Cohort) ([]byte, error) { return nil, errors.New("no randomness") },
		"nothing":  func([]privacy.Cohort) ([]byte, error) { return nil, nil },
	} {
		s, l := open(t, newPath(t))
		c := contributionOf(1, bounded(t, 10), 1)
		if _, err := l.Contribute(c, share); !errors.Is(err, ErrBurned) {
			t.Errorf("%s: %v", name, err)
		}
		spent := spentBy(l, 1)
		_, l = reopen(t, s)
		if _, err := contribute(l, c); !errors.Is(err, ErrBurned) || spent == 0 || spentBy(l, 1) != spent {
			t.Errorf("%s: a burned sum was contributed to: %v; spent %v of %v", name, err, spentBy(l, 1), spent)
		}
		if list := l.Contributions(); len(list) != 1 || list[0].Kept {
			t.Errorf("%s: listed as %+v", name, list)
		}
	}
}

// Bytes that could not be committed are burned, and nothing is written any more.
func TestContributionThatCannotBeCommittedPoisons(t *testing.T) {
	s, l := open(t, newPath(t))
	c := contributionOf(1, bounded(t, 10), 1)
	_, err := l.Contribute(c, func([]privacy.Cohort) ([]byte, error) {
		s.db.MaxSize = 1 // the file cannot grow: the commit fails
		return make([]byte, 1<<20), nil
	})
	if !errors.Is(err, ErrPoisoned) {
		t.Fatalf("contributed to a full disk: %v", err)
	}
	if _, err := contribute(l, contributionOf(2, bounded(t, 10), 1)); !errors.Is(err, ErrPoisoned) {
		t.Errorf("contributed after that: %v", err)
	}
	_, l = reopen(t, s)
	if _, err := contribute(l, c); !errors.Is(err, ErrBurned) || spentBy(l, 1) == 0 {
		t.Errorf("a sum whose bytes were lost was contributed to: %v", err)
	}
}

// A record takes part in the sums of one epoch, and records that arrive after its
// contribution belong to another cohort.
func TestCohortContributesToOneEpoch(t *testing.T) {
	s, l := open(t, newPath(t))
	records := func() privacy.Cohort {
		stored, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 41)), 1), full(100), today)
		require.NoError(t, err)
		return stored[0].Cohort
	}
	if first := records(); first != 1 || records() != first {
		t.Fatal("two records are in two cohorts")
	}
	m := bounded(t, 10)
	require.NoError(t, second(contribute(l, contributionOf(1, m, 1))))
	require.NoError(t, second(contribute(l, contributionOf(2, m, 1)))) // another round of the epoch
	s, l = reopen(t, s)
	if records() != 2 {
		t.Error("a record joined a cohort that has contributed")
	}
	later := contributionOf(3, m, 2, 1)
	later.Epoch = 2
	require.NoError(t, second(contribute(l, later)))
	list := l.Contributions()
	if len(list) != 3 || !slices.Equal(list[2].Cohorts, []privacy.Cohort{2}) || l.Epoch(1) != 1 || l.Epoch(2) != 2 || l.Epoch(3) != 0 {
		t.Errorf("contributions %+v", list)
	}
	later.Sum, later.Epoch = SumID{4}, 3
	if _, err := contribute(l, later); !errors.Is(err, ErrExhausted) {
		t.Errorf("records of earlier epochs contributed: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Contributions use the budget but no place of the schedule, and end when the budget is
// used.
func TestContributionsUseTheBudget(t *testing.T) {
	_, l := open(t, newPath(t)) // a schedule of 12 releases
	m := bounded(t, 3)
	before, _ := l.Left(1)
	require.NoError(t, second(contribute(l, contributionOf(1, m, 1))))
	after, _ := l.Left(1)
	if before != 12 || after != 8 && after != 7 || l.Position() != 0 { // the vector is rounded in each coordinate
		t.Errorf("%d releases were left and %d are, position %d", before, after, l.Position())
	}
	require.NoError(t, second(contribute(l, contributionOf(2, m, 1))))
	for number := uint64(3); number < 5; number++ {
		if _, err := contribute(l, contributionOf(number, bounded(t, 2), 1)); !errors.Is(err, ErrExhausted) {
			t.Errorf("sum %d, beyond the budget: %v", number, err)
		}
	}
	if entries, err := entriesOf(l); err != nil || len(entries) != 3 {
		t.Errorf("%d entries, error %v: what was refused left some", len(entries), err)
	}
}

func TestContributionsThatMakeNoSense(t *testing.T) {
	_, l := open(t, newPath(t))
	clipped, wide := gaussian(t, 10), gaussian(t, 10)
	wide, err := wide.Bounded(2, dim+1)
	require.NoError(t, err)
	for name, c := range map[string]Contribution{
		"no epoch":   {Sum: SumID{1}, Mechanism: bounded(t, 10), Cohorts: []privacy.Cohort{1}},
		"clipped":    {Sum: SumID{1}, Epoch: 1, Mechanism: clipped, Cohorts: []privacy.Cohort{1}},
		"too wide":   {Sum: SumID{1}, Epoch: 1, Mechanism: wide, Cohorts: []privacy.Cohort{1}},
		"no cohorts": {Sum: SumID{1}, Epoch: 1, Mechanism: bounded(t, 10)},
	} {
		if _, err := contribute(l, c); err == nil || len(l.Contributions()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan, err := privacy.Design{Budget: budget, Dimension: dim, Clip: 1, Releases: 4, Accounting: privacy.CommittedPlan}.Policy()
	require.NoError(t, err)
	s, err := Open(newPath(t))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	if l, err = s.OpenLedger(plan); err != nil {
		t.Fatal(err)
	}
	if _, err := contribute(l, contributionOf(1, bounded(t, 10), 1)); err == nil {
		t.Error("a committed plan paid for a private sum")
	}
}

// A restored copy cannot pay again for what the original contributed. It does not take
// old lists for a contradiction, and it notices afterwards if a copy of itself runs.
func TestRestoredContributions(t *testing.T) {
	s, l := open(t, newPath(t))
	_, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 42)), 3), full(3), today)
	require.NoError(t, err)
	m := bounded(t, 10)
	require.NoError(t, second(contribute(l, contributionOf(1, m, 1))))
	copied := backup(t, s)
	require.NoError(t, second(contribute(l, contributionOf(2, m, 1)))) // which the copy does not have
	require.NoError(t, s.Close())
	_, err = Restore(copied, s.path, with(policy(t)), nil, 0)
	require.NoError(t, err)

	s, l = open(t, s.path)
	if upload, err := l.Upload(contributionOf(1, m).Sum); err != nil || !bytes.Equal(upload, uploadOf(1)) {
		t.Errorf("what was committed before the copy is %q, %v", upload, err)
	}
	if _, err := contribute(l, contributionOf(2, m, 1)); !errors.Is(err, ErrExhausted) {
		t.Errorf("a retired cohort contributed: %v", err)
	}
	require.NoError(t, l.ContradictSum(contributionOf(2, m).Sum, 1))
	later := contributionOf(3, m, 2)
	later.Epoch = 2
	require.NoError(t, second(contribute(l, later)))
	require.NoError(t, l.ContradictSum(SumID{7}, 2))
	for range 2 {
		if err := l.ContradictSum(SumID{8}, 3); !errors.Is(err, ErrRolledBack) {
			t.Fatalf("a foreign contribution to a later epoch: %v", err)
		}
	}
	s, l = reopen(t, s)
	if _, err := l.Verify(); !errors.Is(err, ErrRolledBack) || l.Contradicted() == 0 {
		t.Errorf("verified: %v", err)
	}
	later.Sum = SumID{9}
	if _, err := contribute(l, later); !errors.Is(err, ErrRolledBack) {
		t.Errorf("contributed after a contradiction: %v", err)
	}
	if _, err := payFor(l, 1<<40, gaussian(t, 12), []privacy.Cohort{5}); !errors.Is(err, ErrRolledBack) {
		t.Errorf("paid after a contradiction: %v", err)
	}
	require.NoError(t, l.Retire(0))
	_, l = reopen(t, s)
	require.NoError(t, firstError(l.Verify()))
}

// A copy from before the first record retires no cohort, and is a restored one all the same: old
// lists are no contradiction to it.
func TestRestoredBeforeTheFirstRecord(t *testing.T) {
	s, l := open(t, newPath(t))
	copied := backup(t, s)
	m := bounded(t, 10)
	require.NoError(t, second(contribute(l, contributionOf(1, m, 1)))) // which the copy does not have
	require.NoError(t, s.Close())
	_, err := Restore(copied, s.path, with(policy(t)), nil, 0)
	require.NoError(t, err)
	s, l = open(t, s.path)
	require.NoError(t, l.ContradictSum(contributionOf(1, m).Sum, 1))
	_, l = reopen(t, s)
	require.NoError(t, l.ContradictSum(contributionOf(1, m).Sum, 1), firstError(l.Verify()))
}

// A file of the previous version has no bucket for contributions, and gets one.
func TestVersion3TakesContributions(t *testing.T) {
	s, l := open(t, newPath(t))
	pay(t, l, 1, gaussian(t, 10), 1)
	require.NoError(t, s.update(func(tx *bbolt.Tx) error { return errors.Join(tx.DeleteBucket(bucketSums), putSchema(tx, 3)) }))
	s, l = reopen(t, s)
	require.NoError(t, second(contribute(l, contributionOf(1, bounded(t, 10), 1))))
	_, l = reopen(t, s)
	if list := l.Contributions(); len(list) != 1 || !list[0].Kept {
		t.Errorf("contributions %+v", list)
	}
}

// Uploads that no entry paid for, and entries that break the rules, are damage.
func TestContributionsAgainstTheRulesAreDamage(t *testing.T) {
	cost := func(l *Ledger) float64 { return l.account.Admit(bounded(t, 10), []privacy.Cohort{1})[0].Cost }
	for name, spoil := range map[string]func(s *Store, l *Ledger) error{
		"never paid": func(s *Store, l *Ledger) error {
			return s.update(func(tx *bbolt.Tx) error { return put(tx.Bucket(bucketSums), make([]byte, 32), uploadOf(1)) })
		},
		"a key of another length": func(s *Store, l *Ledger) error {
			return s.update(func(tx *bbolt.Tx) error { return put(tx.Bucket(bucketSums), []byte("key"), uploadOf(1)) })
		},
		"twice": func(s *Store, l *Ledger) error {
			e := entry{kind: entryContribute, epoch: 1, cohort: 1, cost: cost(l), sum: SumID{1}}
			return l.appendRaw(e, e)
		},
		"two epochs": func(s *Store, l *Ledger) error {
			return l.appendRaw(entry{kind: entryContribute, epoch: 1, cohort: 1, cost: cost(l), sum: SumID{1}},
				entry{kind: entryContribute, epoch: 2, cohort: 1, cost: cost(l), sum: SumID{2}})
		},
		"one sum in two epochs": func(s *Store, l *Ledger) error {
			return l.appendRaw(entry{kind: entryContribute, epoch: 1, cohort: 1, cost: cost(l), sum: SumID{1}},
				entry{kind: entryContribute, epoch: 2, cohort: 2, cost: cost(l), sum: SumID{1}})
		},
		"after a contradiction": func(s *Store, l *Ledger) error {
			return l.appendRaw(entry{kind: entryForeignSum, epoch: 1, sum: SumID{3}},
				entry{kind: entryContribute, epoch: 2, cohort: 2, cost: cost(l), sum: SumID{1}})
		},
	} {
		s, l := open(t, newPath(t))
		require.NoError(t, unprotect(l, 1))
		require.NoError(t, spoil(s, l))
		require.NoError(t, s.Close())
		s, err := Open(s.path)
		require.NoError(t, err)
		if _, err := s.OpenLedger(policy(t)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		require.NoError(t, s.Close())
	}
}

// appendRaw stores entries with a sound chain and does not count them.
func (l *Ledger) appendRaw(entries ...entry) error {
	return l.store.update(func(tx *bbolt.Tx) error {
		_, err := putEntries(tx.Bucket(bucketLedger), l.head, entries)
		return err
	})
}
