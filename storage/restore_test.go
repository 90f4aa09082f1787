package storage

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/privacy"
)

// backup writes a copy of the store to a new file.
func backup(t testing.TB, s *Store) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "copy")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, errors.Join(s.Backup(f), f.Close()))
	return path
}

// restoreCopy backs the store up, restores the copy in its place, and opens it.
func restoreCopy(t *testing.T, s *Store, round uint64) (*Store, *Ledger) {
	t.Helper()
	copied := backup(t, s)
	require.NoError(t, s.Close())
	_, err := Restore(copied, s.path, with(policy(t)), nil, round)
	require.NoError(t, err)
	return open(t, s.path)
}

// files is everything in the directory of a store.
func files(t testing.TB, path string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(data)
	}
	return all
}

// No cohort of a restored copy pays again, no matter what it paid after the copy was
// made. Rounds continue above those used since, and later records pay.
func TestRestoreRetires(t *testing.T) {
	path := newPath(t)
	s, l := open(t, path)
	m := gaussian(t, 12)
	stored, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 20)), 6), full(3), today)
	require.NoError(t, err)
	pay(t, l, 1, m, 1) // cohort 2 has records and has not paid yet
	require.NoError(t, commitRound(l, 1))
	copied := backup(t, s)
	for round := uint64(2); round <= 7; round++ {
		pay(t, l, round, m, 1, 2)
	}
	require.NoError(t, s.Close())
	before := files(t, path)

	// What is asked last stops it, when what was there is kept and nothing is replaced.
	no := errors.New("no")
	kept, err := Restore(copied, path, with(policy(t)), func() error {
		if all := files(t, path); all["node.db.replaced-1"] != before["node.db"] || all["node.db"] != before["node.db"] {
			t.Error("it was asked before the old database was kept, or after it was replaced")
		}
		return no
	}, 3)
	if all := files(t, path); !errors.Is(err, no) || kept != "" || all["node.db"] != before["node.db"] || all["node.db.anchor"] != before["node.db.anchor"] || all["node.db.replaced-1"] != "" {
		t.Fatalf("replaced against its will, or something is left: %q, %v", kept, err)
	}
	refused := func(*Store) (privacy.Policy, error) { return privacy.Policy{}, no }
	if _, err := Restore(copied, path, refused, func() error { t.Error("asked about a copy that is refused"); return nil }, 3); !errors.Is(err, no) {
		t.Errorf("a copy that is refused: %v", err)
	}

	kept, err = Restore(copied, path, with(policy(t)), nil, 3)
	require.NoError(t, err)
	after := files(t, path)
	if after[filepath.Base(kept)] != before["node.db"] || after[filepath.Base(anchorPath(kept))] != before["node.db.anchor"] || len(after) != 4 {
		t.Fatalf("kept %q among %d files, want the old database and anchor beside the new ones", kept, len(after))
	}
	s, l = open(t, path)
	if l.Round() < 7 || l.Retired() != 2 || !l.Exhausted(1) || !l.Exhausted(2) || l.Exhausted(3) {
		t.Fatalf("round %d, retired up to %d; the anchor knew of 7 rounds and two cohorts hold records", l.Round(), l.Retired())
	}
	for _, c := range []privacy.Cohort{1, 2} {
		if left, next := l.Left(c); left != 0 || next != 0 {
			t.Errorf("cohort %d has %d releases left at %v", c, left, next)
		}
	}
	if round, message := l.Outgoing(); round != 1 || string(message) != string(roundMessage(1)) {
		t.Errorf("round %d is outgoing: %q", round, message)
	}
	if err := commitRound(l, l.Round()); !errors.Is(err, ErrRound) {
		t.Errorf("a skipped round was committed: %v", err)
	}
	next := l.Round() + 1
	if paid, err := payFor(l, next, m, []privacy.Cohort{1, 2}); err != nil || paid != nil {
		t.Fatalf("retired cohorts %v paid, error %v", paid, err)
	}
	live, _, err := s.Records()
	require.NoError(t, err)
	if len(live) != len(stored) {
		t.Errorf("%d records were restored, want %d", len(live), len(stored))
	}
	more, err := s.AppendRecords(stored[:1], full(3), today)
	require.NoError(t, err)
	if more[0].Cohort != 3 || more[0].Seq != 7 {
		t.Errorf("a later record is number %d in cohort %d, want 7 in 3", more[0].Seq, more[0].Cohort)
	}
	pay(t, l, next, m, 3)
}

func TestRestoreOverEverything(t *testing.T) {
	older := outdated(t)
	original := image{older.db, nil} // ends at round 4
	for _, c := range []struct {
		name  string
		here  func(path string) // what is at path
		round uint64            // at least, afterwards
		kept  bool
	}{
		{"nothing", func(string) {}, 4, false},
		{"text", func(path string) { require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 1e5), 0o600)) }, 4, true},
		{"a torn new file", func(path string) { require.NoError(t, os.WriteFile(path, []byte("x"), 0o600)) }, 4, true},
		{"an anchor alone", func(path string) { require.NoError(t, os.WriteFile(anchorPath(path), older.anchor, 0o600)) }, 5, true},
		{"an older database", func(path string) {
			require.NoError(t, os.WriteFile(path, older.db, 0o600))
			require.NoError(t, os.WriteFile(anchorPath(path), older.anchor, 0o600))
		}, 5, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := newPath(t)
			c.here(path)
			kept, err := Restore(original.put(t), path, with(policy(t)), nil, 0)
			if err != nil || (kept != "") != c.kept {
				t.Fatalf("kept %q, error %v", kept, err)
			}
			if _, l := open(t, path); l.Round() < c.round || l.Retired() != 6 || !l.Unbounded() {
				t.Fatalf("round %d, retired %d; want at least round %d and 6 cohorts", l.Round(), l.Retired(), c.round)
			}
		})
	}
	t.Run("in place", func(t *testing.T) {
		path := older.put(t)
		if err := ledgerError(t, path); !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "put back the newest copy") {
			t.Fatalf("open: %v, want ErrRolledBack and what to do", err)
		}
		kept, err := Restore(path, path, with(policy(t)), nil, 9)
		require.NoError(t, err)
		if old, err := os.ReadFile(kept); err != nil || !bytes.Equal(old, older.db) {
			t.Errorf("kept is not what was there, error %v", err)
		}
		if _, l := open(t, path); l.Round() != 9 || l.Retired() != 6 {
			t.Fatalf("round %d, retired %d; want 9 and 6", l.Round(), l.Retired())
		}
	})
	t.Run("twice", func(t *testing.T) {
		path := older.put(t)
		first, err := Restore(path, path, with(policy(t)), nil, 0)
		require.NoError(t, err)
		second, err := Restore(path, path, with(policy(t)), nil, 0)
		if err != nil || first == second || exists(path+".restoring") {
			t.Fatalf("kept %q and %q, error %v", first, second, err)
		}
	})
}

// A copy that cannot be restored changes nothing.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	original := takeImage(t, paidStore(t))
	damaged := bytes.Clone(original.db)
	for i := 2 * os.Getpagesize(); i < len(damaged); i += 8 { // the two meta pages stay
		damaged[i] ^= 1
	}
	for _, c := range []struct {
		name string
		db   []byte
		want error
	}{
		{"damaged", damaged, ErrDamaged},
		{"cut off", original.db[:len(original.db)/2], ErrDamaged},
		{"text", bytes.Repeat([]byte("text "), 1e4), ErrDamaged},
		{"empty", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := original.put(t)
			before := files(t, path)
			_, err := Restore(image{c.db, nil}.put(t), path, with(policy(t)), nil, 0)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), "nothing has changed") {
				t.Fatalf("Restore: %v, want %v", err, c.want)
			}
			unchanged(t, path, before)
		})
	}
	t.Run("other terms", func(t *testing.T) {
		path := newPath(t)
		_, err := Restore(image{original.db, nil}.put(t), path, with(policyFor(t, budget, dim+1, 3)), nil, 0)
		if !errors.Is(err, ErrBudget) {
			t.Fatalf("Restore: %v, want ErrBudget", err)
		}
		unchanged(t, path, map[string]string{})
	})
	t.Run("no copy", func(t *testing.T) {
		path := original.put(t)
		before := files(t, path)
		if _, err := Restore(path+".none", path, with(policy(t)), nil, 0); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("Restore: %v, want ErrNotExist", err)
		}
		unchanged(t, path, before)
	})
	t.Run("in use", func(t *testing.T) {
		path := original.put(t)
		s, l := open(t, path)
		before := files(t, path)
		for _, from := range []string{path, image{original.db, nil}.put(t)} {
			if _, err := Restore(from, path, with(policy(t)), nil, 0); !errors.Is(err, ErrLocked) {
				t.Fatalf("Restore from %s: %v, want ErrLocked", from, err)
			}
		}
		other := newPath(t)
		if _, err := Restore(path, other, with(policy(t)), nil, 0); !errors.Is(err, ErrLocked) {
			t.Fatalf("Restore of a file in use: %v, want ErrLocked", err)
		}
		unchanged(t, path, before)
		unchanged(t, other, map[string]string{})
		require.NoError(t, firstError(l.Verify()))
		require.NoError(t, s.Close())
	})
}

// Where nothing was, a restore that is stopped at the end leaves nothing, and not an empty
// database. A database that was made there meanwhile is kept.
func TestStoppedRestoreLeavesNothing(t *testing.T) {
	original := takeImage(t, paidStore(t))
	for _, anchored := range []bool{false, true} {
		path := newPath(t)
		if anchored {
			require.NoError(t, os.WriteFile(anchorPath(path), original.anchor, 0o600))
		}
		before := files(t, path)
		no := errors.New("no")
		if _, err := Restore(image{original.db, nil}.put(t), path, with(policy(t)), func() error { return no }, 0); !errors.Is(err, no) {
			t.Errorf("stopped: %v", err)
		}
		unchanged(t, path, before)
	}
	path := newPath(t)
	var made map[string]string
	kept, err := Restore(image{original.db, nil}.put(t), path, func(*Store) (privacy.Policy, error) {
		s, _ := open(t, path)
		require.NoError(t, s.Close())
		made = files(t, path)
		return policy(t), nil
	}, nil, 0)
	require.NoError(t, err)
	if after := files(t, path); kept == "" || after[filepath.Base(kept)] != made["node.db"] {
		t.Errorf("kept %q of a database that was made meanwhile", kept)
	}
}

// While a restore is under way, another one of the same database changes nothing, whatever
// is there and wherever the copies come from. The first one goes on as if it were alone.
func TestRestoreTwiceAtOnce(t *testing.T) {
	t.Parallel()
	original := takeImage(t, paidStore(t))
	for _, c := range []struct {
		name    string
		here    []byte // what is at path
		inPlace bool
		lock    []byte // what a crash left of the lock of an earlier restore
	}{
		{"over a database", original.db, false, nil},
		{"in place", original.db, true, nil},
		{"where nothing is", nil, false, nil},
		{"over a damaged file", bytes.Repeat([]byte("x"), 1e5), false, nil},
		{"with a lock that is torn", original.db, true, original.db[:5000]},
		{"with a lock of zeros", original.db, true, make([]byte, 1<<15)},
		{"with a lock that is whole", original.db, true, original.db},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			if c.here != nil {
				require.NoError(t, os.WriteFile(path, c.here, 0o600))
			}
			if c.lock != nil {
				require.NoError(t, os.WriteFile(path+lockedAs, c.lock, 0o600))
			}
			first, second := path, path
			if !c.inPlace {
				first, second = image{original.db, nil}.put(t), image{original.db, nil}.put(t)
			}
			_, err := Restore(first, path, func(*Store) (privacy.Policy, error) {
				before := files(t, path)
				if _, err := Restore(second, path, with(policy(t)), nil, 200); !errors.Is(err, ErrLocked) {
					t.Errorf("the second one: %v, want ErrLocked", err)
				}
				unchanged(t, path, before)
				return policy(t), nil
			}, nil, 100)
			require.NoError(t, err)
			if _, l := open(t, path); l.Round() != 100 || l.Retired() != 6 {
				t.Errorf("round %d, retired %d; want 100 and 6", l.Round(), l.Retired())
			}
			for name := range files(t, path) {
				if strings.Contains(name, "restoring") {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

func unchanged(t *testing.T, path string, before map[string]string) {
	t.Helper()
	after := files(t, path)
	for name := range after {
		if after[name] != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, want %d", len(after), len(before))
	}
}

// A copy shows one moment, no matter what is written while it is made.
func TestBackupWhileRunning(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 1000)
	pay(t, l, 1, m, 1)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for round := uint64(2); round < 1000; round++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := payFor(l, round, m, []privacy.Cohort{1}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var copies []string
	for range 8 {
		copies = append(copies, backup(t, s))
	}
	close(stop)
	<-done
	last := uint64(1)
	for _, from := range copies {
		path := newPath(t)
		_, err := Restore(from, path, with(policy(t)), nil, 0)
		require.NoError(t, err)
		_, again := open(t, path)
		if again.Round() < last || again.Round() > l.Round() || again.Retired() != 1 {
			t.Fatalf("the copy is of round %d, after one of %d and before %d", again.Round(), last, l.Round())
		}
		last = again.Round()
	}
}

func TestBackupThatCannotBeWritten(t *testing.T) {
	s, l := open(t, newPath(t))
	f, err := os.Open(s.path) // for reading only
	require.NoError(t, err)
	if err := errors.Join(s.Backup(f), f.Close()); err == nil {
		t.Fatal("a copy was written to a file open for reading")
	}
	pay(t, l, 1, gaussian(t, 10), 1)
}
