package storage

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/privacy"
)

// The next write never goes to the only readable slot.
func TestTornAnchorSlotIsWrittenFirst(t *testing.T) {
	path := paidStore(t)
	for torn := range anchorSlots {
		s, l := open(t, path)
		require.NoError(t, unprotect(l, l.Round()+1))
		require.NoError(t, unprotect(l, l.Round()+1)) // both slots are in use
		require.NoError(t, s.Close())
		data, err := os.ReadFile(anchorPath(path))
		require.NoError(t, err)
		data[torn*anchorSlotSize] ^= 1
		require.NoError(t, os.WriteFile(anchorPath(path), data, 0o600))

		s, l = open(t, path) // writes, unless the newest slot is the other one
		require.NoError(t, unprotect(l, l.Round()+1))
		after, err := os.ReadFile(anchorPath(path))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		for at := range anchorSlots {
			if _, err := decodeAnchor(after[at*anchorSlotSize:][:anchorSlotSize]); err != nil {
				t.Fatalf("slot %d was torn and then slot %d is unreadable", torn, at)
			}
		}
	}
	s, l := open(t, path)
	require.NoError(t, s.Close())
	data := bytes.Clone(encodeAnchor(l.head)) // slot 0 alone
	require.NoError(t, os.WriteFile(anchorPath(path), append(data, make([]byte, anchorSlotSize)...), 0o600))
	_, l = open(t, path)
	require.NoError(t, unprotect(l, l.Round()+1))
	after, err := os.ReadFile(anchorPath(path))
	require.NoError(t, err)
	if !bytes.Equal(after[:anchorSlotSize], data) {
		t.Fatal("the only readable slot was written before the other")
	}
}

func TestAnchor(t *testing.T) {
	path := newPath(t)
	s, l := open(t, path)
	m := gaussian(t, 10)
	empty := takeImage(t, path)
	pay(t, l, 1, m, 1)
	one := takeImage(t, path)
	pay(t, l, 2, m, 1)
	require.NoError(t, s.Close())
	two := takeImage(t, path)

	// The same rounds, but cohort 2 paid for them.
	other := func() image {
		path := newPath(t)
		s, l := open(t, path)
		pay(t, l, 1, m, privacy.Cohort(2))
		pay(t, l, 2, m, privacy.Cohort(2))
		require.NoError(t, s.Close())
		return takeImage(t, path)
	}()
	torn := bytes.Clone(two.anchor)
	torn[0] ^= 1 // one of two slots; the other is at most a payment behind
	unreadable := bytes.Repeat([]byte{7}, len(two.anchor))
	for _, c := range []struct {
		name string
		image
		want error
	}{
		{"newest", two, nil},
		{"anchor behind by a payment", image{two.db, one.anchor}, nil},
		{"anchor of the empty ledger", image{two.db, empty.anchor}, nil},
		{"one slot torn", image{two.db, torn}, nil},
		{"older database", image{one.db, two.anchor}, ErrRolledBack},
		{"empty database", image{empty.db, two.anchor}, ErrRolledBack},
		{"another history", image{other.db, two.anchor}, ErrRolledBack},
		{"no anchor", image{two.db, nil}, ErrRolledBack},
		{"unreadable anchor", image{two.db, unreadable}, ErrRolledBack},
		{"no anchor, nothing paid", image{empty.db, nil}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.put(t)
			if err := ledgerError(t, path); !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
			if c.want != nil {
				return
			}
			a, err := readAnchor(anchorPath(path)) // opening brought it up to date
			if _, l := open(t, path); err != nil || !a.found || a.head != l.head {
				t.Fatalf("the anchor is %v, found %v, error %v; want %v", a.head, a.found, err, l.head)
			}
		})
	}
}
