package node

import (
	"slices"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// The first comparison of each hour is kept while the node runs, and shown after a restart.
func TestBenefitIsKept(t *testing.T) {
	t.Parallel()
	nodes, stop := startNetwork(t, 2, lineTask(), func(*datadir.Config) {})
	n, owner := nodes[0], served(t, nodes[0])
	benefit := func(of api.Reporter) []api.BenefitPoint {
		list, err := of.Benefit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := benefit(owner); len(list) != 0 {
		t.Errorf("before any fit there is %+v", list)
	}
	m, err := n.Personal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := benefit(owner)[0]
	if p.Personal != m.Comparison.Personal || p.Alone != m.Comparison.Alone || p.HeldOut != m.Comparison.HeldOut || p.Records != m.Records || p.Verdict != m.Comparison.Verdict || p.ByLogLoss != m.Comparison.ByLogLoss {
		t.Errorf("the point is %+v; want the comparison %+v of %d records", p, m.Comparison, m.Records)
	}
	n.diary.Close() // does not wait with what comes many at a time
	for e := range owner.Events(t.Context(), 0) {
		if e.Kind == api.EventFitted && e.Verdict == p.Verdict && e.Records == p.Records {
			break // else the test never ends
		}
	}
	kept := func() int {
		list, err := n.store.Points(benefitSeries)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	require.Eventually(t, "it is kept", func() bool { return kept() == 1 })
	require.NoError(t, n.Add(t.Context(), lineRecords(fixed(1), 40)))
	if m, err = n.Personal(t.Context()); err != nil {
		t.Fatal(err)
	}
	newest := benefit(owner)
	if p := newest[len(newest)-1]; p.Records != m.Records {
		t.Errorf("the last point is of %d records; want the newest fit, of %d", p.Records, m.Records)
	}
	stop()
	require.NoError(t, n.Close())
	if list := benefit(openNode(t, n.dir)); !list[0].Time.Equal(p.Time) || list[0].Personal != p.Personal || *list[0].Gain != *p.Gain {
		t.Errorf("after a restart there is %+v; want %+v first", list, p)
	}
}

// Points are thinned to the first of each hour and, if they are older than a month, to
// the first of each day, no matter when they arrived.
func TestBenefitIsThinned(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 0, 7, 0, 0, time.UTC)
	var kept []time.Time
	most := 0
	for at := begin; at.Before(begin.AddDate(3, 0, 0)); at = at.Add(3*time.Hour + 20*time.Minute) {
		kept = append(kept, at)
		if at.Minute()%3 == 0 {
			kept = append(kept, at.Add(time.Minute))
		}
		drop := thinned(kept)
		kept = slices.DeleteFunc(kept, func(at time.Time) bool { return slices.Contains(drop, at) })
		most = max(most, len(kept))
	}
	month := kept[len(kept)-1].Add(-hourly)
	days, hours := make(map[time.Time]int), make(map[time.Time]int)
	for _, at := range kept {
		if at.Before(month) {
			days[at.Truncate(24*time.Hour)]++
		} else {
			hours[at.Truncate(time.Hour)]++
		}
	}
	if len(days)+len(hours) != len(kept) || len(days) != mostDays || len(hours) < 200 {
		t.Errorf("%d points are kept, of %d days and %d hours", len(kept), len(days), len(hours))
	}
	if most > mostDays+int(hourly/time.Hour)+2 {
		t.Errorf("up to %d points were kept", most)
	}
	if drop := thinned(nil); drop != nil {
		t.Errorf("of nothing %v is dropped", drop)
	}
}
