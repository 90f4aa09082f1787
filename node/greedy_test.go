package node

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/storage"
)

// countingStore counts how often edges are written.
type countingStore struct {
	edgeStore
	writes int
}

func (s *countingStore) SaveEdge(e storage.Edge) error {
	s.writes++
	return s.edgeStore.SaveEdge(e)
}

func (s *countingStore) DeleteEdge(peer string) error {
	s.writes++
	return s.edgeStore.DeleteEdge(peer)
}

// A peer that asks for an edge and gives it up, again and again, does not make the
// node write each time; after a while it may have its edge.
func TestNobodyMakesANodeWriteAtWill(t *testing.T) {
	h := attachedSession(t, testNode(t, lineTask(), nil, nil)).hood
	store := &countingStore{edgeStore: h.store}
	h.store = store
	from := randomPeer(t)
	ask := func() gossip.EdgeAnswer {
		return h.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeAsk}).Answer
	}
	for range 50 {
		ask()
		h.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeDrop, Turn: 1 << 40})
	}
	if store.writes != 2 {
		t.Errorf("one peer made the node write %d times", store.writes)
	}
	if got := ask(); got != gossip.EdgeLater {
		t.Errorf("the answer is %d", got)
	}
	h.contact(from).linked = time.Now().Add(-sulk)
	if got := ask(); got != gossip.EdgeAccepted {
		t.Errorf("after a while the answer is %d", got)
	}
}

// A partner that exchanges once a second, each time with names nobody has heard of,
// replaces little of what the node knows.
func TestAGreedyPartnerReplacesLittle(t *testing.T) {
	h := attachedSession(t, testNode(t, lineTask(), nil, nil)).hood
	now := time.Now()
	h.now = func() time.Time { return now }
	vectors := make([][]float64, 20)
	honest := h.sees(t, vectors...)
	from := randomPeer(t)
	for range 10 {
		known := make([]gossip.Entry, gossip.MaxKnown)
		for i := range known {
			known[i] = gossip.Entry{Peer: randomPeer(t), Passport: gossip.NewPassport(someAddr())}
		}
		reply := h.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeExchange, Own: gossip.Entry{Peer: from}, Known: known})
		if len(reply.Known) == 0 {
			t.Error("the partner is told of nobody")
		}
		now = now.Add(time.Second)
	}
	left := h.view.Best(h.view.Len(), func(name learner.ID) bool {
		return slices.ContainsFunc(honest, func(id peer.ID) bool { return gossip.ID(id) == name })
	})
	if len(left) < len(honest)/2 {
		t.Errorf("%d of %d are left", len(left), len(honest))
	}
}

// Discovery may name new addresses of a neighbour while its edge is renewed.
func TestAddressesComeWhileAnEdgeIsRenewed(t *testing.T) {
	h := attachedSession(t, testNode(t, lineTask(), nil, nil)).hood
	p := peer.AddrInfo{ID: randomPeer(t), Addrs: someAddr()}
	var finding sync.WaitGroup
	finding.Go(func() {
		for range 100 {
			h.found(p)
		}
	})
	for turn := range uint64(100) {
		h.changing.Lock()
		h.link(p.ID, terms{weight: 1, turn: turn}, true, nil)
		h.changing.Unlock()
	}
	finding.Wait()
}
