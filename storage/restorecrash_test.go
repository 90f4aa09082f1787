package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/privacy"
)

// restoreVariable names the store that a child process restores, in place.
const restoreVariable = "P2PNODE_STORAGE_RESTORE"

func restoreChild(path string) {
	p, err := privacy.Design{Budget: budget, Dimension: dim, Clip: 1, Releases: 12}.Policy()
	if err == nil {
		fmt.Println("begun")
		_, err = Restore(path, path, with(p), nil, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A process that is killed at any moment of a restore leaves what was there, the new
// database, or a database that asks to be restored again; restoring it again works.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 26))
	images := []image{takeImage(t, paidStore(t)), outdated(t)}
	const kills = 30
	var done, refused int
	for i := range kills {
		path := images[i%2].put(t)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), restoreVariable+"="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		_, err = out.Read(make([]byte, 1)) // it has begun
		require.NoError(t, err)
		time.AfterFunc(time.Duration(r.Int64N(int64(12*time.Millisecond))), func() { child.Process.Kill() })
		child.Wait()

		if s, l, err := tryOpen(t, path); err == nil {
			if l.Retired() == 6 {
				done++
			} else if l.Round() != 4 || len(l.Spending()) != 2 {
				t.Fatalf("round %d, spending %v: neither the old ledger nor the new one", l.Round(), l.Spending())
			}
			require.NoError(t, s.Close())
		} else if refused++; !errors.Is(err, ErrRolledBack) {
			t.Fatalf("open: %v, want ErrRolledBack", err)
		}
		_, err = Restore(path, path, with(policy(t)), nil, 0)
		require.NoError(t, err)
		s, l := open(t, path)
		if l.Retired() != 6 || l.Round() < 4 || exists(path+".restoring") {
			t.Fatalf("restored again: retired %d, round %d", l.Retired(), l.Round())
		}
		require.NoError(t, s.Close())
	}
	t.Logf("%d kills: %d restores were done, %d databases asked for one", kills, done, refused)
}

// tryOpen opens store and ledger and leaves nothing open after an error.
func tryOpen(t *testing.T, path string) (*Store, *Ledger, error) {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	l, err := s.OpenLedger(policy(t))
	if err != nil {
		s.Close()
	}
	return s, l, err
}

// A crash between any two steps leaves the old ledger, the new one, or an error
// that says to restore.
func TestRestoreCrash(t *testing.T) {
	t.Parallel()
	old := takeImage(t, paidStore(t))
	path := old.put(t)
	_, err := Restore(image{old.db, nil}.put(t), path, with(policy(t)), nil, 8)
	require.NoError(t, err)
	restored := takeImage(t, path)
	foreign := func() image { // a longer ledger of another history
		path := newPath(t)
		s, l := open(t, path)
		for round := uint64(1); round <= 12; round++ {
			require.NoError(t, unprotect(l, round))
		}
		require.NoError(t, s.Close())
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
			require.NoError(t, os.WriteFile(path+".restoring", []byte("half a copy"), 0o600))
			if err := ledgerError(t, path); !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
			if c.want == nil {
				s, l := open(t, path)
				if l.Round() != c.round {
					t.Fatalf("round %d, want %d", l.Round(), c.round)
				}
				require.NoError(t, s.Close())
			}
			_, err := Restore(path, path, with(policy(t)), nil, 0) // again
			require.NoError(t, err)
			if _, l := open(t, path); l.Round() < c.round || l.Retired() != 6 {
				t.Fatalf("round %d, retired %d after the second try", l.Round(), l.Retired())
			}
		})
	}
}
