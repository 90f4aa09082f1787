package storage

import (
	"errors"
	"os"
	"testing"
)

// A crash between any two steps leaves the old ledger, the new one, or an error
// that says to restore.
func TestRestoreCrash(t *testing.T) {
	old := takeImage(t, paidStore(t))
	path := old.put(t)
	_, err := Restore(image{old.db, nil}.put(t), path, policy(t), 8)
	must(t, err)
	restored := takeImage(t, path)
	foreign := func() image { // a longer ledger of another history
		path := newPath(t)
		s, l := open(t, path)
		for round := uint64(1); round <= 12; round++ {
			must(t, unprotect(l, round))
		}
		must(t, s.Close())
		return takeImage(t, path)
	}()
	for _, c := range []struct {
		name  string
		left  image
		want  error
		round uint64
	}{
		{"before", old, nil, 4},
		{"new database, old anchor of its history", image{restored.db, old.anchor}, nil, 8},
		{"new database, foreign anchor", image{restored.db, foreign.anchor}, ErrRolledBack, 0},
		{"new database, no anchor", image{restored.db, nil}, ErrRolledBack, 0},
		{"after", restored, nil, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.left.put(t)
			must(t, os.WriteFile(path+".restoring", []byte("half a copy"), 0o600))
			if err := ledgerError(t, path); !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
			if c.want == nil {
				s, l := open(t, path)
				if l.Round() != c.round {
					t.Fatalf("round %d, want %d", l.Round(), c.round)
				}
				must(t, s.Close())
			}
			_, err := Restore(path, path, policy(t), 0) // again
			must(t, err)
			if _, l := open(t, path); l.Round() < c.round || l.Retired() != 6 {
				t.Fatalf("round %d, retired %d after the second try", l.Round(), l.Retired())
			}
		})
	}
}
