package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// storeAnything stores records as the first release did, which looked at the label of
// a two-class task only to see that it was finite.
func storeAnything(t *testing.T, n *Node, records []learner.Record) {
	t.Helper()
	anything := storage.Intake{Admit: func(*learner.Record) error { return nil }, Size: n.files.Task.CohortSize}
	arrivals := make([]storage.Arrival, len(records))
	for i, r := range records {
		arrivals[i].Record = r
	}
	if _, err := n.store.Put(arrivals, anything, time.Now()); err != nil {
		t.Fatal(err)
	}
	n.records.forget()
}

// A record with an impossible label that an earlier version stored does not keep the
// node from running, takes part in no sum and in no fit, keeps its slot, is named to
// the owner, and goes when she deletes it.
func TestRecordsThatAnEarlierVersionStored(t *testing.T) {
	task := lineTask()
	task.Loss, task.Target = "logistic", learner.Target{Name: "y"}
	good := lineRecords(fixed(3), 8)
	for i := range good {
		good[i].Y = float64(1 - i%2*2)
	}
	bad := slices.Clone(good)
	bad[2].Y, bad[4].Y, bad[6].X = 1e4, 0.5, []float64{40, 0, 1}

	with, without := testNode(t, task, nil, nil), testNode(t, task, good, nil)
	storeAnything(t, with, bad)
	if err := without.Delete(t.Context(), []uint64{3, 5, 7}); err != nil {
		t.Fatal(err)
	}
	if got, want := summed(t, with), summed(t, without); !slices.Equal(got, want) {
		t.Errorf("the sum is %v, want %v: that of the others", got, want)
	}
	got, err := with.Personal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want, err := without.Personal(t.Context()); err != nil || !slices.Equal(got.Theta, want.Theta) {
		t.Errorf("the personal model is %v (%v), want %v", got.Theta, err, want.Theta)
	}

	for i, r := range listed(t, with, true) {
		refused := i == 2 || i == 4 || i == 6
		if r.Refused != refused || r.Deleted || (r.Target == nil) != refused {
			t.Errorf("record %d: %+v", i+1, r)
		}
	}
	if err := with.Delete(t.Context(), []uint64{3}); err != nil {
		t.Fatal(err)
	}
	if list := listed(t, with, false); !list[2].Deleted || list[2].Refused {
		t.Errorf("after deleting it: %+v", list[2])
	}

	start(t, with)
	require.Eventually(t, "running", func() bool { return status(t, with).Running })
	if err := with.Add(t.Context(), bad[2:3]); err == nil || !strings.Contains(err.Error(), "neither 1 nor -1") {
		t.Errorf("it was stored again: %v", err)
	}
}

// summed is what the agent would release of a node's records, with the noise of a seed.
func summed(t *testing.T, n *Node) []float64 {
	t.Helper()
	agent, err := n.newAgent()
	if err != nil {
		t.Fatal(err)
	}
	out := agent.Neighbours(0, []learner.Edge{{Peer: "b", Weight: 1, Live: true}})
	out = agent.Tick(out.Next)
	if out.Ask == nil || out.Ask.Sums[0].Slots() != 7 { // 8, of which one is held out
		t.Fatalf("asks %+v, want a release of 7 slots", out.Ask)
	}
	return privacy.NewSeededNoise(1).Answer(out.Ask.Mechanism, out.Ask.Sums).Sum
}
