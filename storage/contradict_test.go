package storage

import (
	"errors"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// What a peer showed is not forgotten: nothing is released any more, not even after a
// restart, until the ledger is retired. Then rounds continue above all known ones.
func TestContradictionIsRemembered(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 10)
	pay(t, l, 1, m, 1)
	require.NoError(t, commitRound(l, 1))
	spent := spentBy(l, 1)
	require.NoError(t, l.Contradict(20))
	for range 2 {
		if l.Contradicted() != 20 || l.Round() != 1 || spentBy(l, 1) != spent {
			t.Fatalf("contradicted by round %d, at round %d, %v spent", l.Contradicted(), l.Round(), spentBy(l, 1))
		}
		_, err := payFor(l, 21, m, nil)
		_, verifyErr := l.Verify()
		for what, err := range map[string]error{"a release": err, "one without protection": unprotect(l, 21), "a public round": l.CommitPublic(21, nil, nil), "Verify": verifyErr} {
			if !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "it holds round 20, and the newest here is 1") {
				t.Errorf("%s: %v, want ErrRolledBack and why", what, err)
			}
		}
		require.NoError(t, l.Contradict(7)) // says nothing new
		_, l = reopen(t, l.store)
	}
	require.NoError(t, l.Retire(5))
	for range 2 {
		if v, err := l.Verify(); err != nil || v.Entries != 4 || l.Contradicted() != 0 || l.Round() != 20 {
			t.Fatalf("retired: %+v, %v; contradicted by %d, round %d", v, err, l.Contradicted(), l.Round())
		}
		s, l = reopen(t, l.store)
	}
	pay(t, l, 21, m, 2)
	require.NoError(t, s.Close())
}

// A contradiction counts even if a release came between finding it and writing it down.
func TestContradictionBelowTheNewestRound(t *testing.T) {
	s, l := open(t, newPath(t))
	pay(t, l, 9, gaussian(t, 10), 1)
	require.NoError(t, l.Contradict(8))
	if _, l = reopen(t, s); l.Contradicted() != 9 {
		t.Errorf("contradicted by round %d, want 9", l.Contradicted())
	}
}
