package gossip

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/goleak"

	"p2pnode/internal/require"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestAModelReachesThoseWhoFollow(t *testing.T) {
	a, b, stranger := newNode(t), newNode(t), newNode(t)
	befriend(t, a, b)
	connect(t, stranger.host, a.host)
	waitForListeners(t, a, b)

	sent := model(7, 0.5, -0.5, 1)
	if err := a.Publish(t.Context(), a.encode(t, sent)); err != nil {
		t.Fatal(err)
	}
	got := take(t, b)
	sent.From = ID(a.id())
	if len(got) != 1 || !same(got[0], sent) {
		t.Fatalf("got %+v, want %+v", got, sent)
	}
	if s := a.Stats(); s.Published != 1 || s.Expected != 1 {
		t.Errorf("the publisher counts %+v", s)
	}
	if s := b.Stats(); s != (Stats{Delivered: 1}) {
		t.Errorf("the listener counts %+v", s)
	}
	if s := stranger.Stats(); s != (Stats{}) {
		t.Errorf("the stranger counts %+v", s)
	}
}

func TestListenersChangedFollowsTheListeners(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	changed := func() {
		t.Helper()
		select {
		case <-a.ListenersChanged():
		case <-time.After(deadline):
			t.Fatal("no word of the change")
		}
	}
	changed()
	waitForListeners(t, a, b)
	if err := b.Unfollow(a.id()); err != nil {
		t.Fatal(err)
	}
	changed()
	waitForListeners(t, a)
	publish(t, a, 1)
	if s := a.Stats(); s.Published != 1 || s.Expected != 0 {
		t.Errorf("publishing to an empty room counts %+v", s)
	}
}

func TestFollowingAgainDoesNotBringBackOldMessages(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	publish(t, a, 5)
	take(t, b)
	for range 2 { // twice is the same as once
		if err := b.Unfollow(a.id()); err != nil {
			t.Fatal(err)
		}
	}
	waitForListeners(t, a)
	for range 2 {
		if err := b.Follow(a.id()); err != nil {
			t.Fatal(err)
		}
	}
	waitForListeners(t, a, b)
	// Gossipsub has not forgotten these bytes yet, and would not ask.
	old := &pubsub.Message{Message: posted(a.id(), a.encode(t, model(5, 1, 0, 0)))}
	if got := b.validate(t.Context(), a.id(), old); got != pubsub.ValidationIgnore {
		t.Errorf("the verdict on an old message is %v", got)
	}
	checkReason(t, b, Stale, 1)
	publish(t, a, 6)
	if got := take(t, b); len(got) != 1 || got[0].Round != 6 {
		t.Errorf("got %+v", got)
	}
	if err := b.Follow(b.id()); err == nil {
		t.Error("a node follows itself")
	}
}

func TestUnfollowEmptiesTheInbox(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	publish(t, a, 1)
	waitForStats(t, b, func(s Stats) bool { return s.Delivered == 1 })
	if err := b.Unfollow(a.id()); err != nil {
		t.Fatal(err)
	}
	if got := b.Inbox().Take(); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestABurstLosesNothing lets everybody publish many models at once, which
// gossipsub's default queues do not survive.
func TestABurstLosesNothing(t *testing.T) {
	const n = 20
	rounds := uint64(50)
	if testing.Short() {
		rounds = 15
	}
	nodes := make([]*node, n)
	for i := range nodes {
		nodes[i] = newNode(t)
	}
	neighbours := make([][]*node, n)
	for i := range nodes {
		for _, step := range []int{1, 2, 5} { // a ring with shortcuts, degree 6
			j := (i + step) % n
			befriend(t, nodes[i], nodes[j])
			neighbours[i] = append(neighbours[i], nodes[j])
			neighbours[j] = append(neighbours[j], nodes[i])
		}
	}
	for i := range nodes {
		waitForListeners(t, nodes[i], neighbours[i]...)
	}
	for r := range rounds {
		for _, a := range nodes {
			publish(t, a, r+1)
		}
	}
	for i, a := range nodes {
		waitForStats(t, a, func(s Stats) bool { return s.Delivered == rounds*uint64(len(neighbours[i])) })
		if s := a.Stats(); s.Dropped != 0 || s.Rejected != 0 || s.Ignored != 0 || s.Expected != s.Delivered {
			t.Errorf("node %d counts %+v", i, s)
		}
		for _, m := range a.Inbox().Take() {
			if m.Round != rounds {
				t.Errorf("node %d has round %d of %s as the newest", i, m.Round, m.From)
			}
		}
	}
}

func TestAskAndAnswer(t *testing.T) {
	c := testConfig()
	c.Vector = 2
	key := newKey(t)
	stored, err := NewSigner(key, "net").Encode(model(9, 0, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	var from atomic.Pointer[peer.ID]
	c.OnEdge = func(_ context.Context, p peer.ID, r EdgeRequest) EdgeReply {
		from.Store(&p)
		return EdgeReply{Answer: EdgeAccepted, Own: Entry{Passport: NewPassport(nil)}, Known: r.Known, Latest: stored}
	}
	a, b := startNode(t, newKey(t), c), startNode(t, key, c)
	connect(t, a.host, b.host)
	known := []Entry{entryOf(t, 3, 1, 2)}
	reply, err := a.Ask(t.Context(), b.id(), EdgeRequest{Kind: EdgeAsk, Known: known})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Answer != EdgeAccepted || !slices.EqualFunc(reply.Known, known, sameEntry) || reply.Own.Peer != b.id() || *from.Load() != a.id() {
		t.Errorf("the reply is %+v", reply)
	}
	heard, err := a.Hear(b.id(), reply.Latest)
	if err != nil {
		t.Fatal(err)
	}
	if got := take(t, a); len(got) != 1 || !same(got[0], heard) || heard.Round != 9 || heard.From != ID(b.id()) {
		t.Errorf("heard %+v, took %+v", heard, got)
	}
	if s := a.Stats(); s != (Stats{}) {
		t.Errorf("what was asked for counts as %+v", s)
	}
}

func TestAskFailsInTime(t *testing.T) {
	c := testConfig()
	c.OnEdge = func(ctx context.Context, _ peer.ID, _ EdgeRequest) EdgeReply {
		<-ctx.Done()
		return EdgeReply{}
	}
	a, slow, other := newNode(t), startNode(t, newKey(t), c), newNode(t)
	connect(t, a.host, slow.host)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Ask(ctx, slow.id(), EdgeRequest{Kind: EdgeExchange}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a slow peer gives %v", err)
	}
	slow.stop() // must not wait for the answer that never comes
	if _, err := a.Ask(t.Context(), other.id(), EdgeRequest{Kind: EdgeExchange}); err == nil {
		t.Error("a peer of unknown address answered")
	}
}

// What a node says at its end does not pass for a refusal: the asker gets an
// error, always.
func TestNoAnswerAtTheEnd(t *testing.T) {
	const nodes = 10
	requests := testEdges.peerStreams
	a := newNode(t)
	for range nodes {
		entered := make(chan struct{}, requests)
		c := testConfig()
		c.OnEdge = func(ctx context.Context, _ peer.ID, _ EdgeRequest) EdgeReply {
			entered <- struct{}{}
			<-ctx.Done()
			return EdgeReply{Reason: "refused"}
		}
		ending := startNode(t, newKey(t), c)
		connect(t, a.host, ending.host)
		failed := make(chan error, requests)
		for range requests {
			go func() {
				_, err := a.Ask(t.Context(), ending.id(), EdgeRequest{Kind: EdgeAsk})
				failed <- err
			}()
		}
		for range requests {
			<-entered
		}
		ending.stop()
		for range requests {
			if err := <-failed; err == nil {
				t.Fatal("a node that ends refuses")
			}
		}
	}
}

// Another node's model, and bytes that are none, would have neighbours refuse the publisher.
func TestPublishSendsOwnModelsOnly(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	for name, data := range map[string][]byte{
		"nothing":         nil,
		"three bytes":     {1, 2, 3},
		"another's model": b.encode(t, model(1, 0, 0, 0)),
		"another network's": func() []byte {
			data, err := NewSigner(a.config.Signer.key, "other").Encode(model(1, 0, 0, 0))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}(),
	} {
		if err := a.Publish(t.Context(), data); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	publish(t, a, 1)
	if got := take(t, b); len(got) != 1 || got[0].Round != 1 {
		t.Errorf("got %+v", got)
	}
	if s := b.Stats(); s != (Stats{Delivered: 1}) {
		t.Errorf("the listener counts %+v", s)
	}
	if s := a.Stats(); s.Published != 1 || s.Expected != 1 {
		t.Errorf("the publisher counts %+v", s)
	}
}

func TestASecondRunIsRefused(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	require.Eventually(t, "the first one runs", a.ran.Load)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), ended} {
		if err := a.Run(ctx); err == nil {
			t.Error("a Gossip runs twice")
		}
	}
	publish(t, a, 1)
	if got := take(t, b); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if _, err := b.Ask(t.Context(), a.id(), EdgeRequest{Kind: EdgeExchange}); err != nil {
		t.Errorf("the first one was shut down: %v", err)
	}
	a.stop()
	if err := a.Run(t.Context()); err == nil {
		t.Error("a Gossip runs again")
	}
}

func TestNothingHangsAfterTheEnd(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	a.stop()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		if a.Publish(t.Context(), a.encode(t, model(1, 0, 0, 0))) == nil {
			t.Error("published after the end")
		}
		if a.Follow("somebody") == nil {
			t.Error("followed after the end")
		}
		_ = a.Unfollow(b.id())
		if len(a.Listeners()) != 0 {
			t.Error("listeners after the end")
		}
		if _, err := a.Ask(t.Context(), b.id(), EdgeRequest{Kind: EdgeExchange}); err == nil {
			t.Error("asked after the end")
		}
	}()
	select {
	case <-finished:
	case <-time.After(deadline):
		t.Fatal("a call hangs after the end")
	}
	if _, err := b.Ask(t.Context(), a.id(), EdgeRequest{Kind: EdgeExchange}); err == nil {
		t.Error("a node answered after its end")
	}
}

func TestNetworksDoNotMix(t *testing.T) {
	c := testConfig()
	c.Network = "other"
	a, b := newNode(t), startNode(t, newKey(t), c)
	befriend(t, a, b)
	if _, err := a.Ask(t.Context(), b.id(), EdgeRequest{Kind: EdgeExchange}); err == nil {
		t.Error("a peer of another network answered")
	}
	if got := a.Listeners(); len(got) != 0 {
		t.Errorf("%d listeners from another network", len(got))
	}
}

func TestConfigIsChecked(t *testing.T) {
	h := newHost(t, newKey(t))
	for name, change := range map[string]func(*Config){
		"Network": func(c *Config) { c.Network = "" },
		"Signer":  func(c *Config) { c.Signer = nil },
		"Logger":  func(c *Config) { c.Logger = nil },
		"OnEdge":  func(c *Config) { c.OnEdge = nil },
		"Rules":   func(c *Config) { c.Rules = nil },
		"Depth":   func(c *Config) { c.Depth = 0 },
	} {
		c := testConfig()
		c.Signer = testSigner(t)
		change(&c)
		if _, err := New(h, c); err == nil {
			t.Errorf("a configuration without %s is accepted", name)
		}
	}
}
