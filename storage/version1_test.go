package storage

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// A directory that version 1 wrote, with the budget and dimension of these
// tests: 5 records in cohorts of 3, number 2 deleted; rounds 1 (committed) and 3
// paid at a tenth of the budget, by cohorts 1 and 2 and by 1; round 2 unprotected.
func version1(t *testing.T) image {
	t.Helper()
	f, err := os.Open("testdata/version1.db.gz")
	require.NoError(t, err)
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	db, err := io.ReadAll(zipped)
	require.NoError(t, err)
	anchor, err := os.ReadFile("testdata/version1.db.anchor")
	require.NoError(t, err)
	return image{db, anchor}
}

func TestVersion1IsReadAndContinued(t *testing.T) {
	path := version1(t).put(t)
	s, l := open(t, path)
	live, deleted, err := s.Records()
	require.NoError(t, err)
	if len(live) != 4 || len(deleted) != 1 || deleted[0].Seq != 2 || live[3].Cohort != 2 || live[3].Y != 4 || live[3].X[4] != 0.5 {
		t.Fatalf("records %v, deleted %v", live, deleted)
	}
	round, message := l.Outgoing()
	one, two := spentBy(l, 1), spentBy(l, 2)
	if l.Round() != 3 || round != 1 || string(message) != string(roundMessage(1)) || l.Unprotected() != 1 ||
		one < 0.19999 || one > 0.2 || two < 0.09999 || two > 0.1 {
		t.Fatalf("round %d, outgoing %d %q, %d unprotected, spent %v and %v", l.Round(), round, message, l.Unprotected(), one, two)
	}
	if _, err := s.AppendRecords([]learner.Record{{X: make([]float64, dim)}}, full(3), today); !errors.Is(err, errRelease1) {
		t.Errorf("a record among those of the first release: %v", err)
	}
	if err := s.Upgrade(asBefore()); err == nil {
		t.Error("upgraded under an open ledger, which holds what was there before")
	}
	require.NoError(t, s.Close())
	s, l = openUpgraded(t, path, asBefore())
	// Cohort 2 holds two of three; when it was opened is not known.
	stored, err := s.AppendRecords([]learner.Record{{X: make([]float64, dim)}}, full(3), today)
	require.NoError(t, err)
	later, err := s.AppendRecords([]learner.Record{{X: make([]float64, dim)}}, Intake{Admit: task().Admit, Size: 9, Age: time.Hour}, today)
	require.NoError(t, err)
	if stored[0].Cohort != 2 || later[0].Cohort != 3 {
		t.Errorf("new records joined cohorts %d and %d, want 2 and 3", stored[0].Cohort, later[0].Cohort)
	}
	named := []Arrival{{learner.Record{X: make([]float64, dim)}, "a"}, {learner.Record{X: make([]float64, dim)}, "a"}}
	if c, err := s.Put(named, full(9), today); err != nil || c.Outcomes[0] != New || c.Outcomes[1] != Same {
		t.Errorf("records with IDs: %v, %v", c.Outcomes, err)
	}
	require.NoError(t, commitRound(l, 3))
	pay(t, l, 4, gaussian(t, 10), 1, 2, 3)
	s, l = reopen(t, s)
	require.NoError(t, firstError(l.Verify()))
	require.NoError(t, s.Close())

	_, err = Restore(version1(t).put(t), path, with(policy(t)), nil, 0)
	require.NoError(t, err)
	if _, l = open(t, path); l.Retired() != 2 || l.Round() < 4 {
		t.Errorf("restored: retired %d, round %d", l.Retired(), l.Round())
	}
}

// Terms that version 1 knew are written as version 1 wrote them.
func TestVersion1Entries(t *testing.T) {
	path := version1(t).put(t)
	_, l := open(t, path)
	entries, err := entriesOf(l)
	require.NoError(t, err)
	var head link
	for _, e := range entries {
		_, head = encodeEntry(head, e)
	}
	a, err := decodeAnchor(version1(t).anchor[:anchorSlotSize])
	b, _ := decodeAnchor(version1(t).anchor[anchorSlotSize:])
	if err != nil || head != l.head || head != a && head != b {
		t.Errorf("the chain ends at %v, its anchor at %v or %v, error %v", head, a, b, err)
	}
}
