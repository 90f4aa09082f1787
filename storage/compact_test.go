package storage

import (
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// sparseStore returns a store with records and payments in which most pages are unused.
func sparseStore(t *testing.T) (path string, records []learner.Record) {
	t.Helper()
	path = newPath(t)
	s, l := open(t, path)
	stored, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 41)), 500), full(100), today)
	require.NoError(t, err)
	require.NoError(t, s.DeleteRecord(3))
	pay(t, l, 1, gaussian(t, 10), 1)
	require.NoError(t, commitRound(l, 1))
	require.NoError(t, s.PutMeta("big", strings.Repeat("big", 10<<20)))
	require.NoError(t, s.PutMeta("big", ""))
	require.NoError(t, s.Close())
	return path, append(stored[:2:2], stored[3:]...)
}

// Compacting keeps every record, number and payment, works while the ledger is open, and
// makes the file smaller.
func TestCompact(t *testing.T) {
	t.Parallel()
	s, l := open(t, newPath(t))
	stored, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 42)), 500), full(100), today)
	require.NoError(t, err)
	require.NoError(t, s.DeleteRecord(500))
	pay(t, l, 1, gaussian(t, 10), 1, 2)
	require.NoError(t, s.PutMeta("big", strings.Repeat("big", 1<<20)), s.PutMeta("big", ""))
	before, err := s.Stats()
	require.NoError(t, err)
	require.NoError(t, s.Compact())
	after, err := s.Stats()
	require.NoError(t, err)
	if before.Free < 3<<20 || after.Free > 1<<16 || after.Size >= before.Size {
		t.Errorf("%+v before and %+v after", before, after)
	}
	require.NoError(t, firstError(l.Verify()))
	require.NoError(t, commitRound(l, 1))
	pay(t, l, 2, gaussian(t, 10), 1)
	more, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 43)), 1), full(100), today)
	require.NoError(t, err)
	var copied strings.Builder
	require.NoError(t, s.Backup(&copied))
	s, l = reopen(t, s)
	live, deleted, err := s.Records()
	require.NoError(t, err)
	if !reflect.DeepEqual(live, append(stored[:499:499], more...)) || len(deleted) != 1 || more[0].Seq != 501 || l.Round() != 2 {
		t.Errorf("%d records, %d deleted, the newest is number %d, round %d", len(live), len(deleted), more[0].Seq, l.Round())
	}
}

// A file that is mostly unused is made smaller when it is opened, once.
func TestOpenCompacts(t *testing.T) {
	t.Parallel()
	path, want := sparseStore(t)
	sizes := []os.FileInfo{stat(t, path)}
	for range 2 {
		s, l := open(t, path)
		live, _, err := s.Records()
		require.NoError(t, err)
		require.NoError(t, firstError(l.Verify()))
		if !reflect.DeepEqual(live, want) {
			t.Errorf("%d records are not those that were there", len(live))
		}
		require.NoError(t, s.Close())
		sizes = append(sizes, stat(t, path))
	}
	if sizes[1].Size() > sizes[0].Size()/10 || !os.SameFile(sizes[1], sizes[2]) {
		t.Errorf("%d bytes became %d, and another file once more: %v", sizes[0].Size(), sizes[1].Size(), !os.SameFile(sizes[1], sizes[2]))
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info
}

// Opening removes files that a crash left. Kept copies, and files with similar names, stay.
func TestOpenRemovesWhatCrashesLeft(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s, _ := open(t, path)
	require.NoError(t, s.Close())
	gone := []string{path + ".compacting", path + ".before-schema-5.unfinished"}
	stays := []string{path + ".before-schema-5", path + ".replaced-1", path + ".compacting.mine", path + "-before-schema-5.unfinished"}
	for _, name := range append(gone, stays...) {
		require.NoError(t, os.WriteFile(name, []byte("x"), 0o600))
	}
	open(t, path)
	for _, name := range gone {
		if exists(name) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range stays {
		if !exists(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// If a file is replaced while a store waits for its lock, the store gets the lock of a file
// that nobody opens any more. It must not use that file.
func TestReplacedWhileWaiting(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s, _ := open(t, path)
	require.NoError(t, s.Close())
	waiting := &Store{path: path}
	require.NoError(t, waiting.lock(bbolt.Options{}))
	require.NoError(t, copyFile(path+".other", path))
	require.NoError(t, os.Rename(path+".other", path))
	if err := waiting.current(); !errors.Is(err, ErrLocked) {
		t.Errorf("the lock of a replaced file counts: %v", err)
	}
	open(t, path)
}
