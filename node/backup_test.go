package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

// backup writes a copy of the node's database into a file.
func backup(t *testing.T, n *Node) string {
	t.Helper()
	var copied bytes.Buffer
	if err := n.Backup(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A restored node has the records of the copy and no budget for them; its rounds
// go on above all earlier ones, and new records have a budget of their own.
func TestRestoreRetires(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	d := newDoor(n.ledger, &n.files.Config)
	if _, err := d.release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	path := backup(t, n)
	if _, err := d.release(query(mechanism(n), 2, 1)); err != nil { // the copy knows nothing of it
		t.Fatal(err)
	}
	if _, err := datadir.Restore(n.dir, path, nil); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("restore below an open node: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true}) // the copy is not written to
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	before := time.Now()
	kept, err := datadir.Restore(n.dir, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the replaced database: %v", err)
	}

	again := openNode(t, n.dir)
	b := budget(t, again)
	if len(b.Cohorts) != 1 || !b.Cohorts[0].Retired || b.Cohorts[0].Left != 0 || b.Left != 0 ||
		b.Cohorts[0].Spent != 1 || math.Abs(b.Cohorts[0].AtLeast-0.2) > 1e-6 {
		t.Errorf("budget %+v, want one retired cohort of which a fifth is known to be spent, and all counts", b)
	}
	if s := status(t, again); s.Records != 10 || s.Round < uint64(before.Unix())<<20 || !s.Done || !s.Restored ||
		!s.Privacy.Retired || s.Privacy.Spent != 1 || s.Privacy.AtLeast >= 1 {
		t.Errorf("status %+v", s)
	}
	if a, err := newDoor(again.ledger, &again.files.Config).release(query(mechanism(again), again.ledger.Round()+1, 1)); err != nil || !a.Exhausted() {
		t.Errorf("a retired cohort is released: %v, %v", a, err)
	}
	if err := again.Add(t.Context(), lineRecords(fixed(2), 10)); err != nil {
		t.Fatal(err)
	}
	if p := status(t, again).Privacy; p.Spent != 0 || p.Older != 1 {
		t.Errorf("the newest records have spent %v, and older ones %v", p.Spent, p.Older)
	}
	b = budget(t, again)
	if len(b.Cohorts) != 2 || b.Cohorts[1].Left != 5 || b.Cohorts[1].Retired || b.Left != 5 {
		t.Errorf("budget %+v, want a second cohort with 5 releases", b)
	}
}

// The limit of a node without protection counts releases, not rounds, which jump
// when a copy is restored.
func TestRestoreWithoutProtection(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 2 })
	if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Restore(n.dir, "", nil); err != nil {
		t.Fatal(err)
	}
	again := openNode(t, n.dir)
	if b := budget(t, again); !b.Unbounded || b.Left != 1 {
		t.Errorf("budget %+v, want unbounded with 1 release left", b)
	}
}

// A directory whose anchor is gone, or newer than the database, is refused and
// says what to do; doing it helps.
func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(db string, copied []byte) error{
		"lost anchor":  func(db string, _ []byte) error { return os.Remove(db + ".anchor") },
		"old database": func(db string, copied []byte) error { return os.WriteFile(db, copied, 0o600) },
	} {
		n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
		d := newDoor(n.ledger, &n.files.Config)
		var copied []byte
		for round := uint64(1); round <= 2; round++ {
			if _, err := d.release(query(mechanism(n), round, 1)); err != nil {
				t.Fatal(err)
			}
			if round == 1 {
				text, err := os.ReadFile(backup(t, n))
				if err != nil {
					t.Fatal(err)
				}
				copied = text
			}
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := harm(filepath.Join(n.dir, datadir.StoreFile), copied); err != nil {
			t.Fatal(err)
		}
		_, err := Open(n.dir, slog.New(slog.DiscardHandler))
		if !errors.Is(err, storage.ErrRolledBack) || !strings.Contains(err.Error(), "p2pnode restore --dir "+n.dir) {
			t.Errorf("%s: %v does not say what to do", name, err)
		}
		if needs, err := datadir.NeedsRestore(n.dir); !needs || err != nil {
			t.Errorf("%s: needs a restore: %v, %v", name, needs, err)
		}
		refused := errors.New("no")
		if _, err := datadir.Restore(n.dir, "", func(records int) error { return fmt.Errorf("%d %w", records, refused) }); !errors.Is(err, refused) || !strings.Contains(err.Error(), "10 no") {
			t.Errorf("%s: not confirmed: %v", name, err)
		}
		if needs, err := datadir.NeedsRestore(n.dir); !needs || err != nil {
			t.Errorf("%s: not confirmed, and needs a restore: %v, %v", name, needs, err)
		}
		if _, err := datadir.Restore(n.dir, "", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if needs, err := datadir.NeedsRestore(n.dir); needs || err != nil {
			t.Errorf("%s: restored, and needs a restore: %v, %v", name, needs, err)
		}
		if kept, err := datadir.Kept(n.dir); err != nil || !slices.Equal(kept, []string{filepath.Join(n.dir, datadir.StoreFile+".replaced-1")}) {
			t.Errorf("%s: kept %q, %v", name, kept, err)
		}
		if s := status(t, openNode(t, n.dir)); s.Records != 10 || !s.Done {
			t.Errorf("%s: status %+v", name, s)
		}
	}
}

// A missing database is reported and not begun anew, and a copy restores it.
func TestMissingDatabase(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	pay(t, n, 1)
	copied := backup(t, n)
	path := filepath.Join(n.dir, datadir.StoreFile)
	if err := errors.Join(n.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	_, openErr := Open(n.dir, slog.New(slog.DiscardHandler))
	_, restoreErr := datadir.Restore(n.dir, "", nil)
	for _, err := range []error{openErr, restoreErr} {
		if !errors.Is(err, storage.ErrMissing) || !strings.Contains(err.Error(), "p2pnode restore FILE --dir "+n.dir) {
			t.Errorf("%v does not say what to do", err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	if _, err := datadir.Restore(n.dir, copied, nil); err != nil {
		t.Fatal(err)
	}
	if s := status(t, openNode(t, n.dir)); s.Records != 10 {
		t.Errorf("status %+v", s)
	}
}

// A copy that is damaged, or that belongs to another node, changes nothing.
func TestRestoreRefuses(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	good, err := os.ReadFile(backup(t, n))
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	for i := range bad[:len(bad)/2] {
		bad[len(bad)/2+i] ^= 0x55
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(t.TempDir(), "small.db")
	if err := os.WriteFile(small, good[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(t.TempDir(), "people.csv")
	require.NoError(t, os.WriteFile(csv, bytes.Repeat([]byte("a,b,y\n"), 10_000), 0o600))
	foreign := backup(t, testNode(t, lineTask(), nil, nil))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		damaged:                       "take another backup",
		small:                         "no copy",
		csv:                           "no copy of a node's database; name a file that p2pnode backup made",
		t.TempDir():                   "no copy",
		foreign:                       "another identity",
		filepath.Join(n.dir, "no.db"): "no such file",
	} {
		if _, err := datadir.Restore(n.dir, path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if b := budget(t, openNode(t, n.dir)); len(b.Cohorts) != 1 || b.Cohorts[0].Retired {
		t.Errorf("budget %+v, want it as before", b)
	}
}

// A copy that cannot be written is an error, also when that happens half-way.
func TestBackupFails(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	if err := n.Backup(t.Context(), fullDisk{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Backup(ctx, io.Discard); err == nil {
		t.Error("a backup that was called off succeeds")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// stuck takes the first part of a copy when it may.
type stuck struct {
	bytes.Buffer
	begun, goOn chan struct{}
}

func (w *stuck) Write(p []byte) (int, error) {
	if w.begun != nil {
		close(w.begun)
		w.begun = nil
	}
	<-w.goOn
	return w.Buffer.Write(p)
}

// Who is slow to take a copy keeps nobody from writing, also what must wait for all readers
// of the database, and gets the copy as it was when it began.
func TestSlowBackup(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	w := &stuck{begun: begun, goOn: goOn}
	go func() { ended <- n.Backup(t.Context(), w) }()
	release := sync.OnceFunc(func() { close(goOn) })
	defer release() // for the test that fails
	<-begun
	soon(t, "deleting a record", func() error { return n.Delete(t.Context(), []uint64{1}) })
	release()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(path, w.Bytes(), 0o600))
	s, err := storage.Open(path)
	require.NoError(t, err)
	defer s.Close()
	count := 0
	require.NoError(t, s.EachRecord(1, func(learner.Record) error { count++; return nil }))
	if count != 10 {
		t.Errorf("the copy has %d records of 10", count)
	}
}
