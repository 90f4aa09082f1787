package gossip

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip/internal/wire"
	"p2pnode/internal/require"
)

// twice is evidence against a signer of two models for one round.
func twice(t testing.TB, s *Signer, round uint64) Evidence {
	t.Helper()
	author, err := peer.IDFromPrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEvidence(s.network, author, witness(t, s, round, 1, 0, 0), witness(t, s, round, 0, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Only two models of one round that the author signed in this network show anything.
func TestEvidenceCannotBeMadeUp(t *testing.T) {
	s, other := NewSigner(newKey(t), "net"), NewSigner(newKey(t), "net")
	good := twice(t, s, 7)
	if back, err := NewEvidence("net", good.Author, good.Second, good.First); err != nil || !sameWitness(back.First, good.First) {
		t.Errorf("in the other order: %+v, %v", back, err)
	}
	a := witness(t, s, 7, 1, 0, 0)
	resigned := a // another signature of the same model
	resigned.Proof = slices.Clone(a.Proof)
	resigned.Proof[3] ^= 1
	forged := witness(t, s, 7, 0, 1, 0)
	forged.Proof = slices.Clone(forged.Proof)
	forged.Proof[9] ^= 1
	for name, b := range map[string]Witness{
		"the same model": a, "the same with another proof": resigned, "forged": forged, "another round": witness(t, s, 8, 0, 1, 0),
		"another author": witness(t, other, 7, 0, 1, 0), "another network": witness(t, NewSigner(s.key, "net2"), 7, 0, 1, 0), "nothing": {Round: 7},
	} {
		if _, err := NewEvidence("net", good.Author, a, b); err == nil {
			t.Errorf("%s: believed", name)
		}
	}
	if _, err := NewEvidence("net2", good.Author, good.First, good.Second); err == nil {
		t.Error("evidence of one network passes in another")
	}
}

// hearing is a node and the evidence that its owner is told of.
func hearing(t testing.TB) (*node, chan Evidence) {
	told := make(chan Evidence, 300)
	c := testConfig()
	c.OnEvidence = func(e Evidence) { told <- e }
	return startNode(t, newKey(t), c), told
}

func exchangeWith(t testing.TB, n, other *node) {
	t.Helper()
	if _, err := n.Ask(t.Context(), other.id(), EdgeRequest{Kind: EdgeExchange}); err != nil {
		t.Fatal(err)
	}
}

func waitForEvidence(t testing.TB, told chan Evidence, author peer.ID) {
	t.Helper()
	select {
	case e := <-told:
		if e.Author != author {
			t.Errorf("evidence against %s, want %s", e.Author, author)
		}
	case <-time.After(deadline):
		t.Fatal("no evidence")
	}
}

// An author tells two neighbours different things. They find out when they exchange, a
// third node, which has heard neither, at its next exchange; nobody takes anything more of
// the author, and who passed the evidence on is struck by nobody.
func TestTwoModelsForOneRoundAreToldOnAndBelieved(t *testing.T) {
	liar, third := newNode(t), newNode(t)
	first, toldFirst := hearing(t)
	second, toldSecond := hearing(t)
	for i, n := range []*node{first, second} {
		connect(t, liar.host, n.host)
		if err := n.Follow(liar.id()); err != nil {
			t.Fatal(err)
		}
		values := []float64{1, 0, 0}
		values[0], values[i] = 0, 1
		if _, err := n.Hear(liar.id(), liar.encode(t, model(5, values...))); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Hear(liar.id(), liar.encode(t, model(6, 0, 0, 1))); err != nil { // to both alike
			t.Fatal(err)
		}
	}
	connect(t, first.host, second.host)
	connect(t, second.host, third.host)
	exchangeWith(t, first, second)
	waitForEvidence(t, toldFirst, liar.id())
	waitForEvidence(t, toldSecond, liar.id())
	exchangeWith(t, third, second)
	for _, n := range []*node{first, second, third} {
		if list := n.Evidence(); len(list) != 1 || list[0].Author != liar.id() || list[0].First.Round != 5 {
			t.Fatalf("evidence %+v", list)
		}
		if !n.offenders.Contains(liar.id()) || len(n.Held()) != 0 {
			t.Errorf("the author is refused: %v; struck: %v", n.offenders.Contains(liar.id()), n.Held())
		}
		if _, err := n.Ask(t.Context(), liar.id(), EdgeRequest{Kind: EdgeExchange}); !errors.Is(err, errConvicted) {
			t.Errorf("asked: %v", err)
		}
		require.Eventually(t, "the author is disconnected", func() bool {
			return n.host.Network().Connectedness(liar.id()) != network.Connected
		})
	}
	exchangeWith(t, first, second)
	exchangeWith(t, first, second)
	if len(toldFirst)+len(toldSecond) != 0 {
		t.Error("the owner is told twice")
	}
}

// A neighbour that broadcasts two models for one round is caught by every peer that gets both.
func TestTwoBroadcastsForOneRoundAreCaught(t *testing.T) {
	liar := newNode(t)
	victim, told := hearing(t)
	befriend(t, victim, liar)
	waitForListeners(t, liar, victim)
	publish(t, liar, 1)
	take(t, victim)
	if err := liar.Publish(t.Context(), liar.encode(t, model(1, 0, 1, 0))); err != nil {
		t.Fatal(err)
	}
	waitForEvidence(t, told, liar.id())
}

// The same model again, an older or a newer one, and another node's are no evidence,
// whatever a peer says it has heard.
func TestHonestAuthorsAreNotConvicted(t *testing.T) {
	author := newNode(t)
	n, told := hearing(t)
	if err := n.Follow(author.id()); err != nil {
		t.Fatal(err)
	}
	for _, round := range []uint64{3, 3, 5, 4, 1 << 40, 5} {
		if _, err := n.Hear(author.id(), author.encode(t, model(round, 1, 0, 0))); err != nil {
			t.Fatal(err)
		}
	}
	forged := witness(t, newNode(t).config.Signer, 5, 0, 1, 0)
	n.compare([]heardOf{{author.id(), forged}, {author.id(), Witness{Round: 5, Hash: forged.Hash}}, {testPeer(t), forged}}, func() bool { return true })
	if len(told) != 0 || n.offenders.Contains(author.id()) {
		t.Error("an honest author is convicted")
	}
}

// Forged evidence strikes who sent it, too much of it too, and convicts nobody.
func TestForgedEvidenceIsMalformed(t *testing.T) {
	n := newNode(t)
	good := twice(t, NewSigner(newKey(t), "net"), 7)
	for name, change := range map[string]func(w *wire.Evidence){
		"another author": func(w *wire.Evidence) { w.Author = []byte(testPeer(t)) },
		"no author":      func(w *wire.Evidence) { w.Author = nil },
		"one model":      func(w *wire.Evidence) { w.Second = w.First },
		"half":           func(w *wire.Evidence) { w.Second = nil },
		"another round":  func(w *wire.Evidence) { w.Second.Round++ },
		"short hash":     func(w *wire.Evidence) { w.First.Hash = w.First.Hash[1:] },
		"unknown fields": func(w *wire.Evidence) { w.ProtoReflect().SetUnknown([]byte{0x78, 1}) },
		"hidden fields":  func(w *wire.Evidence) { w.First.ProtoReflect().SetUnknown([]byte{0x78, 1}) },
	} {
		w := encodeEvidence([]Evidence{good})
		change(w[0])
		if err := n.takeEvidence(w); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := n.takeEvidence(encodeEvidence(slices.Repeat([]Evidence{good}, maxCarried+1))); !errors.Is(err, errMalformed) {
		t.Errorf("too much: %v", err)
	}
	if len(n.Evidence()) != 0 {
		t.Error("forged evidence is kept")
	}
}

// Identities that convict themselves by the hundred neither push out evidence about a peer
// that was heard here, nor keep it from being passed on, nor cost more than some checks.
func TestEvidenceAboutStrangersPushesNothingOut(t *testing.T) {
	n := newNode(t)
	liar := newNode(t)
	if err := n.Follow(liar.id()); err != nil {
		t.Fatal(err)
	}
	if err := n.takeEvidence(encodeEvidence([]Evidence{twice(t, liar.config.Signer, 7)})); err != nil {
		t.Fatal(err)
	}
	for range maxEvidence + 10 {
		n.believe(twice(t, NewSigner(newKey(t), "net"), 1), false)
	}
	if list := n.Evidence(); len(list) != maxEvidence || !n.evidence.has(liar.id()) {
		t.Errorf("%d pieces, the one that matters among them: %v", len(list), n.evidence.has(liar.id()))
	}
	if list := n.evidence.carried(); len(list) != maxCarried || list[0].Author != liar.id() {
		t.Errorf("%d pieces are carried, the first about %s", len(list), list[0].Author)
	}
	now := time.Now()
	n.evidence.since, n.evidence.checked = now, 0
	checked := 0
	for range 10 * strangeChecks {
		if n.evidence.worth(testPeer(t), false, now) {
			checked++
		}
	}
	if checked != strangeChecks || !n.evidence.worth(testPeer(t), true, now) {
		t.Errorf("%d pieces about strangers are checked, want %d", checked, strangeChecks)
	}
}

// Identities that become neighbours for a moment, by the hundred, to convict themselves do not
// push out evidence about one that had stood, either, nor keep it from being passed on, also
// after a restart, and when the neighbour was given up before.
func TestEvidenceAboutNeighboursOfAMomentPushesNothingOut(t *testing.T) {
	n, again := newNode(t), newNode(t)
	liar := newNode(t)
	if err := n.Follow(liar.id()); err != nil {
		t.Fatal(err)
	}
	n.served(liar.id(), Witness{Round: 1, Hash: make([]byte, 32)})
	n.mu.Lock()
	n.followOf(liar.id()).since = time.Now().Add(-time.Hour)
	n.mu.Unlock()
	if err := n.Unfollow(liar.id()); err != nil {
		t.Fatal(err)
	}
	n.believe(twice(t, liar.config.Signer, 7), true)
	for range maxEvidence + 10 {
		n.believe(twice(t, NewSigner(newKey(t), "net"), 1), true)
	}
	if err := again.RememberEvidence(n.Evidence()); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*node{n, again} {
		if list := n.Evidence(); len(list) != maxEvidence || !n.evidence.has(liar.id()) {
			t.Errorf("%d pieces, the one that matters among them: %v", len(list), n.evidence.has(liar.id()))
		}
	}
	if list := n.evidence.carried(); list[0].Author != liar.id() {
		t.Errorf("the first piece that is carried is about %s", list[0].Author)
	}
	again.believe(twice(t, NewSigner(newKey(t), "net"), 1), true)
	if !again.evidence.has(liar.id()) {
		t.Error("after a restart it is pushed out")
	}
	if n.evidence.add(twice(t, NewSigner(newKey(t), "net"), 1), false) {
		t.Error("what finds no room is told of as kept")
	}
}

// Evidence survives a restart.
func TestEvidenceIsGivenBack(t *testing.T) {
	n, again := newNode(t), newNode(t)
	e := twice(t, NewSigner(newKey(t), "net"), 7)
	n.believe(e, false)
	if err := again.RememberEvidence(n.Evidence()); err != nil || !again.offenders.Contains(e.Author) {
		t.Errorf("given back: %v, refused: %v", err, again.offenders.Contains(e.Author))
	}
	if list := again.Evidence(); len(list) != 1 || list[0].Since.IsZero() || !list[0].Since.Equal(n.Evidence()[0].Since) {
		t.Errorf("given back: %+v", list)
	}
	e.Second = e.First
	if again.RememberEvidence([]Evidence{e}) == nil {
		t.Error("damaged evidence is taken in")
	}
}
