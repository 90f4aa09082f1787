package node

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

// limited is a node of the task line with limits on what is kept.
func limited(t *testing.T, keys string) *Node {
	t.Helper()
	n := testNode(t, lineTask(), nil, nil)
	dir := n.dir
	require.NoError(t, n.Close())
	path := filepath.Join(dir, "config.toml")
	text, err := os.ReadFile(path)
	require.NoError(t, err, os.WriteFile(path, append([]byte(keys+"\n"), text...), 0o600))
	return openNode(t, dir)
}

// However records come, the newest are kept; memory, counts and budget agree with the disk,
// and slots that are empty stay.
func TestKeepRecords(t *testing.T) {
	n := limited(t, "keep_records = 7")
	r := rand.New(rand.NewPCG(1, 92))
	for i := range 12 {
		if i%3 == 0 {
			_ = own(t, n) // in memory from here on
		}
		switch i % 4 {
		case 0:
			require.NoError(t, n.Add(t.Context(), lineRecords(r, 3)))
		case 1:
			_, err := n.Import(t.Context(), strings.NewReader("a,b,y\n1,0,2\n0,1,"+string('0'+byte(i%3))+"."+string('0'+byte(i/3))+"\n"), api.ImportOptions{})
			require.NoError(t, err)
		case 2:
			_, err := n.put(t.Context(), []storage.Arrival{{Record: lineRecords(r, 1)[0], ID: "a"}})
			require.NoError(t, err)
		default:
			n.Trim()
		}
		checkOwn(t, n)
		if s := status(t, n); s.Records > 7 || i > 4 && s.Records < 6 || s.Keep == nil || s.Keep.Records != 7 {
			t.Fatalf("%d records after %d steps, %+v", s.Records, i, s.Keep)
		}
	}
	slots := 0
	for _, c := range budget(t, n).Cohorts {
		slots += c.Records
	}
	if s := status(t, n); slots <= s.Records {
		t.Errorf("%d slots of %d records: the empty ones are gone", slots, s.Records)
	}
}

// Records are kept for so many days and leave the agent too; what was paid stays paid.
func TestKeepDays(t *testing.T) {
	n := limited(t, "keep_days = 2.0")
	r := rand.New(rand.NewPCG(1, 93))
	require.NoError(t, n.Add(t.Context(), lineRecords(r, 5)))
	before := budget(t, n)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{47 * time.Hour, 5}, {49 * time.Hour, 0}, {50 * time.Hour, 0}} {
		n.storing.Lock()
		err := n.retain(time.Now().Add(c.after))
		n.storing.Unlock()
		if s := status(t, n); err != nil || s.Records != c.want {
			t.Errorf("after %v: %d records, want %d; %v", c.after, s.Records, c.want, err)
		}
		checkOwn(t, n)
	}
	after := budget(t, n)
	if len(after.Cohorts) != 1 || after.Cohorts[0] != before.Cohorts[0] {
		t.Errorf("the budget is %+v, was %+v", after.Cohorts, before.Cohorts)
	}
}

// A clock that is ahead for a while deletes nothing, and the owner is told once that
// records wait for it.
func TestKeepDaysWaitsForTheClock(t *testing.T) {
	n := limited(t, "keep_days = 2.0")
	require.NoError(t, n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 94)), 5)))
	const day = 24 * time.Hour
	start := time.Now()
	for i, c := range []struct {
		after time.Duration
		want  int
		told  int
	}{
		{time.Hour, 5, 0},
		{3650 * day, 5, 1},
		{3650*day + 50*time.Minute, 5, 1},
		{2 * time.Hour, 5, 1}, // the clock was set
		{3650*day + day, 5, 2},
		{3650*day + day + time.Hour, 0, 2}, // nobody sets it
	} {
		n.storing.Lock()
		err := n.retain(start.Add(c.after))
		n.storing.Unlock()
		told := 0
		for _, e := range pastEvents(t, n) {
			if e.Kind == api.EventWarning {
				told++
				if !strings.Contains(e.Text, "10 years after it was last believed: set it if it is wrong") {
					t.Errorf("it says %q", e.Text)
				}
			}
		}
		if s := status(t, n); err != nil || s.Records != c.want || told != c.told {
			t.Errorf("look %d: %d records, told %d times, want %d and %d; %v", i, s.Records, told, c.want, c.told, err)
		}
		checkOwn(t, n)
	}
}

// Records that come often are not looked at by age each time, but at once at a start and
// when the owner says anew how long they are kept.
func TestAgeIsLookedAtOnceAMinute(t *testing.T) {
	n := limited(t, "keep_days = 2.0")
	now := time.Now()
	for i, c := range []struct {
		after time.Duration
		want  bool
	}{{time.Hour, false}, {2 * time.Hour, true}, {2*time.Hour + time.Second, false}, {2*time.Hour + time.Minute, true}} {
		n.storing.Lock()
		if i == 0 {
			n.clock = clock{}
		}
		l, err := n.limits(now.Add(c.after))
		n.storing.Unlock()
		if require.NoError(t, err); !l.Since.IsZero() != c.want {
			t.Errorf("look %d: %+v", i, l)
		}
	}
	_, err := n.store.Put([]storage.Arrival{{Record: lineRecords(rand.New(rand.NewPCG(1, 95)), 1)[0]}}, n.cohortRule(), now.Add(-72*time.Hour))
	require.NoError(t, err)
	n.clock, n.aged = clock{Believed: now}, now
	if err := n.retainNow(); err != nil || status(t, n).Records != 0 {
		t.Errorf("%d records are left; %v", status(t, n).Records, err)
	}
}

// A node whose clock is behind its own files says so when it starts.
func TestRunSaysThatTheClockIsBehind(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	later := time.Now().Add(10 * 365 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(n.dir, datadir.StoreFile), later, later))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, n.Run(ctx))
	if e := last(pastEvents(t, n), api.EventWarning); !strings.Contains(e.Text, "about 10 years behind: set it") {
		t.Errorf("it says %q", e.Text)
	}
}
