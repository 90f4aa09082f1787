package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
)

// edgeNode decodes edge messages of vectors with two coordinates; it has no host.
func edgeNode(t testing.TB) *Gossip {
	t.Helper()
	return &Gossip{config: Config{Network: "net", Signer: testSigner(t), Vector: 2}, share: newShare(), offenders: newOffenders(nil, nil)}
}

// entryOf is the genuine entry of a new node.
func entryOf(t testing.TB, round uint64, vector ...float64) Entry {
	t.Helper()
	return entryBy(t, newKey(t), round, vector...)
}

// entryBy is the genuine entry of the node that has a key.
func entryBy(t testing.TB, key crypto.PrivKey, round uint64, vector ...float64) Entry {
	t.Helper()
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	e := Entry{Peer: id, Round: round, Std: float64(round) / 8, Vector: vector}
	if e.Passport, err = NewSigner(key, "net").Passport(e, []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/192.0.2.1/tcp/9")}); err != nil {
		t.Fatal(err)
	}
	return e
}

func sameEntry(a, b Entry) bool {
	return a.Peer == b.Peer && a.Age == b.Age && a.Round == b.Round && a.Std == b.Std &&
		slices.Equal(a.Vector, b.Vector) && bytes.Equal(a.Passport, b.Passport)
}

func encodedEdge(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEdgeMessagesSurviveTheWire(t *testing.T) {
	g, w := edgeNode(t), witness(t, testSigner(t), 3, 1)
	own, other, unknown := entryOf(t, 5, 1, -2), entryOf(t, 0, 3, 4), entryOf(t, 0)
	other.Age = 7
	known := []Entry{other, unknown}
	request := EdgeRequest{Kind: EdgeExchange, Own: own, Known: known, Turn: 9, Latest: []byte("l"), Witness: &w}
	got, err := g.decodeRequest(encodedEdge(t, encodeRequest(request)), own.Peer)
	if err != nil || got.Kind != request.Kind || !sameEntry(got.Own, own) || !slices.EqualFunc(got.Known, known, sameEntry) ||
		got.Turn != 9 || !bytes.Equal(got.Latest, request.Latest) || !sameWitness(*got.Witness, w) {
		t.Errorf("%+v became %+v (%v)", request, got, err)
	}
	reply := EdgeReply{Answer: EdgeLater, Reason: "because", Own: own, Known: known, Turn: 9, Latest: []byte("m"), Witness: &w}
	back, err := g.decodeReply(encodedEdge(t, encodeReply(reply)), own.Peer)
	if err != nil || back.Answer != reply.Answer || back.Reason != reply.Reason || !sameEntry(back.Own, own) ||
		!slices.EqualFunc(back.Known, known, sameEntry) || back.Turn != 9 || !bytes.Equal(back.Latest, reply.Latest) || !sameWitness(*back.Witness, w) {
		t.Errorf("%+v became %+v (%v)", reply, back, err)
	}
	if addrs := Addrs(got.Known[0].Passport); len(addrs) != 1 || addrs[0].String() != "/ip4/192.0.2.1/tcp/9" {
		t.Errorf("the addresses are %v", addrs)
	}
}

// Of many or long addresses the first that fit are named.
func TestPassportsAreBounded(t *testing.T) {
	addrs := []multiaddr.Multiaddr{multiaddr.StringCast("/dns/" + strings.Repeat("x", maxAddrSize) + "/tcp/1")}
	for port := range 2 * maxAddrs {
		addrs = append(addrs, multiaddr.StringCast(fmt.Sprintf("/ip4/192.0.2.1/tcp/%d", port+1)))
	}
	if got := Addrs(NewPassport(addrs)); !slices.EqualFunc(got, addrs[1:maxAddrs+1], multiaddr.Multiaddr.Equal) {
		t.Errorf("the addresses are %v", got)
	}
	if got := Addrs([]byte("\xff")); got != nil {
		t.Errorf("a damaged passport has addresses %v", got)
	}
}

func TestMalformedEdgeMessagesAreRefused(t *testing.T) {
	g, own := edgeNode(t), entryOf(t, 5, 1, 2)
	forge := func(change func(*Entry)) func(*wire.EdgeRequest) {
		return func(w *wire.EdgeRequest) {
			e := entryOf(t, 5, 1, 2)
			change(&e)
			w.Known = encodeEntries([]Entry{e})
		}
	}
	inPassport := func(change func(*wire.Passport)) func(*wire.EdgeRequest) {
		return forge(func(e *Entry) {
			var p wire.Passport
			if err := proto.Unmarshal(e.Passport, &p); err != nil {
				t.Fatal(err)
			}
			change(&p)
			e.Passport = encodedEdge(t, &p)
		})
	}
	for name, change := range map[string]func(*wire.EdgeRequest){
		"version":         func(w *wire.EdgeRequest) { w.Version = Version + 1 },
		"kind 0":          func(w *wire.EdgeRequest) { w.Kind = 0 },
		"kind 4":          func(w *wire.EdgeRequest) { w.Kind = 4 },
		"kind 257":        func(w *wire.EdgeRequest) { w.Kind = 257 },
		"no own entry":    func(w *wire.EdgeRequest) { w.Own = nil },
		"named own entry": func(w *wire.EdgeRequest) { w.Own.Peer = []byte(own.Peer) },
		"old own entry":   func(w *wire.EdgeRequest) { w.Own.Age = 1 },
		"another's entry": func(w *wire.EdgeRequest) {
			w.Own = encodeEntry(&Entry{Round: own.Round, Std: own.Std, Vector: own.Vector})
		},
		"endless turn": func(w *wire.EdgeRequest) { w.Turn = maxTurn + 1 },
		"long latest":  func(w *wire.EdgeRequest) { w.Latest = make([]byte, largest(testRules)+1) },
		"forged witness": func(w *wire.EdgeRequest) {
			w.Witness = &wire.Witness{Round: 1, Hash: make([]byte, 32), Proof: make([]byte, 64)}
		},
		"empty witness":  func(w *wire.EdgeRequest) { w.Witness = &wire.Witness{} },
		"many entries":   func(w *wire.EdgeRequest) { w.Known = make([]*wire.Entry, MaxKnown+1) },
		"no peer":        forge(func(e *Entry) { e.Peer = "" }),
		"garbled peer":   forge(func(e *Entry) { e.Peer = "nobody" }),
		"other peer":     forge(func(e *Entry) { e.Peer = own.Peer }),
		"other round":    forge(func(e *Entry) { e.Round++ }),
		"other std":      forge(func(e *Entry) { e.Std /= 2 }),
		"other vector":   forge(func(e *Entry) { e.Vector = []float64{1, 2.5} }),
		"shorter vector": forge(func(e *Entry) { e.Vector = []float64{1} }),
		"no vector":      forge(func(e *Entry) { e.Vector = nil }),
		"NaN vector":     forge(func(e *Entry) { e.Vector = []float64{1, math.NaN()} }),
		"negative std":   forge(func(e *Entry) { e.Std = -1 }),
		"infinite std":   forge(func(e *Entry) { e.Std = math.Inf(1) }),
		"no passport":    forge(func(e *Entry) { e.Passport = nil }),
		"other network": forge(func(e *Entry) {
			key := newKey(t)
			e.Peer, _ = peer.IDFromPrivateKey(key)
			e.Passport, _ = NewSigner(key, "other").Passport(*e, nil)
		}),
		"many addresses": inPassport(func(p *wire.Passport) { p.Addr = slices.Repeat(p.Addr, maxAddrs+1) }),
		"other address": inPassport(func(p *wire.Passport) {
			p.Addr = [][]byte{multiaddr.StringCast("/ip4/192.0.2.66/tcp/9").Bytes()} // somebody else's
		}),
		"one address more": inPassport(func(p *wire.Passport) { p.Addr = append(p.Addr, p.Addr[0]) }),
		"no address":       inPassport(func(p *wire.Passport) { p.Addr = nil }),
		"bad address":      inPassport(func(p *wire.Passport) { p.Addr[0] = []byte{1, 2, 3} }),
		"long proof":       inPassport(func(p *wire.Passport) { p.Proof = make([]byte, maxProof+1) }),
	} {
		w := encodeRequest(EdgeRequest{Kind: EdgeAsk, Own: own})
		change(w)
		for i, e := range w.Known {
			if e == nil {
				w.Known[i] = &wire.Entry{}
			}
		}
		if _, err := g.decodeRequest(encodedEdge(t, w), own.Peer); !errors.Is(err, errMalformed) {
			t.Errorf("request with a bad %s: %v", name, err)
		}
	}
	long := encodeReply(EdgeReply{Own: own, Reason: strings.Repeat("x", 1000)})
	if len(long.Reason) != maxReason {
		t.Errorf("a reason of 1000 bytes is sent as %d", len(long.Reason))
	}
	long.Reason += "x"
	if _, err := g.decodeReply(encodedEdge(t, long), own.Peer); !errors.Is(err, errMalformed) {
		t.Errorf("reply with a long reason: %v", err)
	}
	if _, err := g.decodeReply(encodedEdge(t, encodeReply(EdgeReply{Own: own, Answer: 3})), own.Peer); !errors.Is(err, errMalformed) {
		t.Errorf("reply with an unknown answer: %v", err)
	}
}

// A message as large as any honest one passes the reader's limit.
func TestLargestEdgeMessageFits(t *testing.T) {
	g := edgeNode(t)
	var addrs []multiaddr.Multiaddr
	for i := range maxAddrs {
		addrs = append(addrs, multiaddr.StringCast(fmt.Sprintf("/dns/%s%d/tcp/1", strings.Repeat("x", maxAddrSize-10), i)))
	}
	e := entryOf(t, math.MaxUint64, 1, 2)
	e.Age, e.Passport = math.MaxUint32, passport(&wire.Passport{Addr: fitting(addrs), Proof: make([]byte, maxProof)})
	w := witness(t, testSigner(t), math.MaxUint64, 1)
	r := EdgeReply{Answer: EdgeLater, Reason: strings.Repeat("x", maxReason), Own: e, Known: slices.Repeat([]Entry{e}, MaxKnown),
		Turn: maxTurn, Latest: make([]byte, largest(testRules)), Witness: &w, Holds: math.MaxUint64}
	w.Proof = make([]byte, maxProof)
	author := peer.ID(make([]byte, maxAuthor))
	r.heard = slices.Repeat([]heardOf{{author, w}}, maxHeard)
	r.evidence = slices.Repeat([]Evidence{{Author: author, First: w, Second: w}}, maxCarried)
	if size := len(encodedEdge(t, encodeReply(r))); size > g.maxEdgeSize() {
		t.Errorf("%d bytes, the limit is %d", size, g.maxEdgeSize())
	}
}

// fixedKey is a key that each process of a fuzz target has, so that its seeds are genuine in all.
func fixedKey(t testing.TB, number byte) crypto.PrivKey {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(bytes.NewReader(bytes.Repeat([]byte{number}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func FuzzDecodeEdge(f *testing.F) {
	g, w := edgeNode(f), witness(f, testSigner(f), 7, 1, 0, 0)
	own, other := entryBy(f, fixedKey(f, 1), 5, 1, 2), entryBy(f, fixedKey(f, 2), 0, 3, 4)
	known := []Entry{other, {Peer: own.Peer}}
	f.Add(encodedEdge(f, encodeRequest(EdgeRequest{Kind: EdgeAsk, Own: own, Known: known, Turn: 1, Latest: []byte("x"), Witness: &w})))
	f.Add(encodedEdge(f, encodeReply(EdgeReply{Answer: EdgeLater, Reason: "x", Own: own, Known: known, Latest: []byte("x"), Witness: &w})))
	liar := twice(f, NewSigner(fixedKey(f, 3), "net"), 7)
	f.Add(encodedEdge(f, encodeRequest(EdgeRequest{Kind: EdgeExchange, Own: own, heard: []heardOf{{own.Peer, w}}, evidence: []Evidence{liar}})))
	f.Add(encodedEdge(f, encodeReply(EdgeReply{Own: own, heard: []heardOf{{own.Peer, w}}, evidence: []Evidence{liar}})))
	genuine := func(got *Witness) bool { return got == nil || sameWitness(*got, w) }
	// Nobody but these two has signed anything.
	sound := func(e Entry) bool {
		said := e.Vector == nil && e.Round == 0 && e.Std == 0
		for _, honest := range []Entry{own, other} {
			said = said || e.Peer == honest.Peer && e.Round == honest.Round && e.Std == honest.Std && slices.Equal(e.Vector, honest.Vector)
		}
		return said && len(Addrs(e.Passport)) <= maxAddrs
	}
	all := func(own Entry, known []Entry) bool {
		return sound(own) && len(known) <= MaxKnown && !slices.ContainsFunc(known, func(e Entry) bool { return !sound(e) })
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := g.decodeRequest(data, own.Peer); err == nil &&
			(r.Kind < EdgeExchange || r.Kind > EdgeDrop || r.Turn > maxTurn || !genuine(r.Witness) || !all(r.Own, r.Known)) {
			t.Fatalf("accepted %+v", r)
		}
		if r, err := g.decodeReply(data, own.Peer); err == nil &&
			(r.Answer > EdgeLater || len(r.Reason) > maxReason || !genuine(r.Witness) || !all(r.Own, r.Known)) {
			t.Fatalf("accepted %+v", r)
		}
		for _, e := range g.Evidence() {
			if e.Author != liar.Author {
				t.Fatalf("%s, who signed nothing twice, is convicted", e.Author)
			}
		}
	})
}
