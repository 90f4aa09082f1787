package storage

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// One release on disk: the debit, the anchor, then a message
// and the state of an agent with 10 neighbours in 31 dimensions.
func BenchmarkPayAndCommit(b *testing.B) {
	s, err := Open(newPath(b))
	require.NoError(b, err)
	defer s.Close()
	l, err := s.OpenLedger(policy(b))
	require.NoError(b, err)
	m := gaussian(b, privacy.MaxReleases)
	message, state := make([]byte, 300), make([]byte, 6000)
	round := uint64(0)
	for b.Loop() {
		round++
		if paid, err := payFor(l, round, m, []privacy.Cohort{privacy.Cohort(1 + round/privacy.MaxReleases)}); err != nil || paid == nil {
			b.Fatalf("%v paid, error %v", paid, err)
		}
		require.NoError(b, l.Commit(round, message, state))
	}
}

// The anchor's part of a release.
func BenchmarkAnchor(b *testing.B) {
	path := filepath.Join(b.TempDir(), "anchor")
	for b.Loop() {
		require.NoError(b, writeAnchor(path, 0, link{sequence: 1, crc: 2}))
	}
}

// Opening verifies everything: 20,000 records in 31 dimensions and 2,000
// entries of the ledger.
func BenchmarkOpen(b *testing.B) {
	s, l := open(b, newPath(b))
	recs := randomRecords(rand.New(rand.NewPCG(1, 8)), 20_000)
	for i := range recs {
		recs[i].X = make([]float64, 31)
	}
	_, err := s.AppendRecords(recs, Intake{Admit: func(*learner.Record) error { return nil }, Size: 100}, today)
	require.NoError(b, err)
	cohorts := make([]privacy.Cohort, 2000)
	for i := range cohorts {
		cohorts[i] = privacy.Cohort(i + 1)
	}
	pay(b, l, 1, gaussian(b, 10), cohorts...)
	require.NoError(b, s.Close())
	for b.Loop() {
		s, err := Open(s.path)
		require.NoError(b, err)
		_, err = s.OpenLedger(policy(b))
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
}

// The import of a file of 100,000 records, and reading them again.
func BenchmarkImport(b *testing.B) {
	recs := randomRecords(rand.New(rand.NewPCG(1, 9)), 100_000)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(newPath(b))
		require.NoError(b, err)
		_, err = importRecords(s, recs, full(100_000), Digest{})
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
}

// The deletion of one record of a file in which 60,000 of 100,000 with long cells were
// deleted before.
func BenchmarkDelete(b *testing.B) {
	s, err := Open(newPath(b))
	require.NoError(b, err)
	defer s.Close()
	recs := randomRecords(rand.New(rand.NewPCG(1, 9)), 100_000)
	for i := range recs {
		recs[i].Cells = learner.Cells(strings.Repeat("x", 1000))
	}
	_, err = importRecords(s, recs, full(100_000), Digest{})
	require.NoError(b, err)
	seqs := make([]learner.Seq, len(recs))
	for i := range seqs {
		seqs[i] = learner.Seq(i + 1)
	}
	require.NoError(b, s.DeleteRecords(seqs[:60_000]...))
	next := 60_000
	for b.Loop() {
		require.NoError(b, s.DeleteRecord(seqs[next]))
		next++
	}
}

func BenchmarkEachRecord(b *testing.B) {
	s, err := Open(newPath(b))
	require.NoError(b, err)
	defer s.Close()
	_, err = importRecords(s, randomRecords(rand.New(rand.NewPCG(1, 9)), 100_000), full(100_000), Digest{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, s.EachRecord(0, func(learner.Record) error { return nil }))
	}
}
