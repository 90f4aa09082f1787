package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

func TestOpenCreatesAPrivateFile(t *testing.T) {
	path := newPath(t)
	open(t, path)
	for _, name := range []string{path, anchorPath(path)} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", filepath.Base(name), info.Mode().Perm())
		}
	}
}

func TestOpenRefusesASecondUser(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s, _ := open(t, path)
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Fatalf("second Open: %v, want ErrLocked", err)
	}
	require.NoError(t, s.Close())
	open(t, path)
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	newer := func(path string) {
		s, _ := open(t, path)
		require.NoError(t, s.putValue(keySchema, []byte(strconv.Itoa(schemaVersion+1))))
		require.NoError(t, s.Close())
	}
	foreign := func(path string) {
		db, err := bbolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("other"))
			return err
		}))
		require.NoError(t, db.Close())
	}
	write := func(data []byte) func(string) {
		return func(path string) { require.NoError(t, os.WriteFile(path, data, 0o600)) }
	}
	torn := func(size int) func(string) { // a database that bbolt has begun, and no more
		return func(path string) {
			db, err := bbolt.Open(path, 0o600, nil)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.NoError(t, os.Truncate(path, int64(size)))
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(path string)
		want    error
		text    string
	}{
		{"newer schema", newer, nil, fmt.Sprintf("schema %d", schemaVersion+1)},
		{"another program's file", foreign, ErrDamaged, "no p2pnode schema"},
		{"text", write(bytes.Repeat([]byte("text "), 10_000)), ErrDamaged, "no database of p2pnode"},
		{"short text", write([]byte("text\n")), ErrDamaged, "no database of p2pnode"},
		{"text of more than a page", write(bytes.Repeat([]byte("text\n"), 1000)), ErrDamaged, "no database of p2pnode"},
		{"zeros with something behind them", write(append(make([]byte, 5000), "text"...)), ErrDamaged, "no database of p2pnode"},
		{"a new file torn at once", torn(5), errUnfinished, "delete it"},
		{"a new file torn in bbolt's first number", torn(18), errUnfinished, "delete it"},
		{"a new file torn in its first page", torn(100), errUnfinished, "delete it"},
		{"a new file torn after bbolt's meta pages", torn(3*os.Getpagesize() + 100), errUnfinished, "delete it"},
		{"a new file without its first page", func(path string) {
			torn(3*os.Getpagesize() + 100)(path)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt(make([]byte, os.Getpagesize()), 0)
			require.NoError(t, errors.Join(err, f.Close()))
		}, errUnfinished, "delete it"},
		{"a new file of zeros", write(make([]byte, 5000)), errUnfinished, "delete it"},
		{"a torn file with an anchor", func(path string) {
			torn(100)(path)
			require.NoError(t, os.WriteFile(anchorPath(path), encodeAnchor(link{}), 0o600))
		}, ErrDamaged, ""},
		{"a file cut to nothing beside an anchor", func(path string) {
			write(nil)(path)
			require.NoError(t, os.WriteFile(anchorPath(path), encodeAnchor(link{}), 0o600))
		}, ErrDamaged, "is empty"},
		{"an anchor alone", func(path string) {
			require.NoError(t, os.WriteFile(anchorPath(path), encodeAnchor(link{}), 0o600))
		}, ErrMissing, "missing"},
		{"a directory", func(path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, nil, "directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := newPath(t)
			c.prepare(path)
			s, err := Open(path)
			if err == nil {
				s.Close()
				t.Fatal("Open succeeded")
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("Open: %v", err)
			}
			if c.want != errUnfinished && strings.Contains(err.Error(), "delete") {
				t.Errorf("it says to delete what may be somebody's: %v", err)
			}
			there := exists(path)
			if err := DropUnfinished(path); err != nil || c.want != errUnfinished && exists(path) != there {
				t.Errorf("DropUnfinished: %v, and the file is there: %v", err, exists(path))
			}
		})
	}
}

// An error of the operating system says what to do, and is not reported as damage. Another
// owner helps against no disk that is read-only.
func TestReadOnlyMediumSaysWhatToDo(t *testing.T) {
	s := &Store{path: newPath(t), failing: make(chan struct{})}
	const chown, mount = "copy all of them to a place that is", "mount it for writing again, or copy the whole directory to another disk (cp -a)"
	for refused, advice := range map[error]string{syscall.EROFS: mount, syscall.EACCES: chown, syscall.EPERM: chown} {
		err := s.openError(&os.PathError{Op: "open", Path: s.path, Err: refused})
		if !errors.Is(err, refused) || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), advice) || strings.Contains(err.Error(), "chown") != (advice == chown) {
			t.Errorf("%v: %v", refused, err)
		}
	}
	if err := s.fail(&os.PathError{Op: "write", Path: s.path, Err: syscall.EROFS}); !errors.Is(err, ErrPoisoned) || !strings.Contains(err.Error(), mount) {
		t.Errorf("of a write: %v", err)
	}
}

func TestClosedStoreFails(t *testing.T) {
	s, l := open(t, newPath(t))
	require.NoError(t, s.Close())
	_, _, err := s.Records()
	for name, err := range map[string]error{
		"PutMeta": s.PutMeta("key", "value"), "Records": err, "a release": unprotect(l, 1), "Verify": firstError(l.Verify()),
		"AppendRecords": firstError(s.AppendRecords(make([]learner.Record, 1), Intake{Admit: func(*learner.Record) error { return nil }, Size: 1}, today)),
		"DeleteRecord":  s.DeleteRecord(1), "Wipe": s.Wipe(), "Compact": s.Compact(), "Backup": s.Backup(io.Discard),
	} {
		if !errors.Is(err, ErrClosed) || errors.Is(err, ErrPoisoned) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	require.NoError(t, s.Failure())
	select {
	case <-s.Failed():
		t.Error("a write failed, though none was made")
	default:
	}
	require.NoError(t, s.Close())
}

// A write that failed before is told after Close, too.
func TestClosedStoreRemembersItsFailure(t *testing.T) {
	s, l := open(t, newPath(t))
	first := s.write(func() error { return errors.New("torn") })
	require.NoError(t, s.Close())
	for _, err := range []error{s.PutMeta("key", "value"), unprotect(l, 1), s.Failure()} {
		if !errors.Is(err, ErrPoisoned) || err.Error() != first.Error() {
			t.Errorf("got %v, want %v", err, first)
		}
	}
}

// A panic inside bbolt may leave its locks held, so nothing may wait for them. The file is
// free all the same once the store is closed.
func TestPanicBreaksTheStore(t *testing.T) {
	path := newPath(t)
	s, l := open(t, path)
	err := s.update(func(*bbolt.Tx) error { panic("stored bytes") })
	if !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "stored bytes") {
		t.Fatalf("update: %v, want ErrDamaged without the panic's text", err)
	}
	for name, err := range map[string]error{
		"Edges": firstError(s.Edges()),
		"Meta":  s.PutMeta("key", "value"),
		"Pay":   unprotect(l, 1),
		"Close": s.Close(),
	} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s after a panic: %v, want ErrDamaged", name, err)
		}
	}
	open(t, path)
}

// A panic of a function that the caller gave is the caller's: it arrives as it is, says
// nothing of the file and leaves no lock held.
func TestCallersPanicIsNoDamage(t *testing.T) {
	s, _ := open(t, newPath(t))
	recs := randomRecords(rand.New(rand.NewPCG(1, 36)), 3)
	for i := range recs {
		recs[i].Cells = learner.Cells(fmt.Sprint("cell ", i))
	}
	_, err := s.Put([]Arrival{{Record: recs[0], ID: "a"}, {Record: recs[1], ID: "b"}, {Record: recs[2]}}, full(10), today)
	require.NoError(t, err)
	mine := errors.New("the caller's own")
	for name, call := range map[string]func(panics bool) error{
		"EachRecord": func(panics bool) error {
			return s.EachRecord(0, orNil(panics, func(learner.Record) error { panic(mine) }))
		},
		"EachCells": func(panics bool) error {
			return s.EachCells(0, 9, orNil(panics, func(learner.Seq, learner.Cells) { panic(mine) }))
		},
		"EachID": func(panics bool) error {
			return s.EachID(0, 9, orNil(panics, func(learner.Seq, string) { panic(mine) }))
		},
		"AddPoint": func(panics bool) error {
			return s.AddPoint("series", Point{At: today}, orNil(panics, func([]time.Time) []time.Time { panic(mine) }))
		},
	} {
		for _, panics := range []bool{true, false} {
			panicked := func() (value any) {
				defer func() { value = recover() }()
				t.Errorf("%s returned %v", name, call(panics))
				return nil
			}()
			if _, nilCall := panicked.(runtime.Error); panics && panicked != mine || !panics && !nilCall {
				t.Errorf("%s panicked with %v", name, panicked)
			}
			require.NoError(t, s.PutMeta("key", name))
			require.NoError(t, s.Failure())
		}
	}
	if points, err := s.Points("series"); len(points) > 0 || err != nil {
		t.Errorf("%d points are stored, %v", len(points), err)
	}
	if live, _, err := s.Records(); len(live) != 3 || err != nil {
		t.Errorf("%d records are left, %v", len(live), err)
	}
	reopen(t, s)
}

// orNil returns f if it is wanted, and otherwise nil.
func orNil[F any](wanted bool, f F) (none F) {
	if wanted {
		return f
	}
	return none
}

func firstError[T any](_ T, err error) error { return err }

func TestValuesSurvive(t *testing.T) {
	s, _ := open(t, newPath(t))
	check := func(task, other string) {
		t.Helper()
		for key, want := range map[string]string{"task": task, "other": other} {
			if got, err := s.Meta(key); err != nil || got != want {
				t.Fatalf("%s is %q, error %v; want %q", key, got, err, want)
			}
		}
	}
	check("", "")
	require.NoError(t, s.PutMeta("task", "abc"))
	require.NoError(t, s.PutMeta("other", "xyz"))
	check("abc", "xyz")
	require.NoError(t, s.PutMeta("task", "def"))
	s, _ = reopen(t, s)
	check("def", "xyz")
}

func TestMetaJSON(t *testing.T) {
	s, _ := open(t, newPath(t))
	list := []int{7}
	if err := s.MetaJSON("list", &list); err != nil || !slices.Equal(list, []int{7}) {
		t.Errorf("%v, error %v, before anything is stored", list, err)
	}
	require.NoError(t, s.PutMetaJSON("list", []int{1, 2}), s.MetaJSON("list", &list))
	if !slices.Equal(list, []int{1, 2}) {
		t.Errorf("%v instead of what was stored", list)
	}
	if err := s.PutMetaJSON("list", func() {}); err == nil {
		t.Error("stored what JSON cannot say")
	}
	require.NoError(t, s.PutMeta("list", "no JSON"))
	if err := s.MetaJSON("list", &list); err == nil {
		t.Error("read what is no JSON")
	}
}
