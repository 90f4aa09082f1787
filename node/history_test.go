package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

// testModel is an encoded model of the node, as a release of the given round
// would make it.
func testModel(t *testing.T, n *Node, round uint64, value float64) []byte {
	t.Helper()
	m := learner.Message{Kind: learner.KindModel, Round: round, Real: []float64{value, 0, 0}}
	data, err := gossip.NewSigner(n.files.Key, n.network).Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func testWitness(t *testing.T, n *Node, round uint64, value float64) *gossip.Witness {
	t.Helper()
	w, err := gossip.WitnessOf(testModel(t, n, round, value))
	if err != nil {
		t.Fatal(err)
	}
	return &w
}

// pay releases a round and draws its noise; the model is lost.
func pay(t *testing.T, n *Node, round uint64) {
	t.Helper()
	if a, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), round, 1)); err != nil || a.Exhausted() {
		t.Fatalf("round %d: %v, %v", round, a, err)
	}
}

func payAndCommit(t *testing.T, n *Node, round uint64, value float64) {
	t.Helper()
	pay(t, n, round)
	if err := n.ledger.Commit(round, testModel(t, n, round, value), nil); err != nil {
		t.Fatal(err)
	}
}

func retire(t *testing.T, n *Node, round uint64) {
	t.Helper()
	if err := n.ledger.Retire(round); err != nil {
		t.Fatal(err)
	}
}

// What peers may hold at each point of a node's life.
func TestWhatPeersMayHold(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	type verdict struct {
		round uint64
		value float64
		ok    bool
	}
	for _, step := range []struct {
		name     string
		do       func()
		verdicts []verdict
	}{
		{"before the first release", func() {}, []verdict{{1, 0, false}}},
		{"round 3 committed", func() { payAndCommit(t, n, 3, 1) },
			[]verdict{{2, 0, true}, {3, 1, true}, {3, 2, false}, {4, 1, false}, {1 << 60, 1, false}}},
		{"round 4 burned", func() { pay(t, n, 4) },
			[]verdict{{3, 1, true}, {4, 1, false}, {5, 1, false}}},
		{"round 5 committed", func() { payAndCommit(t, n, 5, 1) },
			[]verdict{{4, 1, true}, {5, 1, true}, {5, 0, false}, {6, 1, false}}},
		{"restored deliberately", func() { retire(t, n, 1<<40) },
			[]verdict{{5, 0, true}, {9, 1, true}, {1<<40 - 1, 1, true}, {1<<40 + 1, 1, false}}},
	} {
		step.do()
		for _, v := range step.verdicts {
			err := newHistory(n.ledger).compare(testWitness(t, n, v.round, v.value))
			if (err == nil) != v.ok || (err != nil && !errors.Is(err, ErrRolledBack)) {
				t.Errorf("%s: a peer holds round %d: %v, want ok: %v", step.name, v.round, err, v.ok)
			}
		}
		if err := newHistory(n.ledger).check(nil); err != nil {
			t.Errorf("%s: a peer holds nothing: %v", step.name, err)
		}
	}
}

// The first contradiction stays, no matter what peers say afterwards.
func TestAContradictionStays(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	h := newHistory(n.ledger)
	if err := h.check(nil); err != nil || h.contradiction() != nil {
		t.Fatal(err)
	}
	first := h.check(testWitness(t, n, 8, 0))
	if first == nil || h.contradiction() != first {
		t.Fatalf("found %v, kept %v", first, h.contradiction())
	}
	select {
	case <-h.broken:
	default:
		t.Error("nobody is told")
	}
	for _, w := range []*gossip.Witness{nil, testWitness(t, n, 9, 0)} {
		if err := h.check(w); err != first {
			t.Errorf("later: %v", err)
		}
	}
}

// A contradiction outlives the process: the next run of the directory, far
// from the peers that know better, is refused at once, and told by everything the
// owner can ask. A deliberate restore ends that.
func TestAContradictionIsWrittenDown(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	pay(t, n, 1)
	if err := newHistory(n.ledger).check(testWitness(t, n, 20, 1)); !errors.Is(err, ErrRolledBack) {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, n.dir)
	if err := n.Run(t.Context()); !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "holds round 20, and this directory ends at round 1") {
		t.Errorf("Run: %v", err)
	}
	if b, s := budget(t, n), status(t, n); b.Contradicted != 20 || s.Contradicted != 20 {
		t.Errorf("budget %+v, status %+v; want the round that a peer holds", b, s)
	}
	if _, err := n.Verify(t.Context()); !errors.Is(err, storage.ErrRolledBack) || !strings.Contains(err.Error(), "old copy: it holds round 20") {
		t.Errorf("Verify: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Restore(n.dir, "", nil); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, n.dir)
	if s := status(t, n); s.Contradicted != 0 || knownContradiction(n.ledger) != nil {
		t.Errorf("restored: %+v", s)
	}
}

// A restart forgets no witness of a neighbour, however many others are stored. If it took them
// in any order, it would forget 60 of these 188, and none of the 30 neighbours' with a probability
// below 1e-4.
func TestWitnessesOfNeighboursOutliveARestart(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	m := memory{State: learner.State{Model: make([]float64, 3)}, Network: n.network, Witnesses: make(map[string]gossip.Witness)}
	var neighbours []string
	for i := range 188 {
		id := randomPeer(t).String()
		m.Witnesses[id] = gossip.Witness{Round: 1, Hash: make([]byte, 32)}
		if i%5 == 0 && len(neighbours) < 30 {
			neighbours = append(neighbours, id)
			require.NoError(t, n.store.SaveEdges(nil, storage.Edge{Peer: id, Weight: 1, Known: true}))
		}
	}
	text, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, n.ledger.SaveState(text))
	left := attachedSession(t, n).gossip.Witnesses()
	for _, id := range neighbours {
		if left[id].Round != 1 {
			t.Errorf("the witness of %s is forgotten", id)
		}
	}
	if len(left) >= 188 {
		t.Errorf("%d witnesses are remembered", len(left))
	}
}

// A restart does not forget of which authors this node has heard: evidence about strangers, however
// much there is, does not push out what it has against one of them.
func TestEvidenceAboutTheHeardOutlivesARestart(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	m := memory{State: learner.State{Model: make([]float64, 3)}, Network: n.network}
	for range 200 {
		key, _, err := crypto.GenerateEd25519Key(rand.Reader)
		require.NoError(t, err)
		author, err := peer.IDFromPrivateKey(key)
		require.NoError(t, err)
		signer := gossip.NewSigner(key, n.network)
		var said [2]gossip.Witness
		for i := range said {
			model, err := signer.Encode(learner.Message{Kind: learner.KindModel, Round: 1, Real: []float64{float64(i), 0, 0}})
			require.NoError(t, err)
			said[i], err = gossip.WitnessOf(model)
			require.NoError(t, err)
		}
		e, err := gossip.NewEvidence(n.network, author, said[0], said[1])
		require.NoError(t, err)
		if m.Evidence = append(m.Evidence, e); m.Witnesses == nil {
			m.Witnesses = map[string]gossip.Witness{author.String(): said[0]}
		}
	}
	text, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, n.ledger.SaveState(text))
	left := attachedSession(t, n).gossip.Evidence()
	if heard := m.Evidence[0].Author; len(left) == 200 || left[0].Author != heard {
		t.Errorf("of %d pieces the first is about %s, want %s", len(left), left[0].Author, heard)
	}
}

// After a contradiction the loop sends nothing: no release, no message that waits for its
// slot, nothing to peers that ask.
func TestNothingLeavesAfterAContradiction(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	pay(t, n, 1)
	m := learner.Message{Kind: learner.KindModel, Round: 1, Real: make([]float64, 3)}
	if err := s.loop.dispatch([]learner.Message{m}, release{1, publicSlot{s.loop.woke, slot}}); err != nil {
		t.Fatal(err)
	}
	s.hood.serve(testModel(t, n, 1, 0), nil)
	running, end := context.WithCancel(t.Context())
	go func() { <-s.hood.history.broken; end() }()
	for _, w := range []*gossip.Witness{testWitness(t, n, 2, 0), nil} {
		ask := gossip.EdgeRequest{Kind: gossip.EdgeAsk, Witness: w}
		if reply := s.hood.answer(running, randomPeer(t), ask); reply.Answer == gossip.EdgeAccepted || reply.Latest != nil {
			t.Errorf("a peer that shows %v is answered %+v", w, reply)
		}
	}
	if s.hood.served() != nil {
		t.Error("the model would be sent along with a request")
	}
	if err := s.loop.handle(learner.Output{Ask: query(mechanism(n), 2, 1)}); !errors.Is(err, ErrRolledBack) {
		t.Errorf("a release ends with %v", err)
	}
	if err := s.loop.run(t.Context()); !errors.Is(err, ErrRolledBack) {
		t.Errorf("the run ends with %v", err)
	}
	if c := s.gossip.Stats(); c.Published != 0 || n.ledger.Round() != 1 {
		t.Errorf("%d published, round %d is paid, want none and 1", c.Published, n.ledger.Round())
	}
}

// The stored state holds the witnesses beside the agent's state. A state that was stored
// without them can be read too, and so can that of a node without witnesses.
func TestWitnessesAreStored(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	author := testNode(t, lineTask(), nil, nil)
	if _, err := s.gossip.Hear(author.self, testModel(t, author, 7, 1)); err != nil {
		t.Fatal(err)
	}
	want := testWitness(t, author, 7, 1)
	stored := func() bool {
		t.Helper()
		m, err := n.stored()
		if err != nil {
			t.Fatal(err)
		}
		w := m.Witnesses[author.self.String()]
		return w.Round == 7 && bytes.Equal(w.Hash, want.Hash) && bytes.Equal(w.Proof, want.Proof)
	}
	if stored() {
		t.Fatal("stored before anything was")
	}
	pay(t, n, 1)
	m := learner.Message{Kind: learner.KindModel, Round: 1, Real: make([]float64, 3)}
	if err := s.loop.dispatch([]learner.Message{m}, release{1, publicSlot{s.loop.woke, slot}}); err != nil {
		t.Fatal(err)
	}
	if !stored() {
		t.Error("a release does not store the witness")
	}
	old := []byte(`{"Round":1,"Model":[1,2,3],"NoiseStd":0,"Heard":null}`)
	if err := n.ledger.SaveState(old); err != nil {
		t.Fatal(err)
	}
	if state, err := n.stored(); err != nil || state.Model[2] != 3 || stored() {
		t.Errorf("a state without witnesses is read as %+v, %v", state, err)
	}
	if err := s.loop.saveState(); err != nil {
		t.Fatal(err)
	}
	if state, err := n.stored(); err != nil || len(state.Model) != 3 || !stored() {
		t.Errorf("the state at the end of a run: %+v, %v; the witness is stored: %v", state, err, stored())
	}
	n.network = "of a later version"
	if stored() {
		t.Error("witnesses signed in another network are taken back, which the peers take for forged")
	}
	n.network = s.loop.network
	// A node that releases nothing stores now and then what it hears.
	s.loop.timer = time.NewTimer(time.Hour)
	defer s.loop.timer.Stop()
	for _, age := range []time.Duration{saveEvery / 2, 2 * saveEvery} {
		if err := n.ledger.SaveState(old); err != nil {
			t.Fatal(err)
		}
		s.loop.saved = time.Now().Add(-age)
		if err := s.loop.receive(); err != nil {
			t.Fatal(err)
		}
		if stored() != (age > saveEvery) {
			t.Errorf("what was heard is stored %v after the last time: %v", age, stored())
		}
	}
}
