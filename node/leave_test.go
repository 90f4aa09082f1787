package node

import (
	"context"
	"testing"
	"time"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/peering"
)

// Who leaves tells all its neighbours, which find others at once, and has no
// neighbours again in this run, no matter which end asks.
func TestLeave(t *testing.T) {
	t.Parallel()
	w := startGraph(t, full(4), lineTask(), nil)
	defer w.stop()
	n, rest := w.nodes[0], w.nodes[1:]
	// What the others agreed on in an earlier life of this node counts no more.
	for _, other := range rest {
		h := other.session.hood
		again := requestFromWire(n.self, "", gossip.EdgeRequest{Kind: gossip.EdgeAsk, Turn: 1000})
		require.Eventually(t, "they agree on it again", func() bool {
			var answer peering.Answer
			h.look(func(m *peering.Neighbourhood) { answer = m.Step(h.now(), again).Reply.Answer })
			return answer == peering.Accepted
		})
	}
	f, err := n.Leave(t.Context())
	if err != nil || f != (api.Farewell{Running: true, Neighbours: 3, Told: 3}) {
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
	if again, err := n.Leave(t.Context()); err != nil || again != f {
		t.Errorf("leaving again: %+v, %v", again, err)
	}
	w.stops[0]()
	if edges, err := n.store.Edges(); err != nil || len(edges) != 0 {
		t.Errorf("%d edges are kept, %v", len(edges), err)
	}
	if f, err := n.Leave(t.Context()); err != nil || f != (api.Farewell{}) {
		t.Errorf("of a node at rest: %+v, %v", f, err)
	}
}

// A neighbour that cannot be reached holds nobody up for longer than asked for.
func TestLeaveIsBounded(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	mute, info := fakePeer(t, n, func(ctx context.Context) gossip.EdgeReply {
		<-ctx.Done()
		return gossip.EdgeReply{}
	})
	if err := mute.Follow(n.self); err != nil { // or the watchdog would hang up
		t.Fatal(err)
	}
	remembers(t, n, info)
	attachedSession(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if f, err := n.Leave(ctx); err != nil || f != (api.Farewell{Running: true, Neighbours: 1}) {
		t.Errorf("%+v, %v", f, err)
	}
}
