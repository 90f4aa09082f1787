package node

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// eventsUntil follows a node's events from the oldest on until one is of that kind.
func eventsUntil(t *testing.T, owner api.Owner, kind api.EventKind) (list []api.Event) {
	t.Helper()
	for e, err := range owner.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, e); e.Kind == kind {
			return list
		}
	}
	t.Fatalf("the events end with %+v and without %q", list, kind)
	return nil
}

// pastEvents lists the events that a node keeps.
func pastEvents(t *testing.T, n *Node) (list []api.Event) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	for e, err := range n.diary.Events(ended, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// last is the newest event of a kind.
func last(list []api.Event, kind api.EventKind) (e api.Event) {
	for _, e := range slices.Backward(list) {
		if e.Kind == kind {
			return e
		}
	}
	return api.Event{}
}

// The owner of a daemon is told the story of its run.
func TestEventsTellTheStory(t *testing.T) {
	t.Parallel()
	nodes, stop := startNetwork(t, 2, lineTask(), func(*datadir.Config) {})
	defer stop()
	n, owner := nodes[0], served(t, nodes[0])
	list := eventsUntil(t, owner, api.EventUnpaid)
	for i, e := range list {
		if e.ID != list[0].Run+uint64(i) || e.Run != list[0].Run || e.Time.IsZero() || e.Text == "" {
			t.Errorf("event %d is %+v; want IDs that count up from %d", i, e, list[0].Run)
		}
	}
	if e := last(list, api.EventStarted); e.Kind == "" {
		t.Error("nobody said that the node takes part")
	}
	if e := last(list, api.EventMet); e.Peer != nodes[1].self.String() || e.Weight != 1 {
		t.Errorf("met %+v; want the other node with its weight", e)
	}
	if e := last(list, api.EventImported); e.Records == 0 {
		t.Errorf("imported %+v", e)
	}
	budget, err := n.Budget(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spent, releases := 0.0, 0
	for _, e := range list {
		if e.Kind == api.EventReleased {
			spent, releases = spent+e.Share, releases+1
		}
	}
	if c := budget.Cohorts[0]; releases != c.Releases || math.Abs(spent-c.Spent) > 1e-9 {
		t.Errorf("%d releases took %g of the budget; the budget has %d and %g", releases, spent, c.Releases, c.Spent)
	}
	if err := owner.Delete(t.Context(), []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := owner.Backup(t.Context(), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	list = eventsUntil(t, owner, api.EventBackup)
	if e := last(list, api.EventDeleted); e.Records != 2 {
		t.Errorf("deleted %+v; want two records", e)
	}
	if _, err := nodes[1].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := last(eventsUntil(t, owner, api.EventLeft), api.EventLeft); e.Peer != nodes[1].self.String() || e.Reason == "" {
		t.Errorf("left %+v; want the other node and why", e)
	}
}

// A directory at rest has events too, and no event says what is in a record.
func TestEventsAtRest(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	if _, err := n.Import(t.Context(), strings.NewReader("a,b,y\n0.625,0,2\n0,1,2.875\n"), api.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	list := eventsUntil(t, n, api.EventImported)
	if len(list) != 1 || list[0].Records != 2 {
		t.Errorf("events %+v; want the import of two records", list)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for e := range n.Events(ended, list[0].ID) {
		t.Errorf("after the last event comes %+v", e)
	}
}

func TestNeighboursSayWhy(t *testing.T) {
	t.Parallel()
	nodes, stop := startNetwork(t, 2, lineTask(), func(*datadir.Config) {})
	defer stop()
	list, err := served(t, nodes[0]).Neighbours(t.Context())
	if err != nil || list.Rule != "random" || list.Degree != 10 || len(list.Neighbours) != 1 {
		t.Fatalf("neighbours %+v, %v; want one under the rule random", list, err)
	}
	if p := list.Neighbours[0]; p.ID != nodes[1].self.String() || p.Weight != 1 || !strings.Contains(p.Why, "weigh the same") {
		t.Errorf("the neighbour is %+v; want its weight and why", p)
	}
}
