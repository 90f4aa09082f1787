package node

import (
	"context"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
)

// Who leaves tells all its neighbours, which find others at once, and has no
// neighbours again in this run, whoever asks.
func TestLeave(t *testing.T) {
	t.Parallel()
	w := startGraph(t, full(4), lineTask(), nil)
	defer w.stop()
	n, rest := w.nodes[0], w.nodes[1:]
	// What the others agreed on in an earlier life of this node counts no more.
	for _, other := range rest {
		h := other.session.hood
		h.mu.Lock()
		h.links[n.self].turn += 1000
		h.mu.Unlock()
	}
	f, err := n.Leave(t.Context())
	if err != nil || f != (Farewell{Running: true, Neighbours: 3, Told: 3}) {
		t.Fatalf("%+v, %v; want all three told", f, err)
	}
	for i, other := range rest {
		if s := status(t, other); s.Neighbours != 2 {
			t.Errorf("node %d has %d neighbours after one of three left", i+1, s.Neighbours)
		}
		ask := gossip.EdgeRequest{Kind: gossip.EdgeAsk}
		if reply := n.session.hood.answer(t.Context(), other.self, ask); reply.Answer != gossip.EdgeDeclined {
			t.Errorf("node %d is answered %d by a node that has left", i+1, reply.Answer)
		}
	}
	if due := n.session.hood.due(time.Now().Add(time.Hour)); len(due) > 0 {
		t.Errorf("%d requests of a node that has left", len(due))
	}
	if again, err := n.Leave(t.Context()); err != nil || again != f {
		t.Errorf("leaving again: %+v, %v", again, err)
	}
	w.stops[0]()
	if edges, err := n.store.Edges(); err != nil || len(edges) != 0 {
		t.Errorf("%d edges are kept, %v", len(edges), err)
	}
	if f, err := n.Leave(t.Context()); err != nil || f != (Farewell{}) {
		t.Errorf("of a node at rest: %+v, %v", f, err)
	}
}

// A neighbour that cannot be reached holds nobody up for longer than asked for.
func TestLeaveIsBounded(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n) // nothing runs that would tell anybody
	s.hood.links[randomPeer(t)] = &link{terms: terms{weight: 1}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if f, err := n.Leave(ctx); err != nil || f != (Farewell{Running: true, Neighbours: 1}) {
		t.Errorf("%+v, %v", f, err)
	}
}

// An edge that is agreed on while the node leaves is given up too, and counted.
func TestLeaveTellsWhoAgreesMeanwhile(t *testing.T) {
	h := attachedSession(t, testNode(t, lineTask(), nil, nil)).hood
	old, late := randomPeer(t), randomPeer(t)
	h.links[old] = &link{terms: terms{weight: 1}}
	ask := func(id peer.ID) errand { return errand{to: peer.AddrInfo{ID: id}, kind: gossip.EdgeAsk} }
	h.asking[old], h.asking[late] = ask(old), ask(late)
	over := h.depart()
	if due := h.due(time.Now()); len(due) > 0 {
		t.Errorf("%d more requests to peers that are being asked", len(due))
	}
	for _, id := range []peer.ID{old, late} {
		h.accepted(id, gossip.EdgeRequest{}, gossip.EdgeReply{Turn: 3})
		h.answered(ask(id))
	}
	farewells := h.due(time.Now())
	for _, e := range farewells {
		if e.kind != gossip.EdgeDrop || e.turn != gossip.MaxTurn {
			t.Errorf("%+v is no farewell for good", e)
		}
		select {
		case <-over:
			t.Error("it is over before all were told")
		default:
		}
		h.told(e.turn)
		h.answered(e)
	}
	<-over
	if f := h.farewell(); f != (Farewell{Running: true, Neighbours: 2, Told: 2}) || len(farewells) != 2 {
		t.Errorf("%+v after %d farewells", f, len(farewells))
	}
}
