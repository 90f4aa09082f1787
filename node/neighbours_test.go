package node

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/internal/turn"
	"p2pnode/learner"
	"p2pnode/peering"
)

// idleSession is a session whose parts do not run: the test calls them.
func idleSession(t *testing.T, n *Node) *session {
	t.Helper()
	h, _, _, err := n.newHost()
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

// attachedSession is a session of which only what decides about neighbours runs, until
// the test ends.
func attachedSession(t *testing.T, n *Node) *session {
	t.Helper()
	s := idleSession(t, n)
	attach(t, n, s)
	drive(t, s)
	return s
}

func attach(t *testing.T, n *Node, s *session) {
	t.Helper()
	if err := n.attach(s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.detach(s) })
}

func drive(t *testing.T, s *session) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.hood.run(ctx) }) // it returns nil
	t.Cleanup(func() { stop(); running.Wait() })
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

// encoded is a model of a new peer, as that signs it.
func encoded(t *testing.T, network string, round uint64) (from peer.ID, model []byte) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if from, err = peer.IDFromPrivateKey(key); err != nil {
		t.Fatal(err)
	}
	model, err = gossip.NewSigner(key, network).Encode(learner.Message{Kind: learner.KindModel, Round: round, Real: make([]float64, 3)})
	if err != nil {
		t.Fatal(err)
	}
	return from, model
}

// The model that comes with a new edge reaches the agent, which hears of the
// edge in the same breath. It comes but once, so a stranger's model is lost.
func TestModelOfNewNeighbourIsHeard(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
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
		from, model := encoded(t, n.network, 7)
		request := gossip.EdgeRequest{Kind: gossip.EdgeAsk, Latest: model}
		if reply := s.hood.answer(ctx, from, request); reply.Answer != gossip.EdgeAccepted {
			t.Fatalf("declined: %s", reply.Reason)
		}
	}
	require.Eventually(t, "all models are heard", func() bool {
		return len(s.loop.shown.Load().Heard) == count
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
	attach(t, n, s)
	drive(t, s)
	if reply := s.hood.answer(t.Context(), randomPeer(t), ask); reply.Answer != gossip.EdgeAccepted {
		t.Errorf("declined: %s", reply.Reason)
	}
}

// A message is neither served before its slot nor delayed by what the loop does
// then: the time it can be had must not tell what was computed.
func TestMessageKeepsItsSlot(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	agent := newBusyAgent(s.loop.agent)
	s.loop.agent = agent
	if _, err := s.loop.door.release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	m := learner.Message{Kind: learner.KindModel, Round: 1, Real: make([]float64, 3)}
	if err := s.loop.dispatch([]learner.Message{m}, release{1, publicSlot{s.loop.woke, slot}}); err != nil {
		t.Fatal(err)
	}
	neighbour := randomPeer(t)
	served := func() bool { // or else the peer asks too early after the last time
		return s.hood.answer(t.Context(), neighbour, gossip.EdgeRequest{Kind: gossip.EdgeAsk}).Latest != nil
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
	defer agent.work(s)()
	require.Eventually(t, "published while the loop is busy", func() bool { return served() && s.gossip.Stats().Published == 1 })
}

// A change that no event tells of, as when one took the other back, is noticed.
func TestEdgesAreRechecked(t *testing.T) {
	t.Parallel()
	s := attachedSession(t, testNode(t, lineTask(), nil, nil))
	agent := &toldAgent{Agent: s.loop.agent}
	s.loop.agent, s.loop.recheckEvery = agent, 100*time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.loop.run(ctx); err != nil {
			t.Errorf("loop: %v", err)
		}
	})
	defer running.Wait()
	defer stop()
	require.Eventually(t, "no event is left", func() bool { return len(s.hood.changed) == 0 })
	if err := s.records(nil, nil); err != nil { // and the last one is handled
		t.Fatal(err)
	}
	silently := requestFromWire(randomPeer(t), "", gossip.EdgeRequest{Kind: gossip.EdgeAsk})
	s.hood.posted.post(func(context.Context) { s.hood.machine.Step(s.hood.now(), silently) })
	require.Eventually(t, "the agent is told", func() bool { return agent.edges.Load() == 1 })
}

// toldAgent says of how many edges the agent was told last.
type toldAgent struct {
	learner.Agent
	edges atomic.Int64
}

// Neighbours implements [learner.Agent].
func (a *toldAgent) Neighbours(now time.Duration, edges []learner.Edge) learner.Output {
	a.edges.Store(int64(len(edges)))
	return a.Agent.Neighbours(now, edges)
}

// busyAgent takes long over a change that changes nothing, as others do over a release.
type busyAgent struct {
	learner.Agent
	begun, end chan struct{}
}

func newBusyAgent(a learner.Agent) *busyAgent {
	return &busyAgent{Agent: a, begun: make(chan struct{}), end: make(chan struct{})}
}

// Records implements [learner.Agent].
func (a *busyAgent) Records(add []learner.Record, drop []learner.Seq) error {
	if len(add)+len(drop) == 0 {
		close(a.begun)
		<-a.end
	}
	return a.Agent.Records(add, drop)
}

// work keeps the agent of a session, and so its loop, busy until done is called.
func (a *busyAgent) work(s *session) (done func()) {
	ended := make(chan error, 1)
	go func() { ended <- s.records(nil, nil) }()
	<-a.begun
	return func() { close(a.end); <-ended }
}

// A tick that nothing but the time asks for comes at a turn. Others come when the machine
// wants them, and none is put off by what happens meanwhile.
func TestTicksComeAtTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const look = 5 * time.Second
		h := &neighbourhood{config: peering.Config{Look: look}, due: -1}
		start := time.Now()
		for range 20 {
			now := time.Since(start)
			h.schedule(now, now+look)
			turned := h.next
			if at := start.Add(turned); !turn.After(at, look).Equal(at) || turned < now+look/2 || turned > now+look*3/2 {
				t.Errorf("at %v the next tick comes at %v, and the turn after that is %v later", now, turned, turn.After(at, look).Sub(at))
			}
			time.Sleep(look / 3)
			if h.schedule(time.Since(start), now+look); h.next != turned {
				t.Errorf("something happened, and the next tick comes at %v in place of %v", h.next, turned)
			}
			for _, due := range []time.Duration{time.Since(start), time.Since(start) + time.Second} {
				if h.schedule(time.Since(start), due); h.next != due {
					t.Errorf("a tick is wanted at %v and comes at %v", due, h.next)
				}
			}
			time.Sleep(1234 * time.Millisecond)
			if now, due := h.next+1, h.due; now < due {
				t.Fatal("the test is wrong")
			} else if h.schedule(now, due); h.next != due {
				t.Errorf("a tick of %v that has passed comes at %v", due, h.next)
			}
		}
	})
}
