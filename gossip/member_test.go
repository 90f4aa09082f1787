package gossip

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip/reputation"
)

// Nothing of a peer that has ceased to be a member is taken, also when a member
// that does not know passes it on; nobody is struck for that.
func TestRevokedPeersAreNotHeard(t *testing.T) {
	var revoked atomic.Value
	c := testConfig()
	c.Member = func(p peer.ID) bool { return revoked.Load() != p }
	victim, friend := startNode(t, newKey(t), c), newNode(t)
	befriend(t, victim, friend)
	waitForListeners(t, friend, victim)
	waitForListeners(t, victim, friend)
	publish(t, friend, 1)
	if got := take(t, victim); len(got) != 1 || got[0].Round != 1 {
		t.Fatalf("got %+v", got)
	}
	revoked.Store(friend.id())
	before := victim.Stats()

	carrier := newAttacker(t, victim)
	for i := range uint64(reputation.Limit) {
		m := posted(friend.id(), friend.encode(t, model(i+2, 0, 0, 0)))
		carrier.send(victim, &pb.RPC{Publish: []*pb.Message{m}})
	}
	waitForStats(t, victim, func(s Stats) bool { return s.Ignored == before.Ignored+reputation.Limit })
	checkReason(t, victim, RefusedPeer, reputation.Limit)
	publish(t, friend, 9) // over the connection that is still there
	if _, err := friend.Ask(t.Context(), victim.id(), EdgeRequest{Kind: EdgeAsk}); err == nil {
		t.Error("a revoked peer is answered")
	}
	if _, err := victim.Ask(t.Context(), friend.id(), EdgeRequest{Kind: EdgeAsk}); !errors.Is(err, errStranger) {
		t.Errorf("a revoked peer is asked: %v", err)
	}
	_, err := victim.Call(t.Context(), friend.id(), []byte("call"))
	for what, err := range map[string]error{"call": err, "blob": (&fetch{gossip: victim.Gossip}).more(t.Context(), friend.id())} {
		if err == nil || strings.Contains(err.Error(), "bad messages") || !strings.Contains(err.Error(), "not a member") {
			t.Errorf("%s: %v; want that the peer is not a member", what, err)
		}
	}
	if s := victim.Stats(); s.Delivered != before.Delivered || s.Rejected != before.Rejected {
		t.Errorf("the counts are %+v, were %+v", s, before)
	}
	if got := victim.Inbox().Take(); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	if !carrier.connected(victim) {
		t.Error("the carrier is refused")
	}
}
