package node

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/peering"
	"p2pnode/storage"
)

// countingStore counts how often edges are written.
type countingStore struct {
	edgeStore
	writes int
}

func (s *countingStore) SaveEdges(gone []string, edges ...storage.Edge) error {
	s.writes++
	return s.edgeStore.SaveEdges(gone, edges...)
}

// Peers that ask for an edge and end it, again and again, and those that do so once and come
// under another name, do not make the node write each time.
func TestNobodyMakesANodeWriteAtWill(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := idleSession(t, n)
	store := &countingStore{edgeStore: s.hood.store}
	s.hood.store = store
	attach(t, n, s)
	drive(t, s)
	begun, same := time.Now(), randomPeer(t)
	for range 50 {
		for _, from := range []peer.ID{same, randomPeer(t)} {
			s.hood.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeAsk})
			s.hood.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeDrop, Turn: 1 << 40})
		}
	}
	if most := 1 + int(time.Since(begun)/edgesEvery); store.writes > most {
		t.Errorf("strangers made the node write %d times, want at most %d", store.writes, most)
	}
}

// A peer that asks for an edge before it has said where it is, is found again after a
// crash. It causes no more writes by saying something else each time.
func TestAnEdgeSaysWhereItsPeerIs(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := idleSession(t, n)
	store := &countingStore{edgeStore: s.hood.store}
	s.hood.store = store
	attach(t, n, s)
	drive(t, s)
	from := randomPeer(t)
	s.hood.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeAsk})
	for _, text := range []string{"/ip4/192.0.2.7/tcp/4001", "/ip4/192.0.2.8/tcp/4001"} {
		addr := multiaddr.StringCast(text)
		s.host.Peerstore().AddAddr(from, addr, time.Minute)
		s.hood.identified(from)
		s.hood.look(func(*peering.Neighbourhood) {})
	}
	require.Eventually(t, "the first address is on disk", func() bool {
		edges, err := n.store.Edges()
		return err == nil && len(edges) == 1 && slices.Equal(edges[0].Addrs, []string{"/ip4/192.0.2.7/tcp/4001"})
	})
	s.hood.look(func(*peering.Neighbourhood) {
		if store.writes != 2 || len(s.hood.unsaved) > 0 {
			t.Errorf("%d writes, %d more to come", store.writes, len(s.hood.unsaved))
		}
	})
}

// Discovery may name new addresses of a neighbour while its edge is renewed.
func TestAddressesComeWhileAnEdgeIsRenewed(t *testing.T) {
	s := attachedSession(t, testNode(t, lineTask(), nil, nil))
	p := peer.AddrInfo{ID: randomPeer(t), Addrs: someAddr()}
	var finding sync.WaitGroup
	finding.Go(func() {
		for range 100 {
			s.hood.found(p)
		}
	})
	for range 100 {
		s.hood.answer(t.Context(), p.ID, gossip.EdgeRequest{Kind: gossip.EdgeAsk})
	}
	finding.Wait()
	edges, err := s.hood.store.Edges()
	if err != nil || len(edges) != 1 || len(s.hood.neighbours()) != 1 {
		t.Errorf("%+v are stored, %v", edges, err)
	}
}
