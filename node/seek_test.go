package node

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
)

// profileTask is lineTask with neighbours chosen by public profiles.
func profileTask(degree int) *learner.Task {
	task := lineTask()
	task.Graph = learner.Graph{Rule: "profile", Degree: degree, Gamma: 0.1, Profile: 2}
	return task
}

// While profiles are still being asked for, the nearest known candidate is
// asked for an edge; after that, as many as are missing, nearest first.
func TestSeekAsksTheNearest(t *testing.T) {
	h := attachedSession(t, testNode(t, profileTask(3), nil, func(c *Config) { c.Profile = []float64{1, 0} })).hood
	var nearest peer.ID
	for i := range 8 {
		id := randomPeer(t)
		h.found(peer.AddrInfo{ID: id, Addrs: someAddr()})
		if i < 4 {
			h.candidates[id].weight = 0.1 * float64(i+1)
			nearest = id
		}
	}
	count := func(errands []errand) (asks, hellos int, first peer.ID) {
		for _, e := range errands {
			if e.kind == gossip.EdgeHello {
				hellos++
			} else if asks++; asks == 1 {
				first = e.to.ID
			}
		}
		return asks, hellos, first
	}
	now := time.Now()
	if asks, hellos, first := count(h.seek(now, 3)); asks != 1 || hellos != 2 || first != nearest {
		t.Errorf("%d asks and %d hellos, want the nearest of 4 known and 2 profiles to make it 6", asks, hellos)
	}
	for id, c := range h.candidates {
		if c.weight == 0 {
			delete(h.candidates, id)
		}
	}
	if asks, hellos, first := count(h.seek(now, 3)); asks != 3 || hellos != 0 || first != nearest {
		t.Errorf("%d asks and %d hellos, want the 3 nearest", asks, hellos)
	}
	if out := h.seek(now, 0); len(out) != 0 {
		t.Errorf("%d requests though nobody is missing", len(out))
	}
}

// Of each peer there is one request at a time; one that comes back while a request
// is under way is asked again after that.
func TestOneRequestAtATime(t *testing.T) {
	first, second := testNode(t, lineTask(), nil, nil), testNode(t, lineTask(), nil, nil)
	h, other := attachedSession(t, first).hood, attachedSession(t, second)
	if err := h.host.Connect(t.Context(), peer.AddrInfo{ID: second.self, Addrs: other.host.Addrs()}); err != nil {
		t.Fatal(err)
	}
	h.links[second.self] = &link{weight: 1}
	for range 20 {
		h.found(peer.AddrInfo{ID: randomPeer(t), Addrs: someAddr()})
	}
	now := time.Now()
	out := h.due(now)
	if want := h.task.Graph.Degree; len(out) != want || out[0].to.ID != second.self {
		t.Fatalf("%d requests, want the neighbour's and %d to candidates", len(out), want-1)
	}
	h.links[second.self].up = false // it went away
	if again := h.due(now.Add(time.Hour)); len(again) != 0 {
		t.Errorf("%d more requests before the first are answered", len(again))
	}
	for _, e := range out {
		h.answered(e)
	}
	if again := h.due(now); len(again) != len(out) || again[0].to.ID != second.self {
		t.Errorf("%d requests afterwards, want %d", len(again), len(out))
	}
}
