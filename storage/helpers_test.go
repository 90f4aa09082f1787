package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// dim is the dimension of releases in these tests.
const dim = 8

var budget = privacy.Budget{Epsilon: 1, Delta: 1e-6}

func TestMain(m *testing.M) {
	if path := os.Getenv(crashVariable); path != "" {
		crashChild(path) // until it is killed
	}
	if path := os.Getenv(importVariable); path != "" {
		importChild(path)
	}
	if path := os.Getenv(putVariable); path != "" {
		putChild(path)
	}
	if path := os.Getenv(restoreVariable); path != "" {
		restoreChild(path)
	}
	os.Exit(m.Run())
}

// terms are the terms of the tests' ledgers.
var terms = privacy.Terms{Budget: budget, Dimension: dim, Accounting: privacy.GaussianFilter}

// policyFor returns a policy that spreads a budget over a number of releases.
func policyFor(t testing.TB, b privacy.Budget, dim, releases int) privacy.Policy {
	t.Helper()
	p, err := privacy.Design{Budget: b, Dimension: dim, Clip: 1, Releases: releases}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// policy is the policy of the ledgers that open opens.
func policy(t testing.TB) privacy.Policy { return policyFor(t, budget, dim, 12) }

// with returns a function that accepts every copy.
func with(p privacy.Policy) func(*Store) (privacy.Policy, error) {
	return func(*Store) (privacy.Policy, error) { return p, nil }
}

func gaussian(t testing.TB, releases int) privacy.Mechanism {
	t.Helper()
	m, _ := policyFor(t, budget, dim, releases).Next(0)
	return m
}

// newPath names a store that does not exist yet.
func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "node.db") }

// open opens the store and its ledger, and closes them when the test ends.
func open(t testing.TB, path string) (*Store, *Ledger) {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	l, err := s.OpenLedger(policy(t))
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

// reopen closes the store and opens it again.
func reopen(t testing.TB, s *Store) (*Store, *Ledger) {
	t.Helper()
	require.NoError(t, s.Close())
	return open(t, s.path)
}

func randomRecords(r *rand.Rand, n int) []learner.Record {
	recs := make([]learner.Record, n)
	for i := range recs {
		recs[i] = learner.Record{X: make([]float64, dim), Y: r.NormFloat64()}
		for k := range recs[i].X {
			recs[i].X[k] = (2*r.Float64() - 1) / dim
		}
	}
	return recs
}

// task admits the records of these tests: dim numbers, and a number to predict.
func task() *learner.Task {
	t := &learner.Task{Loss: "squared", Target: learner.Target{Name: "y", Min: -10, Max: 10}}
	for k := range dim {
		t.Features = append(t.Features, learner.Feature{Name: fmt.Sprint(k), Kind: "number", Min: -1, Max: 1})
	}
	return t
}

// full returns an intake that looks at the size only.
func full(size int) Intake { return Intake{Admit: task().Admit, Size: size} }

// AppendRecords puts records without IDs, and returns them as they are stored.
func (s *Store) AppendRecords(recs []learner.Record, in Intake, now time.Time) ([]learner.Record, error) {
	arrivals := make([]Arrival, len(recs))
	for i, r := range recs {
		arrivals[i].Record = r
	}
	c, err := s.Put(arrivals, in, now)
	return c.Stored, err
}

// DeleteRecord deletes one record.
func (s *Store) DeleteRecord(q learner.Seq) error { return s.DeleteRecords(q) }

// today is when the records of these tests arrive.
var today = time.Unix(1_800_000_000, 0)

func sameRecord(a, b learner.Record) bool {
	return a.Seq == b.Seq && a.Cohort == b.Cohort && a.Y == b.Y && slices.Equal(a.X, b.X)
}

// pay pays for a round that the cohorts can afford.
func pay(t testing.TB, l *Ledger, round uint64, m privacy.Mechanism, cohorts ...privacy.Cohort) {
	t.Helper()
	paid, err := payFor(l, round, m, cohorts)
	if err != nil || !slices.Equal(paid, cohorts) {
		t.Fatalf("round %d: cohorts %v paid, error %v; want %v", round, paid, err, cohorts)
	}
}

// payFor pays as [Ledger.Release] does, and draws no noise.
func payFor(l *Ledger, round uint64, m privacy.Mechanism, cohorts []privacy.Cohort) ([]privacy.Cohort, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.pay(round, m, cohorts)
}

// unprotect releases the sum of no records without a guarantee.
func unprotect(l *Ledger, round uint64) error {
	m, err := privacy.NewUnprotected(1)
	if err != nil {
		return err
	}
	_, err = l.ReleaseUnprotected(round, m, []privacy.Sum{m.NewSum(1, dim)})
	return err
}

// entriesOf reads the whole ledger from disk, in order.
func entriesOf(l *Ledger) (entries []entry, err error) {
	err = l.store.view(func(tx *bbolt.Tx) error {
		return walkLedger(tx, func(e entry, _ link) error {
			entries = append(entries, e)
			return nil
		})
	})
	return entries, err
}

// spentBy is the share of its budget that a cohort has used.
func spentBy(l *Ledger, c privacy.Cohort) float64 {
	for _, s := range l.Spending() {
		if s.Cohort == c {
			return s.Share
		}
	}
	return 0
}

// commitRound commits bytes that follow from the round.
func commitRound(l *Ledger, round uint64) error {
	return l.Commit(round, roundMessage(round), roundState(round))
}

func roundMessage(round uint64) []byte { return fmt.Appendf(nil, "message %d", round) }
func roundState(round uint64) []byte   { return fmt.Appendf(nil, "state %d", round) }

// Records returns the live records and the deleted ones, each as [Store.EachRecord]
// visits them.
func (s *Store) Records() (live, deleted []learner.Record, err error) {
	err = s.EachRecord(0, func(r learner.Record) error {
		if r.X == nil {
			deleted = append(deleted, r)
		} else {
			r.X = slices.Clone(r.X)
			live = append(live, r)
		}
		return nil
	})
	return live, deleted, err
}

// asVersion4 makes a file of this version without IDs one of version 4.
func asVersion4(s *Store) error {
	return s.update(func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket(bucketIDs), tx.DeleteBucket(bucketKnown), putSchema(tx, 4))
	})
}

// forgetTimes takes away when some records arrived.
func forgetTimes(t *testing.T, s *Store, from, to learner.Seq) {
	t.Helper()
	for q := from; q <= to; q++ {
		at, err := s.slot(q)
		require.NoError(t, err)
		at.arrived = 0
		require.NoError(t, s.update(func(tx *bbolt.Tx) error {
			return put(tx.Bucket(bucketRecords), numberKey(uint64(q)), encodeSlot(at))
		}))
	}
}
