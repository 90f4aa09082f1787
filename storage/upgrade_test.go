package storage

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// asBefore converts nothing.
func asBefore() Recode {
	return Recode{State: func(state []byte) ([]byte, error) { return state, nil }}
}

// openUpgraded opens a store of the first release, upgrades it and opens its ledger.
func openUpgraded(t *testing.T, path string, r Recode) (*Store, *Ledger) {
	t.Helper()
	s, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	require.NoError(t, s.Upgrade(r))
	l, err := s.OpenLedger(policy(t))
	require.NoError(t, err)
	return s, l
}

// release1Store returns a store with a number of records, of which number 3 is deleted.
// Its schema says that the first release made it.
func release1Store(t *testing.T, records int) (path string, want []learner.Record) {
	t.Helper()
	path = newPath(t)
	s, l := open(t, path)
	want, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 31)), records), full(100), today)
	require.NoError(t, err)
	require.NoError(t, s.DeleteRecord(3))
	pay(t, l, 1, gaussian(t, 10), 1)
	require.NoError(t, l.Commit(1, roundMessage(1), []byte("before")))
	require.NoError(t, s.update(func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket(bucketCells), putSchema(tx, schemaRelease1))
	}))
	require.NoError(t, s.Close())
	return path, slices.Delete(want, 2, 3)
}

func doubled(x []float64) ([]float64, error) {
	x = slices.Clone(x)
	for i := range x {
		x[i] *= 2
	}
	return x, nil
}

// Every record is converted once, even if the upgrade is interrupted, and everything else
// stays the same.
func TestUpgradeGoesOnWhereItWasInterrupted(t *testing.T) {
	const records = 2*recodeBatch + 1000
	path, want := release1Store(t, records)
	interrupted, calls := newPath(t), 0
	r := Recode{
		State: func(state []byte) ([]byte, error) { return append(state, " and after"...), nil },
		Features: func(x []float64) ([]float64, error) {
			if calls++; calls == recodeBatch+10 { // in the second transaction
				require.NoError(t, copyFile(interrupted, path))
				require.NoError(t, copyFile(anchorPath(interrupted), anchorPath(path)))
			}
			return doubled(x)
		},
	}
	s, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Upgrade(r))
	require.NoError(t, s.Close())

	s, err = Open(interrupted)
	require.NoError(t, err)
	if _, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 32)), 1), full(100), today); !errors.Is(err, errRelease1) {
		t.Errorf("half upgraded, it takes a record: %v", err)
	}
	require.NoError(t, s.Close())
	calls = records
	s, l := openUpgraded(t, interrupted, r)
	if again := calls - records; again != len(want)-recodeBatch+1 { // the first had the deleted one
		t.Errorf("%d records were taken over after the interruption", again)
	}
	require.NoError(t, s.Upgrade(Recode{Features: func([]float64) ([]float64, error) { return nil, errors.New("a second time") }}))
	live, deleted, err := s.Records()
	require.NoError(t, err)
	for i := range want {
		want[i].X, _ = doubled(want[i].X)
	}
	if !reflect.DeepEqual(live, want) || len(deleted) != 1 || deleted[0].Seq != 3 {
		t.Errorf("%d records and %d deleted are not what was there, doubled", len(live), len(deleted))
	}
	round, message := l.Outgoing()
	if round != 1 || len(message) != 0 || string(l.State()) != "before and after" || l.Round() != 1 {
		t.Errorf("round %d, outgoing %d %q, state %q", l.Round(), round, message, l.State())
	}
	require.NoError(t, firstError(l.Verify()))
}

// A record that cannot be converted is set aside, keeps its slot and can be deleted.
func TestUpgradeSetsAside(t *testing.T) {
	path, want := release1Store(t, 100)
	s, _ := openUpgraded(t, path, Recode{State: asBefore().State, Features: func(x []float64) ([]float64, error) {
		if x[0] == want[90].X[0] {
			return nil, errors.New("nobody can say")
		}
		return doubled(x)
	}})
	s, _ = reopen(t, s)
	live, deleted, err := s.Records()
	require.NoError(t, err)
	if len(live) != 99 || len(deleted) != 1 || live[90].X == nil || len(live[90].X) != 0 || len(live[91].X) != dim {
		t.Errorf("%d live, %d deleted, the one set aside is %+v", len(live), len(deleted), live[90])
	}
	c, err := s.Count()
	require.NoError(t, err)
	if c.Records != 98 || c.Aside != 1 || c.Slots[1] != 80 {
		t.Errorf("counted %+v", c)
	}
	require.NoError(t, s.DeleteRecord(live[90].Seq))
	if c, err = s.Count(); err != nil || c.Records != 98 || c.Aside != 0 || c.Slots[1] != 80 {
		t.Errorf("deleted: counted %+v, %v", c, err)
	}
}

// A state that cannot be converted changes nothing: every byte of the file stays.
func TestUpgradeThatIsRefusedChangesNothing(t *testing.T) {
	path, _ := release1Store(t, 100)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := errors.New("refused")
	s, err := Open(path)
	require.NoError(t, err)
	if err := s.Upgrade(Recode{State: func([]byte) ([]byte, error) { return nil, refused }, Features: doubled}); !errors.Is(err, refused) {
		t.Errorf("upgraded: %v", err)
	}
	require.NoError(t, s.Close())
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// A panic of the conversion is the caller's and no damage: the next call converts each
// record once.
func TestUpgradeGoesOnAfterACallersPanic(t *testing.T) {
	path, want := release1Store(t, 100)
	s, err := Open(path)
	require.NoError(t, err)
	func() {
		defer func() {
			if panicked := recover(); panicked != "the caller's own" {
				t.Errorf("panicked with %v", panicked)
			}
		}()
		_ = s.Upgrade(Recode{State: asBefore().State, Features: func([]float64) ([]float64, error) { panic("the caller's own") }})
	}()
	require.NoError(t, s.Upgrade(Recode{State: asBefore().State, Features: doubled}))
	live, _, err := s.Records()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for i := range want {
		want[i].X, _ = doubled(want[i].X)
	}
	if !reflect.DeepEqual(live, want) {
		t.Errorf("%d records are not what was there, doubled", len(live))
	}
}

// keptBefore is the copy that an upgrade keeps.
func keptBefore(path string) string { return path + beforeSchema + strconv.Itoa(schemaVersion) }

// Before a file of any earlier schema is changed, it is copied to the last byte. An
// upgrade that continues after an interruption does not copy the half-converted file over
// it.
func TestUpgradeKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	first, _ := release1Store(t, recodeBatch+10)
	fourth := newPath(t)
	s, _ := open(t, fourth)
	require.NoError(t, s.update(func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket(bucketIDs), tx.DeleteBucket(bucketKnown), putSchema(tx, 4))
	}))
	require.NoError(t, s.Close())
	for _, path := range []string{first, fourth, version1(t).put(t)} {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		s, _ := openUpgraded(t, path, Recode{State: asBefore().State, Features: doubled})
		kept, err := os.ReadFile(keptBefore(path))
		if err != nil || !bytes.Equal(kept, before) || s.KeptBefore() != keptBefore(path) {
			t.Errorf("%s: kept %d bytes of %d as %q, %v", path, len(kept), len(before), s.KeptBefore(), err)
		}
		require.NoError(t, s.Close())
		require.NoError(t, os.Remove(keptBefore(path)))
		s, err = Open(path)
		require.NoError(t, err)
		if exists(keptBefore(path)) || s.KeptBefore() != "" {
			t.Errorf("%s: upgraded twice", path)
		}
		require.NoError(t, s.Close())
	}
}

// The copy is removed when it is a month old, is listed among the files that still hold
// records, and belongs to the database.
func TestWhatAnUpgradeKeptGoes(t *testing.T) {
	t.Parallel()
	path, _ := release1Store(t, 10)
	s, _ := openUpgraded(t, path, asBefore())
	if kept, err := Kept(path); err != nil || !slices.Equal(kept, []string{keptBefore(path)}) || !IsFile(filepath.Base(path), filepath.Base(keptBefore(path))) {
		t.Errorf("kept: %v, %v", kept, err)
	}
	now := time.Now()
	for age, want := range map[time.Duration]bool{keptFor - time.Hour: true, keptFor + time.Hour: false} {
		require.NoError(t, os.WriteFile(keptBefore(path), nil, 0o600), os.Chtimes(keptBefore(path), now, now.Add(-age)))
		s, _ = reopen(t, s)
		if exists(keptBefore(path)) != want {
			t.Errorf("after %v it is there: %v", age, !want)
		}
	}
}

// A file of a later schema is refused before anything changes, and the error says which
// version wrote it.
func TestLaterSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s, _ := open(t, path)
	require.NoError(t, s.update(func(tx *bbolt.Tx) error {
		return errors.Join(putSchema(tx, schemaVersion+1), put(tx.Bucket(bucketStore), keyWriter, []byte("v9.1.0")))
	}))
	require.NoError(t, s.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = Open(path)
	for _, want := range []string{"p2pnode v9.1.0 wrote the file, with schema 6", "which knows schema 5 at most: use that version or a newer one"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// Restoring a copy of an earlier schema leaves the copy where it is and makes no second
// one.
func TestRestoreOfAnEarlierSchema(t *testing.T) {
	t.Parallel()
	to := newPath(t)
	from := version1(t).put(t)
	_, err := Restore(from, to, with(policy(t)), nil, 0)
	require.NoError(t, err)
	left, err := filepath.Glob(to + "*before*")
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
