package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

func TestDeleteAllOrNone(t *testing.T) {
	s, _ := open(t, newPath(t))
	r := rand.New(rand.NewPCG(1, 21))
	var model recordModel
	recs := randomRecords(r, 9)
	model.append(recs, full(4), today)
	_, err := s.AppendRecords(recs, full(4), today)
	require.NoError(t, err)
	require.NoError(t, s.DeleteRecords())
	require.NoError(t, s.DeleteRecords(5, 2))
	model.delete(5)
	model.delete(2)
	for _, seqs := range [][]learner.Seq{{1, 2}, {1, 10}, {1, 0}, {1, 3, 1}} {
		if err := s.DeleteRecords(seqs...); !errors.Is(err, ErrNoRecord) {
			t.Errorf("delete %v: %v, want ErrNoRecord", seqs, err)
		}
	}
	if err := s.DeleteRecords(1, 3, 1); err == nil || err.Error() != "storage: number 1 is twice in the list" {
		t.Errorf("a number twice: %v", err)
	}
	model.check(t, s)
	s, l := reopen(t, s) // a refused deletion is no failed write
	model.check(t, s)
	pay(t, l, 1, gaussian(t, 10), 1)
}

// After a deletion no byte of the record is in the file, wherever bbolt had put
// earlier copies of its page; the other records stay.
func TestDeletedBytesAreGone(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 22))
		s, l := open(t, newPath(t))
		var recs []learner.Record
		for range 30 { // in many transactions, so that pages move
			stored, err := s.AppendRecords(randomRecords(r, 1+r.IntN(20)), full(50), today)
			require.NoError(t, err)
			recs = append(recs, stored...)
			require.NoError(t, l.SaveState(make([]byte, r.IntN(9000))))
		}
		var gone, stay []learner.Record
		var seqs []learner.Seq
		for _, rec := range recs {
			if r.IntN(5) == 0 {
				gone, seqs = append(gone, rec), append(seqs, rec.Seq)
			} else {
				stay = append(stay, rec)
			}
		}
		if seen(t, s, gone) != len(gone) {
			t.Fatal("a stored record is not in the file: the test looks for the wrong bytes")
		}
		require.NoError(t, s.DeleteRecords(seqs...))
		if n := seen(t, s, gone); n != 0 {
			t.Errorf("seed %d: the bytes of %d deleted records are still in the file", seed, n)
		}
		if n := seen(t, s, stay); n != len(stay) {
			t.Errorf("seed %d: %d of %d other records are in the file", seed, n, len(stay))
		}
		require.NoError(t, s.view(func(tx *bbolt.Tx) error { return checkFile(tx) }))
		s, _ = reopen(t, s)
		if live, deleted, err := s.Records(); err != nil || len(live) != len(stay) || len(deleted) != len(gone) {
			t.Errorf("seed %d: %d records and %d deleted, error %v", seed, len(live), len(deleted), err)
		}
	}
}

// Free pages that hold nothing are not written again. The first time after the file was
// opened all of them are, because what is read as zeros then may never have reached the
// disk.
func TestWipedPagesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 25))
	s, _ := open(t, newPath(t))
	recs, err := s.AppendRecords(randomRecords(r, 2000), full(5000), today)
	require.NoError(t, err)
	written := func() bool {
		before := today.Add(-time.Hour)
		require.NoError(t, os.Chtimes(s.path, before, before), s.Wipe())
		info, err := os.Stat(s.path)
		require.NoError(t, err)
		return !info.ModTime().Equal(before)
	}
	seqs := make([]learner.Seq, 1500)
	for i := range seqs {
		seqs[i] = recs[i].Seq
	}
	require.NoError(t, s.DeleteRecords(seqs...))
	if written() {
		t.Error("wiped, and written again")
	}
	last := len(seqs)
	require.NoError(t, s.DeleteRecord(recs[last].Seq))
	if n := seen(t, s, recs[:last+1]); n != 0 || written() {
		t.Errorf("after a second deletion the bytes of %d records are still in the file, or it is written again", n)
	}
	s, _ = reopen(t, s)
	if !written() || written() {
		t.Error("in a file that was just opened free pages are to be written once")
	}
}

// seen counts the records of which the file holds any coordinate.
func seen(t *testing.T, s *Store, recs []learner.Record) (n int) {
	t.Helper()
	data, err := os.ReadFile(s.path)
	require.NoError(t, err)
	for _, rec := range recs {
		for _, x := range append(rec.X, rec.Y) {
			if bytes.Contains(data, binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))) {
				n++
				break
			}
		}
	}
	return n
}

// Readers see the state at which they began while pages are wiped.
func TestDeleteWhileReading(t *testing.T) {
	t.Parallel()
	s, _ := open(t, newPath(t))
	const n = 400
	_, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 23)), n), full(50), today)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for deleted := 0; deleted < 50; {
				live, gone, err := s.Records()
				if err != nil || len(live)+len(gone) != n || len(gone) < deleted {
					t.Errorf("%d records and %d deleted after %d, error %v", len(live), len(gone), deleted, err)
					return
				}
				deleted = len(gone)
			}
		})
	}
	for q := learner.Seq(1); q <= 50; q++ {
		require.NoError(t, s.DeleteRecord(q))
	}
	all.Wait()
}

// Records that take more than one transaction to delete are also deleted all or none, as
// long as the process lives.
func TestDeleteMany(t *testing.T) {
	t.Parallel()
	s, _ := open(t, newPath(t))
	const n = 2*deleteBatch + 100
	in := Intake{Admit: task().Admit, Size: 5000, Closed: neverClosed}
	_, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 24)), n), in, today)
	require.NoError(t, err)
	require.NoError(t, s.DeleteRecords(n-1))
	many := make([]learner.Seq, deleteBatch+1)
	for i := range many {
		many[i] = learner.Seq(2 * (i + 1)) // in any order
	}
	slices.Reverse(many)
	for _, bad := range []learner.Seq{n - 1, n + 1, 0, 4} {
		if err := s.DeleteRecords(append(slices.Clone(many), bad)...); !errors.Is(err, ErrNoRecord) {
			t.Errorf("with %d: %v, want ErrNoRecord", bad, err)
		}
	}
	c, err := s.Count()
	require.NoError(t, err)
	if c.Records != n-1 {
		t.Errorf("%d records after refused deletions, want %d", c.Records, n-1)
	}
	require.NoError(t, s.DeleteRecords(many...))
	s, _ = reopen(t, s)
	require.NoError(t, s.EachRecord(0, func(r learner.Record) error {
		if gone := r.Seq == n-1 || r.Seq%2 == 0 && r.Seq <= 2*(deleteBatch+1); gone != (r.X == nil) {
			t.Fatalf("record %d: deleted %v, want %v", r.Seq, r.X == nil, gone)
		}
		return nil
	}))
}
