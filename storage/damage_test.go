package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
)

// image is a store as files, which can be damaged and opened elsewhere.
type image struct{ db, anchor []byte }

func takeImage(t *testing.T, path string) image {
	t.Helper()
	db, err := os.ReadFile(path)
	require.NoError(t, err)
	anchor, err := os.ReadFile(anchorPath(path))
	require.NoError(t, err)
	return image{db, anchor}
}

func (i image) put(t *testing.T) (path string) {
	t.Helper()
	path = newPath(t)
	require.NoError(t, os.WriteFile(path, i.db, 0o600))
	if i.anchor != nil {
		require.NoError(t, os.WriteFile(anchorPath(path), i.anchor, 0o600))
	}
	return path
}

// ledgerError opens store and ledger, and returns the first error.
func ledgerError(t *testing.T, path string) error {
	t.Helper()
	s, _, err := tryOpen(t, path)
	if err == nil {
		err = s.Close()
	}
	return err
}

// paidStore has four rounds: two cohorts paid, one unprotected, none committed
// after the second. Its ledger has 1 + 2 + 2 + 1 + 2 entries.
func paidStore(t *testing.T) (path string) {
	path = newPath(t)
	s, l := open(t, path)
	m := gaussian(t, 10)
	pay(t, l, 1, m, 1, 2)
	require.NoError(t, commitRound(l, 1))
	pay(t, l, 2, m, 1, 2)
	require.NoError(t, commitRound(l, 2))
	require.NoError(t, unprotect(l, 3))
	_, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 9)), 60), full(10), today)
	require.NoError(t, err)
	require.NoError(t, s.SaveEdges(nil, Edge{Peer: "a", Weight: 1}))
	require.NoError(t, s.SavePeers(Peer{ID: "a"}, Peer{ID: "b"}))
	require.NoError(t, s.PutMeta("task", "abc"))
	pay(t, l, 4, m, 1, 2)
	require.NoError(t, s.Close())
	return path
}

const paidEntries = 8

// outdated is a paidStore whose anchor knows one more round.
func outdated(t *testing.T) image {
	old := takeImage(t, paidStore(t))
	path := old.put(t)
	s, l := open(t, path)
	pay(t, l, 5, gaussian(t, 10), 1)
	require.NoError(t, s.Close())
	return image{old.db, takeImage(t, path).anchor}
}

// tamper changes the ledger's bucket with bbolt itself.
func tamper(t *testing.T, path string, change func(b *bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket(bucketLedger)) }))
	require.NoError(t, db.Close())
}

// Each byte of an entry is changed, once with a broken seal, which Open notices, and once
// with a mended seal, which only the chain can notice.
func TestEveryByteOfAnEntryCounts(t *testing.T) {
	t.Parallel()
	original := takeImage(t, paidStore(t))
	for _, sequence := range []uint64{1, 2, 6, paidEntries} {
		key := numberKey(sequence)
		for at := range entrySize + crcSize {
			for _, mend := range []bool{false, true} {
				path := original.put(t)
				tamper(t, path, func(b *bbolt.Bucket) error {
					sealed := bytes.Clone(b.Get(key))
					sealed[at] ^= 1 << (at % 8)
					if mend && at < entrySize {
						sealed = seal(key, sealed[:entrySize])
					}
					return b.Put(key, sealed)
				})
				if err := ledgerError(t, path); !errors.Is(err, ErrDamaged) {
					t.Fatalf("entry %d, byte %d, mended %v: %v, want ErrDamaged", sequence, at, mend, err)
				}
			}
		}
	}
}

func TestLedgerNoticesWhatIsMissingOrAdded(t *testing.T) {
	original := takeImage(t, paidStore(t))
	// rewrite replaces the whole ledger by entries with a sound chain.
	rewrite := func(b *bbolt.Bucket, entries ...entry) error {
		for sequence := range uint64(paidEntries) {
			if err := b.Delete(numberKey(sequence + 1)); err != nil {
				return err
			}
		}
		_, err := putEntries(b, link{}, entries)
		return err
	}
	begin := openingEntry(terms)
	debit := func(round uint64, cost float64) entry {
		return entry{kind: entryDebit, round: round, cohort: 1, cost: cost}
	}
	for _, c := range []struct {
		name   string
		want   error
		change func(b *bbolt.Bucket) error
	}{
		{"nothing", nil, func(b *bbolt.Bucket) error { return nil }},
		{"first entry gone", ErrDamaged, func(b *bbolt.Bucket) error { return b.Delete(numberKey(1)) }},
		{"middle entry gone", ErrDamaged, func(b *bbolt.Bucket) error { return b.Delete(numberKey(4)) }},
		{"last entry gone", ErrRolledBack, func(b *bbolt.Bucket) error { return b.Delete(numberKey(paidEntries)) }},
		{"all gone", ErrRolledBack, func(b *bbolt.Bucket) error { return rewrite(b) }},
		{"last entry twice", ErrDamaged, func(b *bbolt.Bucket) error {
			data, err := get(b, numberKey(paidEntries))
			return errors.Join(err, put(b, numberKey(paidEntries+1), data))
		}},
		{"two exchanged", ErrDamaged, func(b *bbolt.Bucket) error {
			first, err1 := get(b, numberKey(2))
			second, err2 := get(b, numberKey(3))
			first, second = bytes.Clone(first), bytes.Clone(second)
			return errors.Join(err1, err2, put(b, numberKey(2), second), put(b, numberKey(3), first))
		}},
		{"no opening entry", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, debit(1, 0.01)) }},
		{"two opening entries", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, begin, begin) }},
		{"unknown kind", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, begin, entry{kind: 9, round: 1}) }},
		{"rounds go back", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, begin, debit(2, 0.01), debit(1, 0.01)) }},
		{"round zero", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, begin, debit(0, 0.01)) }},
		{"overspent", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, begin, debit(1, 1e6)) }},
		{"negative debit", ErrDamaged, func(b *bbolt.Bucket) error { return rewrite(b, begin, debit(1, -1)) }},
		{"a debit after a contradiction", ErrDamaged, func(b *bbolt.Bucket) error {
			return rewrite(b, begin, entry{kind: entryContradict, round: 4}, debit(4, 0.01))
		}},
		{"a contradiction passed over", ErrDamaged, func(b *bbolt.Bucket) error {
			return rewrite(b, begin, entry{kind: entryContradict, round: 4}, entry{kind: entryRetire, round: 3, cohort: 1})
		}},
		{"a shorter history", ErrRolledBack, func(b *bbolt.Bucket) error { return rewrite(b, begin, debit(1, 0.01)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := original.put(t)
			tamper(t, path, c.change)
			if err := ledgerError(t, path); !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
		})
	}
}

// Where the anchor cannot tell, the committed message can: its round was paid for before.
func TestCommittedRoundWasPaid(t *testing.T) {
	path := paidStore(t) // round 2 is committed; its debits begin at entry 4
	tamper(t, path, func(b *bbolt.Bucket) (err error) {
		for sequence := uint64(4); sequence <= paidEntries; sequence++ {
			err = errors.Join(err, b.Delete(numberKey(sequence)))
		}
		return err
	})
	require.NoError(t, os.WriteFile(anchorPath(path), encodeAnchor(link{}), 0o600))
	if err := ledgerError(t, path); !errors.Is(err, ErrDamaged) {
		t.Fatalf("open: %v, want ErrDamaged", err)
	}
}

// contents is everything a store holds, in words.
func contents(t *testing.T, s *Store, l *Ledger) string {
	t.Helper()
	live, deleted, err1 := s.Records()
	edges, err2 := s.Edges()
	peers, err3 := s.Peers()
	meta, err4 := s.Meta("task")
	entries, err5 := entriesOf(l)
	require.NoError(t, errors.Join(err1, err2, err3, err4, err5))
	round, message := l.Outgoing()
	return fmt.Sprint(live, deleted, edges, peers, meta, entries, round, message, l.State(), l.Round(), spentBy(l, 1), spentBy(l, 2))
}

// Damage anywhere in the file either changes nothing that is stored or is an
// error. The last transaction was a payment: where a damaged meta page makes
// bbolt fall back to the one before, the anchor notices.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := paidStore(t)
	s, l := open(t, path)
	want := contents(t, s, l)
	require.NoError(t, s.Close())
	original := takeImage(t, path)

	var same, refused int
	try := func(what string, db []byte) {
		t.Helper()
		path := image{db, original.anchor}.put(t)
		defer os.RemoveAll(filepath.Dir(path))
		s, err := Open(path)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s: Open: %v, want ErrDamaged", what, err)
			}
			refused++
			return
		}
		defer s.Close()
		l, err := s.OpenLedger(policy(t))
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrRolledBack) {
				t.Fatalf("%s: OpenLedger: %v", what, err)
			}
			refused++
			return
		}
		if contents(t, s, l) != want {
			t.Fatalf("%s went unnoticed", what)
		}
		same++
	}
	r := rand.New(rand.NewPCG(1, 10))
	for range 300 {
		at, bit := r.IntN(len(original.db)), byte(1)<<r.IntN(8)
		db := bytes.Clone(original.db)
		db[at] ^= bit
		try(fmt.Sprintf("byte %d, bit %#x", at, bit), db)
	}
	for range 30 {
		size := 1 + r.IntN(len(original.db)-1)
		try(fmt.Sprintf("a file cut to %d bytes", size), original.db[:size:size])
	}
	if same == 0 || refused == 0 {
		t.Fatalf("%d damages changed nothing and %d were refused: the test tries too little", same, refused)
	}
}

// A file at which bbolt panics while it opens it is nobody's afterwards: it can be erased
// or replaced at once.
func TestDamagedFileIsReleased(t *testing.T) {
	path := paidStore(t)
	sound := takeImage(t, path)
	require.NoError(t, os.Truncate(path, int64(len(sound.db)/2)))
	if _, err := Open(path); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "unreadable") {
		t.Fatalf("half a file: %v, want ErrDamaged by a panic of bbolt", err)
	}
	release, err := Hold(path)
	require.NoError(t, err)
	require.NoError(t, release())
	require.NoError(t, os.WriteFile(path, sound.db, 0o600))
	open(t, path)
}
