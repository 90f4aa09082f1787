package node

import (
	"testing"
	"time"

	"p2pnode/internal/require"
)

// A time is believed that is not far ahead of the last one, or from which the clock has
// gone on. What was noted survives a restart.
func TestClockIsBelieved(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	type look struct {
		at   time.Duration // after the start
		want bool
	}
	for name, looks := range map[string][]look{
		"the first one":                      {{0, false}, {59 * time.Minute, false}, {time.Hour, true}, {2 * time.Hour, true}},
		"opened every day":                   {{0, false}, {day, true}, {2 * day, true}, {3 * day, true}, {5 * day, true}},
		"opened every week":                  {{0, false}, {7 * day, false}, {14 * day, true}, {21 * day, false}, {29 * day, true}},
		"opened ever more rarely":            {{0, false}, {day, true}, {11 * day, false}, {41 * day, false}, {71 * day, true}},
		"ahead in the first hour":            {{0, false}, {10 * year, false}, {time.Minute, false}, {time.Minute + time.Hour, true}},
		"ahead until it is set":              {{0, false}, {day, true}, {10 * year, false}, {10*year + time.Minute, false}, {day + 5*time.Minute, true}, {2 * day, true}},
		"ahead at each start":                {{0, false}, {day, true}, {10 * year, false}, {day + 1, true}, {10*year + day, false}, {2 * day, true}},
		"ahead again, and not set meanwhile": {{0, false}, {day, true}, {10 * year, false}, {10 * year, false}, {10*year - day, false}, {10*year - day + time.Hour, true}},
		"ahead of what waits":                {{0, false}, {day, true}, {31 * day, false}, {10 * year, false}, {31 * day, false}, {31*day + time.Hour, true}},
		"behind":                             {{0, false}, {day, true}, {-year, true}, {day, false}, {day + time.Hour, true}},
		"never set":                          {{-57 * year, false}, {-57*year + day, false}, {0, false}, {day, true}, {-57 * year, false}, {2 * day, true}},
	} {
		var c clock
		for i, l := range looks {
			if got := c.believes(start.Add(l.at)); got != l.want {
				t.Errorf("%s: look %d, after %v: believed is %v", name, i, l.at, got)
			}
			require.NoError(t, c.save(n.store))
			var err error
			c, err = openClock(n.store)
			require.NoError(t, err)
		}
	}
}

// While records come, the disk is written to for the clock once an hour.
func TestClockIsNotedRarely(t *testing.T) {
	start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	c, writes := clock{Believed: start}, 0
	for i := range 240 {
		before := c
		if !c.believes(start.Add(time.Duration(i) * time.Minute)) {
			t.Fatalf("not believed after %d minutes", i)
		}
		if c != before {
			writes++
		}
	}
	if writes != 3 {
		t.Errorf("noted %d times in four hours, want 3", writes)
	}
}
