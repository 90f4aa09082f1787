package storage

import (
	"errors"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// Every release is one commit and one write of the anchor, and deleted records leave free
// space.
func TestStats(t *testing.T) {
	s, l := open(t, newPath(t))
	before, err := s.Stats()
	require.NoError(t, err)
	if before.Size <= 0 || before.Free < 0 || before.Free >= before.Size || before.Failed || before.Readers != 0 {
		t.Errorf("a new file: %+v", before)
	}
	pay(t, l, 1, gaussian(t, 12), 1)
	after, err := s.Stats()
	require.NoError(t, err)
	if d, a := after.Database.Count-before.Database.Count, after.Anchor.Count-before.Anchor.Count; d != 1 || a != 1 {
		t.Errorf("a release made %d commits and wrote the anchor %d times, want once each", d, a)
	}
	if after.Database.Seconds <= before.Database.Seconds || after.Allocated <= before.Allocated {
		t.Errorf("before %+v, after %+v", before, after)
	}
	s.Close()
	if _, err := s.Stats(); err == nil {
		t.Error("a closed store has numbers")
	}
}

func TestStatsOfABrokenStore(t *testing.T) {
	s, _ := open(t, newPath(t))
	s.broken.Store(true)
	defer s.broken.Store(false)
	if _, err := s.Stats(); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestDurationsAreCumulative(t *testing.T) {
	var w stopwatch
	for _, d := range []time.Duration{time.Microsecond, time.Millisecond, 20 * time.Millisecond, time.Minute} {
		w.took(d)
	}
	d := w.read()
	if d.Count != 4 || d.Seconds < 60 || d.AtMost[0.0005] != 1 || d.AtMost[0.001] != 2 || d.AtMost[0.01] != 2 || d.AtMost[0.025] != 3 || d.AtMost[2.5] != 3 {
		t.Errorf("got %+v", d)
	}
}
