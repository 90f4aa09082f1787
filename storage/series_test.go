package storage

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"p2pnode/internal/require"
)

func keepAll([]time.Time) []time.Time { return nil }

// A series is in the order of its times, also after a restart, and separate from other
// series.
func TestSeries(t *testing.T) {
	s, _ := open(t, newPath(t))
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	require.NoError(t,
		s.AddPoint("a", Point{at(300), []byte("third")}, keepAll),
		s.AddPoint("a", Point{at(100), []byte("first")}, keepAll),
		s.AddPoint("ab", Point{at(150), []byte("another series")}, keepAll),
		s.AddPoint("a", Point{at(200), []byte("old")}, keepAll),
		s.AddPoint("a", Point{at(200), []byte("second")}, keepAll),
		s.PutMeta("series", "no point"),
	)
	want := []string{"100 first", "200 second", "300 third"}
	if got := series(t, s); !slices.Equal(got, want) {
		t.Errorf("the series is %q; want %q", got, want)
	}
	s, _ = reopen(t, s)
	var seen []time.Time
	require.NoError(t, s.AddPoint("a", Point{at(400), []byte("fourth")}, func(all []time.Time) []time.Time {
		seen = all
		return all[:2]
	}))
	if len(seen) != 4 || !seen[0].Equal(at(100)) || !seen[3].Equal(at(400)) {
		t.Errorf("the times are %v; want all four, ascending", seen)
	}
	if got := series(t, s); !slices.Equal(got, []string{"300 third", "400 fourth"}) {
		t.Errorf("after thinning the series is %q", got)
	}
}

func series(t *testing.T, s *Store) (out []string) {
	t.Helper()
	list, err := s.Points("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		out = append(out, fmt.Sprintf("%d %s", p.At.Unix(), p.Value))
	}
	return out
}
