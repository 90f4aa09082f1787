package node

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/netedge"
	"p2pnode/storage"
)

// fakePeer is a host of the node's network that says what the test wants.
func fakePeer(t *testing.T, n *Node, answer func(context.Context) gossip.EdgeReply) (*gossip.Gossip, peer.AddrInfo) {
	t.Helper()
	other := testNode(t, n.Task(), nil, nil)
	h, _, _, err := other.newHost()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gossip.New(h, gossip.Config{
		Network: n.network,
		Signer:  gossip.NewSigner(other.files.Key, n.network),
		Rules:   learner.Rules{learner.KindModel: {Reals: 3, Radius: 10}},
		Depth:   1,
		OnEdge:  func(ctx context.Context, _ peer.ID, _ gossip.EdgeRequest) gossip.EdgeReply { return answer(ctx) },
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			t.Error(err)
		}
	})
	return g, peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()}
}

// remembers makes a stopped node take the peer for a neighbour of an earlier run.
func remembers(t *testing.T, n *Node, p peer.AddrInfo) {
	t.Helper()
	edge := storage.Edge{Peer: p.ID.String(), Weight: 1, Addrs: netedge.AddrStrings(p.Addrs)}
	if err := n.store.SaveEdges(nil, edge); err != nil {
		t.Fatal(err)
	}
}

// A neighbour that shows a round nobody signed changes nothing: the node goes on,
// and does not release for the liar.
func TestForgedWitnessChangesNothing(t *testing.T) {
	t.Parallel()
	n := talker(t, 1, nil)
	var asked atomic.Int32
	liar, info := fakePeer(t, n, func(context.Context) gossip.EdgeReply {
		asked.Add(1)
		return gossip.EdgeReply{Answer: gossip.EdgeAccepted}
	})
	forged := testWitness(t, n, 1<<40, 0)
	forged.Proof[10] ^= 1
	if err := errors.Join(liar.Remember(map[string]gossip.Witness{n.self.String(): *forged}), liar.Follow(n.self)); err != nil {
		t.Fatal(err)
	}
	remembers(t, n, info)
	start(t, n)
	addrs := waitForAddrs(t, n)
	require.Eventually(t, "the liar was asked", func() bool { return asked.Load() > 0 })
	if _, err := liar.Ask(t.Context(), n.self, gossip.EdgeRequest{Kind: gossip.EdgeAsk}); err == nil {
		t.Error("the liar is answered")
	}
	if round := status(t, n).Round; round != 0 {
		t.Errorf("round %d was released for the liar", round)
	}
	friend, _ := listener(t, addrs)
	waitUntilHeard(t, n, 0, friend)
}

// A neighbour of an earlier run who listens, and has not yet said what it holds,
// is no reason to release.
func TestNoReleaseBeforeTheExchange(t *testing.T) {
	t.Parallel()
	n := talker(t, 1, nil)
	asked, speak := make(chan struct{}, 100), make(chan struct{})
	mute, info := fakePeer(t, n, func(ctx context.Context) gossip.EdgeReply {
		asked <- struct{}{}
		select {
		case <-speak:
		case <-ctx.Done():
		}
		return gossip.EdgeReply{Answer: gossip.EdgeAccepted}
	})
	if err := mute.Follow(n.self); err != nil {
		t.Fatal(err)
	}
	remembers(t, n, info)
	start(t, n)
	waitForAddrs(t, n)
	<-asked
	require.Eventually(t, "the mute peer listens", func() bool { return len(n.session.gossip.Listeners()) == 1 })
	if edges := n.session.hood.forAgent(); len(edges) != 1 || edges[0].Live || n.ledger.Round() != 0 {
		t.Errorf("edges %+v, round %d is paid before the exchange", edges, n.ledger.Round())
	}
	close(speak)
	require.Eventually(t, "a release", func() bool { return status(t, n).Round > 0 })
}

// A neighbour that takes a request and says nothing keeps nobody else waiting.
func TestAMuteNeighbourHoldsNothingUp(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	asked := make(chan struct{}, 100)
	mute, info := fakePeer(t, n, func(ctx context.Context) gossip.EdgeReply {
		asked <- struct{}{}
		<-ctx.Done()
		return gossip.EdgeReply{}
	})
	if err := mute.Follow(n.self); err != nil { // or the watchdog would hang up
		t.Fatal(err)
	}
	met := make(chan struct{}, 100)
	_, friend := fakePeer(t, n, func(context.Context) gossip.EdgeReply {
		met <- struct{}{}
		return gossip.EdgeReply{Answer: gossip.EdgeAccepted}
	})
	remembers(t, n, info)
	start(t, n)
	waitForAddrs(t, n)
	<-asked
	n.session.hood.found(friend)
	select {
	case <-met:
	case <-time.After(askTimeout - time.Second): // it takes one, when nobody waits
		t.Error("the friend is not asked before the mute neighbour's time is over")
	}
}
