package storage

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// importRecords stores records as one file.
func importRecords(s *Store, recs []learner.Record, in Intake, file Digest) (learner.Seq, error) {
	i, err := s.Import(in, today)
	if err != nil {
		return 0, err
	}
	for _, r := range recs {
		if err := i.Add(r); err != nil {
			return 0, errors.Join(err, i.Drop())
		}
	}
	first, err := i.Commit(file, 7)
	return first, errors.Join(err, i.Drop())
}

// An import of any length stores what AppendRecords stores, with the same numbers and
// cohorts, and remembers the file.
func TestImportStoresWhatAppendDoes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 31))
	s, _ := open(t, newPath(t))
	var model recordModel
	in := Intake{Admit: task().Admit, Size: 5000, Closed: neverClosed}
	for file, n := range []int{1, 0, importBatch - 1, importBatch, 2*importBatch + 3} {
		recs, want := randomRecords(r, n), learner.Seq(len(model.slots)+1)
		model.append(recs, in, today)
		digest := sha256.Sum256([]byte{byte(file)})
		if first, err := importRecords(s, recs, in, digest); err != nil || first != want {
			t.Fatalf("%d records: the first is %d, want %d; %v", n, first, want, err)
		}
		earlier, found, err := s.Imported(digest)
		if err != nil || found != (n > 0) || found && earlier != (Imported{n, want, today, 7}) {
			t.Errorf("%d records: remembered %+v, %v, %v", n, earlier, found, err)
		}
	}
	require.NoError(t, s.Remember(Digest{1}, Imported{Records: 1, Size: 3}))
	require.NoError(t, s.Remember(Digest{2}, Imported{Records: 1}))
	// The first versions noted no size.
	require.NoError(t, s.putValue(importKey(Digest{3}), Imported{4, 5, today, 6}.encode()[:3*8]))
	if earlier, found, err := s.Imported(Digest{3}); err != nil || !found || earlier != (Imported{4, 5, today, 0}) {
		t.Errorf("of an earlier version: %+v, %v, %v", earlier, found, err)
	}
	if sizes, err := s.ImportSizes(); err != nil || !slices.Equal(sizes, []int64{3, 7}) {
		t.Errorf("sizes %v, %v", sizes, err)
	}
	model.check(t, s)
	s, _ = reopen(t, s)
	model.check(t, s)
	if _, found, err := s.Imported(Digest{}); found || err != nil {
		t.Errorf("a file that was never imported: %v, %v", found, err)
	}
}

// Before it is committed, nobody sees an import: no reader, no deletion, no copy. An
// import that is dropped, or left by a process that ended, leaves no trace, and its
// numbers are given again.
func TestUnfinishedImportsDoNotCount(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 32))
	s, _ := open(t, newPath(t))
	in := Intake{Admit: task().Admit, Size: 100, Closed: neverClosed}
	var model recordModel
	some := randomRecords(r, 7)
	model.append(some, in, today)
	_, err := s.AppendRecords(some, in, today)
	require.NoError(t, err)
	begin := func(s *Store, n int) *Import {
		i, err := s.Import(in, today)
		require.NoError(t, err)
		for _, r := range randomRecords(r, n) {
			require.NoError(t, i.Add(r))
		}
		return i
	}
	for _, n := range []int{5, importBatch, 3*importBatch + 1} {
		i := begin(s, n)
		model.check(t, s)
		if err := s.DeleteRecords(8); !errors.Is(err, ErrNoRecord) {
			t.Errorf("%d under way: delete the first of them: %v", n, err)
		}
		var copied bytes.Buffer
		require.NoError(t, s.Backup(&copied))
		path := newPath(t)
		require.NoError(t, os.WriteFile(path, copied.Bytes(), 0o600))
		c, err := Open(path)
		require.NoError(t, err)
		model.check(t, c)
		require.NoError(t, c.Close())
		require.NoError(t, i.Drop())
		require.NoError(t, i.Drop())
		model.check(t, s)
	}
	begin(s, 2*importBatch)
	s, _ = reopen(t, s)
	model.check(t, s)
	more := randomRecords(r, 3)
	model.append(more, in, today)
	if first, err := importRecords(s, more, in, Digest{1}); err != nil || first != 8 {
		t.Errorf("after all that the first is %d, %v", first, err)
	}
	model.check(t, s)
}

// An import that has ended takes nothing more, and stays away from the lock and the mark of
// the next one.
func TestEndedImportsTakeNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 35))
	in := Intake{Admit: task().Admit, Size: 100_000, Closed: neverClosed}
	for name, end := range map[string]func(*Import) error{
		"committed":           func(i *Import) error { return firstError(i.Commit(Digest{1}, 7)) },
		"committed and empty": func(i *Import) error { return firstError(i.Commit(Digest{1}, 7)) },
		"dropped":             (*Import).Drop,
	} {
		s, _ := open(t, newPath(t))
		var model recordModel
		i, err := s.Import(in, today)
		require.NoError(t, err)
		if name != "committed and empty" {
			some := randomRecords(r, 3)
			for _, r := range some {
				require.NoError(t, i.Add(r))
			}
			if name == "committed" {
				model.append(some, in, today)
			}
		}
		require.NoError(t, end(i))
		next, err := s.Import(in, today) // has the lock now
		require.NoError(t, err)
		for _, r := range randomRecords(r, importBatch) {
			if err := i.Add(r); !errors.Is(err, errEnded) {
				t.Fatalf("%s: a further record: %v", name, err)
			}
		}
		if _, err := i.Commit(Digest{2}, 7); !errors.Is(err, errEnded) {
			t.Errorf("%s: a second Commit: %v", name, err)
		}
		require.NoError(t, i.Drop())
		if s.appending.TryLock() {
			t.Fatalf("%s: the next import has lost its lock", name)
		}
		require.NoError(t, next.Drop())
		more := randomRecords(r, 2)
		model.append(more, in, today)
		_, err = s.AppendRecords(more, in, today)
		require.NoError(t, err)
		model.check(t, s)
		if _, found, err := s.Imported(Digest{2}); found || err != nil {
			t.Errorf("%s: the refused file is remembered: %v, %v", name, found, err)
		}
	}
}

// A cohort that contributes to a private sum, or is retired, while a file is imported gets
// none of the records that come after that. Those that were taken before stay.
func TestImportLeavesClosedCohorts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 36))
	s, l := open(t, newPath(t))
	_, err := s.AppendRecords(randomRecords(r, 5), full(100_000), today)
	require.NoError(t, err)
	i, err := s.Import(full(100_000), today)
	require.NoError(t, err)
	var want []privacy.Cohort
	add := func(n int, c privacy.Cohort) {
		for _, rec := range randomRecords(r, n) {
			require.NoError(t, i.Add(rec))
			want = append(want, c)
		}
	}
	add(importBatch+2, 1)
	require.NoError(t, second(contribute(l, contributionOf(1, bounded(t, 4), 1))))
	add(3, 2)
	require.NoError(t, l.Retire(1)) // of the cohorts that have a record that can be seen
	add(2, 2)
	first, err := i.Commit(Digest{1}, 7)
	require.NoError(t, err)
	i, err = s.Import(full(100_000), today)
	require.NoError(t, err)
	add(2, 2)
	require.NoError(t, l.Retire(2))
	add(1, 3)
	_, err = i.Commit(Digest{2}, 7)
	require.NoError(t, err)
	var got []privacy.Cohort
	require.NoError(t, s.EachRecord(first, func(r learner.Record) error {
		got = append(got, r.Cohort)
		return nil
	}))
	if !slices.Equal(got, want) {
		t.Errorf("the last of %d records are in the cohorts %v, want %v", len(got), got[max(0, len(got)-10):], want[len(want)-10:])
	}
	if l.Epoch(1) != 1 || l.Epoch(2) != 0 || l.Retired() != 2 {
		t.Errorf("epochs %d and %d, retired %d", l.Epoch(1), l.Epoch(2), l.Retired())
	}
}

// Deleting the records of a file does not make it another file.
func TestDigestsOutliveTheirRecords(t *testing.T) {
	s, _ := open(t, newPath(t))
	_, err := importRecords(s, randomRecords(rand.New(rand.NewPCG(1, 33)), 1), full(3), Digest{1})
	require.NoError(t, err)
	require.NoError(t, s.DeleteRecords(1))
	s, _ = reopen(t, s)
	if _, found, err := s.Imported(Digest{1}); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// importVariable names the store of a child process that imports files, numbered on,
// until it is killed.
const importVariable = "P2PNODE_STORAGE_IMPORT"

const importedRecords = 3*importBatch + 5

func numberDigest(n int) Digest { return sha256.Sum256([]byte(strconv.Itoa(n))) }

func importChild(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := Open(path)
	fail(err)
	c, err := s.Count()
	fail(err)
	for file := c.Records / importedRecords; ; file++ {
		_, err := importRecords(s, slices.Repeat([]learner.Record{{X: make([]float64, dim)}}, importedRecords), full(1_000_000), numberDigest(file))
		fail(err)
		fmt.Println(file)
	}
}

// A process that is killed in an import leaves the whole file or none of it, and the
// digest with the records or not at all: so a repeat is refused or stores all of it.
func TestKillLeavesWholeFiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 34))
	path := newPath(t)
	promised, interrupted := -1, 0
	kills := 8
	if testing.Short() {
		kills = 4
	}
	for n := 0; n < kills || interrupted == 0; n++ { // most kills hit an import: it takes most of the time
		if n == 100 {
			t.Fatal("no kill hit an import")
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), importVariable+"="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		began := time.Now()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			file, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
			require.NoError(t, err)
			promised = file
			// Within the next file or the one after it, however long they take here.
			time.AfterFunc(time.Duration(r.Int64N(int64(2*time.Since(began)))), func() { child.Process.Kill() })
		}
		child.Wait()
		if marked(t, path) {
			interrupted++
		}
		s, err := Open(path)
		require.NoError(t, err)
		c, err := s.Count()
		require.NoError(t, err)
		files := c.Records / importedRecords
		if c.Records%importedRecords != 0 || int(c.Newest) != c.Records || files <= promised {
			t.Fatalf("%d records, the newest number is %d; files to number %d were promised", c.Records, c.Newest, promised)
		}
		for file := range files + 1 {
			if _, found, err := s.Imported(numberDigest(file)); err != nil || found != (file < files) {
				t.Fatalf("file %d of %d is remembered: %v, %v", file, files, found, err)
			}
		}
		require.NoError(t, s.Close())
	}
}

// marked reports whether a file holds part of an import.
func marked(t *testing.T, path string) bool {
	t.Helper()
	s := &Store{path: path}
	if err := s.lock(bbolt.Options{ReadOnly: true}); err != nil {
		return false // not even that
	}
	defer s.Close()
	var key []byte
	require.NoError(t, s.view(func(tx *bbolt.Tx) (err error) {
		if tx.Bucket(bucketStore) != nil {
			key, err = unfinished(tx)
		}
		return err
	}))
	return key != nil
}

func neverClosed(privacy.Cohort) bool { return false }
