package node

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/learner"
)

// idleSession is a session whose parts do not run: the test calls them.
func idleSession(t *testing.T, n *Node) *session {
	t.Helper()
	h, _, err := n.newHost()
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.newSession(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(abandon(s.gossip.Run, s.discovery.Run), h.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func attachedSession(t *testing.T, n *Node) *session {
	t.Helper()
	s := idleSession(t, n)
	if err := n.attach(s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.detach(s) })
	return s
}

func randomPeer(t *testing.T) peer.ID {
	t.Helper()
	_, public, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.IDFromPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func someAddr() []multiaddr.Multiaddr {
	return []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/192.0.2.1/tcp/1")}
}

func encoded(t *testing.T, round uint64) []byte {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	data, err := gossip.NewSigner(key, "net").Encode(learner.Message{Kind: learner.KindModel, Round: round, Real: make([]float64, 3)})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The model that comes with a new edge reaches the agent, which hears of the
// edge in the same breath. It comes but once, so a stranger's model is lost.
func TestModelOfNewNeighbourIsHeard(t *testing.T) {
	s := attachedSession(t, testNode(t, lineTask(), nil, nil))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.loop.run(ctx); err != nil {
			t.Errorf("loop: %v", err)
		}
	})
	defer running.Wait()
	defer stop()
	const count = 10
	for range count {
		request := gossip.EdgeRequest{Kind: gossip.EdgeAsk, Latest: encoded(t, 7)}
		if reply := s.hood.answer(ctx, randomPeer(t), request); reply.Answer != gossip.EdgeAccepted {
			t.Fatalf("declined: %s", reply.Reason)
		}
	}
	eventually(t, "all models are heard", func() bool {
		state, err := s.state(ctx)
		return err == nil && len(state.Heard) == count
	})
}

// Nobody is answered before the earlier edges are back.
func TestNoEdgeBeforeRestore(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := idleSession(t, n)
	ended, end := context.WithCancel(t.Context())
	end()
	ask := gossip.EdgeRequest{Kind: gossip.EdgeAsk}
	if reply := s.hood.answer(ended, randomPeer(t), ask); reply.Answer == gossip.EdgeAccepted {
		t.Error("an edge is accepted before the node is ready")
	}
	if err := n.attach(s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.detach(s) })
	if reply := s.hood.answer(t.Context(), randomPeer(t), ask); reply.Answer != gossip.EdgeAccepted {
		t.Errorf("declined: %s", reply.Reason)
	}
}

// A message is neither served before its slot nor delayed by what the loop does
// then: the time it can be had must not tell what was computed.
func TestMessageKeepsItsSlot(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	if _, err := s.loop.door.release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	m := learner.Message{Kind: learner.KindModel, Round: 1, Real: make([]float64, 3)}
	if err := s.loop.dispatch([]learner.Message{m}, release{round: 1, protected: true}); err != nil {
		t.Fatal(err)
	}
	served := func() bool {
		return s.hood.answer(t.Context(), randomPeer(t), gossip.EdgeRequest{Kind: gossip.EdgeExchange}).Latest != nil
	}
	if served() {
		t.Error("served before its slot")
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		if err := s.loop.run(ctx); err != nil {
			t.Errorf("loop: %v", err)
		}
	})
	busy := make(chan struct{})
	defer close(busy)
	s.loop.inspect <- func() { <-busy }
	eventually(t, "published while the loop is busy", func() bool { return served() && s.gossip.Stats().Published == 1 })
}

// However many ask at once, a node takes on twice its degree.
func TestEdgesAreBounded(t *testing.T) {
	task := lineTask()
	task.Graph.Degree = 2
	s := attachedSession(t, testNode(t, task, nil, nil))
	var asking sync.WaitGroup
	var accepted atomic.Int32
	for range 16 {
		from := randomPeer(t)
		asking.Go(func() {
			if s.hood.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeAsk}).Answer == gossip.EdgeAccepted {
				accepted.Add(1)
			}
		})
	}
	asking.Wait()
	if accepted.Load() != 4 || len(s.hood.edges()) != 4 {
		t.Errorf("%d accepted, %d edges, want 4", accepted.Load(), len(s.hood.edges()))
	}
}

// A neighbour that asks again and again, each time with another profile, does
// not make this node write again and again.
func TestRenewalsArePaced(t *testing.T) {
	s := attachedSession(t, testNode(t, profileTask(10), nil, func(c *Config) { c.Profile = []float64{1, 0} }))
	from, began := randomPeer(t), time.Now()
	for i := range 50 {
		request := gossip.EdgeRequest{Kind: gossip.EdgeAsk, Own: gossip.Entry{Peer: from, Vector: []float64{50, float64(i)}}}
		answer := s.hood.answer(t.Context(), from, request).Answer
		if i == 0 && answer != gossip.EdgeAccepted || i > 0 && answer != gossip.EdgeLater && time.Since(began) < seekEvery {
			t.Fatalf("request %d is answered with %d", i, answer)
		}
	}
	if w := s.hood.edges()[0].Weight; w != 1 && time.Since(began) < seekEvery {
		t.Errorf("weight %v, want that of the first request", w)
	}
}

// Neighbours that are away keep nobody out, and those beyond the bound are
// given up, the longest away first.
func TestAbsentNeighboursMakeRoom(t *testing.T) {
	task := lineTask()
	task.Graph.Degree = 1
	s := attachedSession(t, testNode(t, task, nil, nil))
	now := time.Now()
	away := make([]peer.ID, 4)
	for i := range away {
		away[i] = randomPeer(t)
		s.hood.links[away[i]] = &link{terms: terms{weight: 1}, seen: now.Add(time.Duration(i-4) * time.Minute)}
	}
	if reply := s.hood.answer(t.Context(), randomPeer(t), gossip.EdgeRequest{Kind: gossip.EdgeAsk}); reply.Answer != gossip.EdgeAccepted {
		t.Errorf("absent neighbours keep others out: %s", reply.Reason)
	}
	if dead := s.hood.dead(now); !slices.Equal(dead, away[:3]) {
		t.Errorf("%v are given up, want the three longest away of %v", dead, away)
	}
	if dead := s.hood.dead(now.Add(deadAfter)); len(dead) != 4 {
		t.Errorf("%d are given up after an hour, want all", len(dead))
	}
}

// Whoever does not answer is forgotten, at once if there are others enough.
func TestCandidatesAreForgotten(t *testing.T) {
	h := attachedSession(t, testNode(t, lineTask(), nil, nil)).hood
	silent := errand{to: peer.AddrInfo{ID: randomPeer(t), Addrs: someAddr()}, kind: gossip.EdgeExchange}
	h.found(silent.to)
	for i := range patience {
		if h.view.Len() != 1 {
			t.Fatalf("forgotten after %d failures", i)
		}
		h.unanswered(silent)
	}
	if h.view.Len() != 0 {
		t.Errorf("not forgotten after %d failures", patience)
	}
	h.found(peer.AddrInfo{ID: randomPeer(t)})
	if h.view.Len() != 0 {
		t.Error("a peer without an address is a candidate")
	}
	for range maxContacts + 2 {
		silent.to.ID = randomPeer(t)
		h.found(silent.to)
		h.unanswered(silent)
	}
	if n := h.view.Len(); n >= 2*h.task.Graph.Degree {
		t.Errorf("%d of the silent are known still", n)
	}
	if len(h.contacts) != maxContacts {
		t.Errorf("%d contacts are remembered, want %d", len(h.contacts), maxContacts)
	}
}

// A change that no event tells of, as when one took the other back, is noticed.
func TestEdgesAreRechecked(t *testing.T) {
	t.Parallel()
	s := attachedSession(t, testNode(t, lineTask(), nil, nil))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.loop.run(ctx); err != nil {
			t.Errorf("loop: %v", err)
		}
	})
	defer running.Wait()
	defer stop()
	told := func() (edges int) {
		if err := s.look(ctx, func() { edges = len(s.loop.told) }); err != nil {
			t.Fatal(err)
		}
		return edges
	}
	eventually(t, "no event is left", func() bool { return len(s.hood.changed) == 0 })
	told() // and the last one is handled
	s.hood.mu.Lock()
	s.hood.links[randomPeer(t)] = &link{terms: terms{weight: 1}, seen: time.Now()}
	s.hood.mu.Unlock()
	eventually(t, "the agent is told", func() bool { return told() == 1 })
}
