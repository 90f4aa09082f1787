package gossip

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

func testPeer(t testing.TB) peer.ID {
	t.Helper()
	id, err := peer.IDFromPrivateKey(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Of an author the newest witness is kept, and of one round the first.
func TestTheNewestWitnessIsKept(t *testing.T) {
	g, p := newNode(t), testPeer(t)
	s := testSigner(t)
	if g.witness(p) != nil {
		t.Error("a witness of an author never heard")
	}
	for _, step := range []struct {
		shown Witness
		want  Witness
	}{
		{witness(t, s, 5, 1, 0, 0), witness(t, s, 5, 1, 0, 0)},
		{witness(t, s, 4, 1, 0, 0), witness(t, s, 5, 1, 0, 0)},
		{witness(t, s, 5, 0, 0, 0), witness(t, s, 5, 1, 0, 0)},
		{witness(t, s, 6, 0, 0, 0), witness(t, s, 6, 0, 0, 0)},
	} {
		g.served(p, step.shown)
		if got := g.witness(p); got == nil || !sameWitness(*got, step.want) {
			t.Errorf("after round %d: %+v, want round %d", step.shown.Round, got, step.want.Round)
		}
	}
}

// What is remembered survives JSON, as it is stored, into another node.
func TestWitnessesAreGivenBack(t *testing.T) {
	g, again, p := newNode(t), newNode(t), testPeer(t)
	w := witness(t, testSigner(t), 5, 1, 0, 0)
	g.served(p, w)
	text, err := json.Marshal(g.Witnesses())
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string]Witness
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	if err := again.Remember(stored); err != nil {
		t.Fatal(err)
	}
	if got := again.witness(p); got == nil || !sameWitness(*got, w) {
		t.Errorf("%+v came back as %+v", w, got)
	}
	if !again.arrived(p, w) {
		t.Error("a model is lost because its witness was stored")
	}
	if err := again.Remember(map[string]Witness{"nobody": w}); err == nil {
		t.Error("a witness of nobody is taken in")
	}
}

// However many authors come and go, only so many are remembered: those that are
// followed, and of the others the last heard.
func TestMemoryOfAuthorsIsBounded(t *testing.T) {
	g := newNode(t)
	friend := testPeer(t)
	if err := g.Follow(friend); err != nil {
		t.Fatal(err)
	}
	g.arrived(friend, Witness{Round: 1})
	strangers := make([]peer.ID, maxUnfollowed+10)
	for i := range strangers {
		strangers[i] = peer.ID(fmt.Sprintf("a stranger, number %08d", i))
		g.arrived(strangers[i], Witness{Round: 1})
	}
	if len(g.Witnesses()) != maxUnfollowed+1 {
		t.Errorf("%d authors are remembered, want %d", len(g.Witnesses()), maxUnfollowed+1)
	}
	if g.witness(friend) == nil {
		t.Error("a friend is forgotten for strangers")
	}
	for i, p := range strangers {
		if known := g.witness(p) != nil; known != (i >= 10) {
			t.Errorf("stranger %d of %d: remembered %v", i, len(strangers), known)
		}
	}
}

// An author that was restored deliberately goes on at rounds far ahead.
func TestRoundsMayJump(t *testing.T) {
	restored := uint64(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()) << 20
	var r rounds
	for _, step := range []struct {
		round uint64
		first bool
	}{{3, true}, {restored, true}, {restored, false}, {4, false}, {restored - 1, true}, {restored + 1, true}} {
		if first := r.note(step.round); first != step.first {
			t.Errorf("round %d: first %v", step.round, first)
		}
	}
}

// TestRoundsAreCountedOnce compares the bits with a plain set.
func TestRoundsAreCountedOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var r rounds
		seen, newest := make(map[uint64]bool), uint64(0)
		spread := 1 + random.Uint64N(100)
		for range 300 {
			round := 1 + newest - min(newest, random.Uint64N(spread)) + random.Uint64N(3)*random.Uint64N(spread)
			wantFirst := !seen[round] && round+window > newest
			if first := r.note(round); first != wantFirst {
				t.Fatalf("round %d after %d: first %v, want %v", round, newest, first, wantFirst)
			}
			seen[round], newest = true, max(newest, round)
		}
	}
}
