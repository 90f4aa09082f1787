package gossip

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/gossip/reputation"
	"p2pnode/internal/require"
)

// witness is that of a model of the given round.
func witness(t testing.TB, s *Signer, round uint64, values ...float64) Witness {
	t.Helper()
	data, err := s.Encode(model(round, values...))
	if err != nil {
		t.Fatal(err)
	}
	w, err := WitnessOf(data)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sameWitness(a, b Witness) bool {
	return a.Round == b.Round && bytes.Equal(a.Hash, b.Hash) && bytes.Equal(a.Proof, b.Proof)
}

// A signer recognises what it signed, and nothing that differs in one bit.
func TestASignerKnowsItsOwn(t *testing.T) {
	s := testSigner(t)
	w := witness(t, s, 7, 1, 0, 0)
	if !s.made(w) {
		t.Fatal("its own witness is refused")
	}
	if again := witness(t, s, 7, 1, 0, 0); !sameWitness(w, again) {
		t.Error("the same model has another witness the second time")
	}
	if other := witness(t, s, 7, 0, 0, 0); bytes.Equal(w.Hash, other.Hash) {
		t.Error("another model has the same hash")
	}
	for bit := range 8 * len(w.Hash) {
		bad := w
		bad.Hash = slices.Clone(w.Hash)
		bad.Hash[bit/8] ^= 1 << (bit % 8)
		if s.made(bad) {
			t.Fatalf("bit %d of the hash may change", bit)
		}
	}
	for bit := range 8 * len(w.Proof) {
		bad := w
		bad.Proof = slices.Clone(w.Proof)
		bad.Proof[bit/8] ^= 1 << (bit % 8)
		if s.made(bad) {
			t.Fatalf("bit %d of the proof may change", bit)
		}
	}
	for _, round := range []uint64{0, 6, 8, 7 << 8, math.MaxUint64} {
		bad := w
		bad.Round = round
		if s.made(bad) {
			t.Errorf("round %d passes for round 7", round)
		}
	}
	for name, other := range map[string]*Signer{
		"network": NewSigner(s.key, "net2"), "shorter network": NewSigner(s.key, "ne"), "identity": NewSigner(newKey(t), "net"),
	} {
		if other.made(w) {
			t.Errorf("the witness passes for another %s", name)
		}
	}
}

func TestForgedWitnessesAreRefused(t *testing.T) {
	s := testSigner(t)
	genuine := witness(t, s, 7, 1, 0, 0)
	for name, change := range map[string]func(*wire.Witness){
		"higher round":  func(w *wire.Witness) { w.Round++ },
		"round 0":       func(w *wire.Witness) { w.Round = 0 },
		"no hash":       func(w *wire.Witness) { w.Hash = nil },
		"short hash":    func(w *wire.Witness) { w.Hash = w.Hash[:31] },
		"long hash":     func(w *wire.Witness) { w.Hash = append(slices.Clone(w.Hash), 0) },
		"no proof":      func(w *wire.Witness) { w.Proof = nil },
		"long proof":    func(w *wire.Witness) { w.Proof = make([]byte, maxProof+1) },
		"zero proof":    func(w *wire.Witness) { w.Proof = make([]byte, 64) },
		"everything":    func(w *wire.Witness) { *w = wire.Witness{} },
		"unknown field": func(w *wire.Witness) { w.ProtoReflect().SetUnknown(protowire.AppendTag(nil, 99, 0)) },
	} {
		w := encodeWitness(&genuine)
		change(w)
		if _, err := s.decodeWitness(w); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := s.decodeWitness(encodeWitness(&genuine)); err != nil || !sameWitness(*got, genuine) {
		t.Errorf("the genuine witness gives %v, %v", got, err)
	}
	if got, err := s.decodeWitness(nil); got != nil || err != nil {
		t.Errorf("no witness gives %v, %v", got, err)
	}
}

// The proof is the last field, so that the bytes that are hashed are the same
// for everybody.
func TestAModelEndsWithItsProof(t *testing.T) {
	data := mustEncode(t, model(3, 1, 0, 0))
	var w wire.Model
	if err := proto.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	body := data[:len(data)-len(appendProof(nil, w.Proof))]
	proofFirst := append(appendProof(nil, w.Proof), body...)
	for name, bad := range map[string][]byte{
		"no bytes": nil, "no proof": body, "proof first": proofFirst,
		"empty proof": appendProof(slices.Clone(body), nil), "long proof": appendProof(slices.Clone(body), make([]byte, maxProof+1)),
	} {
		if _, err := WitnessOf(bad); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := decode(bad, "author", testRules); !errors.Is(err, errMalformed) {
			t.Errorf("%s is decoded: %v", name, err)
		}
	}
	_, decoded, err := decode(data, "author", testRules)
	if of, errOf := WitnessOf(data); err != nil || errOf != nil || !sameWitness(of, decoded) || of.Round != 3 {
		t.Errorf("witness %+v by way of decode, %+v without (%v, %v)", decoded, of, err, errOf)
	}
}

// Over real hosts: a node that has heard a model returns its witness, asked or
// asking, and a node that has not returns none.
func TestWitnessesComeBack(t *testing.T) {
	heldOf := make(chan *Witness, 1)
	c := testConfig()
	c.OnEdge = func(_ context.Context, _ peer.ID, r EdgeRequest) EdgeReply {
		heldOf <- r.Witness
		return EdgeReply{}
	}
	a, b := startNode(t, newKey(t), c), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	exchange := func() (asking, asked *Witness) {
		t.Helper()
		reply, err := a.Ask(t.Context(), b.id(), EdgeRequest{Kind: EdgeExchange})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Ask(t.Context(), a.id(), EdgeRequest{Kind: EdgeExchange}); err != nil {
			t.Fatal(err)
		}
		return reply.Witness, <-heldOf
	}
	if asking, asked := exchange(); asking != nil || asked != nil {
		t.Errorf("witnesses %v and %v of a node that said nothing", asking, asked)
	}
	publish(t, a, 5)
	take(t, b)
	want := witness(t, a.config.Signer, 5, 1, 0, 0)
	asking, asked := exchange()
	if asking == nil || asked == nil || !sameWitness(*asking, want) || !sameWitness(*asked, want) {
		t.Errorf("witnesses %v and %v, want those of round 5", asking, asked)
	}
	// What is served over a stream counts too, and an older round changes nothing.
	for _, round := range []uint64{9, 8} {
		data, err := a.config.Signer.Encode(model(round, 0, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Hear(a.id(), data); err != nil {
			t.Fatal(err)
		}
	}
	if asking, _ := exchange(); asking == nil || asking.Round != 9 {
		t.Errorf("witness %v, want round 9", asking)
	}
}

// A peer that shows a forged witness, asking or asked, gets nowhere and is
// refused in the end.
func TestLiarsGetNowhere(t *testing.T) {
	asked := false
	c := testConfig()
	c.OnEdge = func(context.Context, peer.ID, EdgeRequest) EdgeReply { asked = true; return EdgeReply{} }
	victim, liar := startNode(t, newKey(t), c), newNode(t)
	connect(t, victim.host, liar.host)
	forged := witness(t, liar.config.Signer, 1000, 0, 0, 0)
	if err := liar.Remember(map[string]Witness{victim.id().String(): forged}); err != nil {
		t.Fatal(err)
	}
	for i := range reputation.Limit {
		var err error
		if i%2 == 0 {
			_, err = victim.Ask(t.Context(), liar.id(), EdgeRequest{Kind: EdgeExchange})
		} else {
			_, err = liar.Ask(t.Context(), victim.id(), EdgeRequest{Kind: EdgeExchange})
		}
		if err == nil {
			t.Fatalf("exchange %d succeeds", i)
		}
	}
	require.Nothing(t, func() string {
		if !victim.offenders.Contains(liar.id()) {
			return "the liar is not refused"
		}
		return ""
	})
	if asked {
		t.Error("the request reached the node")
	}
}

func FuzzDecodeWitness(f *testing.F) {
	s := testSigner(f)
	w := witness(f, s, 7, 1, 0, 0)
	data, err := proto.Marshal(encodeWitness(&w))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var in wire.Witness
		if proto.Unmarshal(data, &in) != nil {
			return
		}
		out, err := s.decodeWitness(&in)
		if err == nil && !sameWitness(*out, w) {
			t.Fatalf("%+v is accepted, and only round 7 was signed", out)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	s := testSigner(b)
	m := model(1, make([]float64, 100)...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Encode(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckWitness(b *testing.B) {
	s := testSigner(b)
	w := witness(b, s, 7, 1, 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		if !s.made(w) {
			b.Fatal("not its own")
		}
	}
}
