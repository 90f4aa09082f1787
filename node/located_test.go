package node

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/peering"
	"p2pnode/storage"
)

// What others say about where a neighbour is, in the hash table or on the local network, does
// not replace what it has said itself: it could not be redialled.
func TestOthersDoNotMoveANeighbour(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	friend, newcomer := randomPeer(t), randomPeer(t)
	right := someAddr()
	if err := n.store.SaveEdges(nil, storage.Edge{Peer: friend.String(), Weight: 1, Addrs: []string{right[0].String()}}); err != nil {
		t.Fatal(err)
	}
	s := attachedSession(t, n)
	s.hood.named = func(id peer.ID) []multiaddr.Multiaddr {
		if id == newcomer {
			return right
		}
		return nil
	}
	var wrong []multiaddr.Multiaddr
	for i := range 16 {
		wrong = append(wrong, multiaddr.StringCast(fmt.Sprintf("/ip4/10.0.0.1/tcp/%d", 1+i)))
	}
	for _, id := range []peer.ID{friend, newcomer} {
		s.hood.found(peer.AddrInfo{ID: id, Addrs: wrong})
		s.hood.answer(t.Context(), id, gossip.EdgeRequest{Kind: gossip.EdgeAsk})
		s.hood.found(peer.AddrInfo{ID: id, Addrs: wrong})
		s.hood.posted.post(func(context.Context) { s.hood.located(id) })
		s.hood.look(func(*peering.Neighbourhood) {
			if e := s.hood.edges[id]; e == nil || !slices.EqualFunc(e.addrs, right, multiaddr.Multiaddr.Equal) {
				t.Errorf("the neighbour's edge is %+v, want the address %v", e, right)
			}
		})
	}
}
