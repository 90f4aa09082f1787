package storage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

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
	os.Exit(m.Run())
}

func gaussian(t testing.TB, releases int) privacy.Mechanism {
	t.Helper()
	m, err := privacy.Calibrate(budget, 1, releases, dim)
	if err != nil {
		t.Fatal(err)
	}
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
	l, err := s.OpenLedger(budget, dim)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

// reopen closes the store and opens it again.
func reopen(t testing.TB, s *Store) (*Store, *Ledger) {
	t.Helper()
	must(t, s.Close())
	return open(t, s.path)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func randomRecords(r *rand.Rand, n int) []learner.Record {
	recs := make([]learner.Record, n)
	for i := range recs {
		recs[i] = learner.Record{X: make([]float64, dim), Y: r.NormFloat64()}
		for k := range recs[i].X {
			recs[i].X[k] = r.NormFloat64()
		}
	}
	return recs
}

func sameRecord(a, b learner.Record) bool {
	return a.Seq == b.Seq && a.Cohort == b.Cohort && a.Y == b.Y && slices.Equal(a.X, b.X)
}

// pay pays for a round that the cohorts can afford.
func pay(t testing.TB, l *Ledger, round uint64, m privacy.Mechanism, cohorts ...privacy.Cohort) {
	t.Helper()
	paid, err := l.Pay(round, m, cohorts)
	if err != nil || !slices.Equal(paid, cohorts) {
		t.Fatalf("round %d: cohorts %v paid, error %v; want %v", round, paid, err, cohorts)
	}
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
