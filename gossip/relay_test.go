package gossip

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/encoding/protowire"

	"p2pnode/gossip/internal/wire"
	"p2pnode/internal/require"
)

// passedOn is the largest answer in which an honest node names what it has read of a request:
// the own entry of who asked, or one of those it told of.
func passedOn(read []Entry) EdgeReply {
	reason := string(bytes.Repeat([]byte("r"), maxReason))
	r := EdgeReply{Answer: EdgeDeclined, Reason: reason, Turn: maxTurn}
	for k := range MaxKnown {
		e := read[k%len(read)]
		e.Age += uint32(k)
		r.Known = append(r.Known, e)
	}
	return r
}

// relays checks two hops: what one node takes in a request, it can name to another one in an
// answer of any size, and that one takes it.
func relays(t *testing.T, first, second *Gossip, honest Entry, data []byte, from peer.ID) (passed bool) {
	t.Helper()
	r, err := first.decodeRequest(data, from)
	if err != nil {
		return false
	}
	r.Own.Peer = from
	reply := passedOn(append(r.Known, r.Own))
	reply.Own = honest
	out := encodedEdge(t, encodeReply(reply))
	if most := second.maxEdgeSize() - largest(first.config.Rules) - maxEvidenceSize; len(out) > most {
		t.Fatalf("%d bytes are passed on, at most %d are read", len(out), most)
	}
	if _, err := second.decodeReply(out, honest.Peer); err != nil {
		t.Fatalf("the first takes it, the second blames the first: %v", err)
	}
	return true
}

func FuzzRelayedEntries(f *testing.F) {
	first, second := edgeNode(f), edgeNode(f)
	own, other, honest := entryOf(f, 5, 1, -2), entryOf(f, 0, 3, 4), entryOf(f, 1, 1, 1)
	f.Add(encodedEdge(f, encodeRequest(EdgeRequest{Kind: EdgeExchange, Own: own, Known: []Entry{other, entryOf(f, 0)}})))
	f.Add(encodedEdge(f, encodeRequest(EdgeRequest{Kind: EdgeAsk, Own: bloated(own, rand.New(rand.NewPCG(1, 1)))})))
	f.Fuzz(func(t *testing.T, data []byte) { relays(t, first, second, honest, data, own.Peer) })
}

// bloated writes an entry's passport in more bytes than it needs: fields that are repeated,
// of which the last counts, and numbers of more bytes than they have.
func bloated(e Entry, r *rand.Rand) Entry {
	const proof protowire.Number = 2
	var out []byte
	for range r.IntN(300) {
		out = protowire.AppendTag(out, proof, protowire.BytesType)
		out = protowire.AppendBytes(out, make([]byte, r.IntN(100)))
	}
	var w wire.Passport
	if err := unmarshal(e.Passport, &w); err != nil {
		panic(err) // it is one that this package made
	}
	for _, a := range w.Addr {
		out = append(out, 1<<3|2, byte(len(a)%128)|0x80, 0x80, 0x80, 0) // a length in four bytes
		out = append(out, a...)
	}
	out = protowire.AppendTag(out, proof, protowire.BytesType)
	e.Passport = protowire.AppendBytes(out, w.Proof)
	return e
}

// An attacker writes what it says in any form: an honest node that passes it on is never
// blamed for that.
func TestWhatIsPassedOnIsNotBlamed(t *testing.T) {
	first, second := edgeNode(t), edgeNode(t)
	own, other, honest := entryOf(t, 5, 1, -2), entryOf(t, 0, 3, 4), entryOf(t, 1, 1, 1)
	long := entryOf(t, 0)
	long.Peer = peer.ID(append([]byte{0, 100}, make([]byte, 100)...)) // a name that holds what it stands for
	r := rand.New(rand.NewPCG(18, 6))
	passed := 0
	for range 500 {
		known := []Entry{other, bloated(other, r), entryOf(t, 0)}
		if r.IntN(8) == 0 {
			known = append(known, long)
		}
		data := encodedEdge(t, encodeRequest(EdgeRequest{Kind: EdgeExchange, Own: bloated(own, r), Known: known}))
		for range r.IntN(3) {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		if relays(t, first, second, honest, data, own.Peer) {
			passed++
		}
	}
	if passed < 100 {
		t.Errorf("the test shows nothing: %d of 500 were passed on", passed)
	}
	largest := entryOf(t, 0)
	var addrs []multiaddr.Multiaddr
	for k := range maxAddrs {
		addrs = append(addrs, multiaddr.StringCast(fmt.Sprintf("/dns/%0*d/tcp/1", maxAddrSize-8, k)))
	}
	largest.Passport = NewPassport(addrs)
	if !relays(t, first, second, honest, encodedEdge(t, encodeRequest(EdgeRequest{Kind: EdgeExchange, Own: largest})), largest.Peer) {
		t.Error("the largest entry is not taken")
	}
}

// An attacker tells one node what it likes, and that node passes on what it has accepted: the
// next one hears the models that are good, and has nothing against the relay.
func TestRelaysOfLiarsAreNotBlamed(t *testing.T) {
	c := testConfig()
	c.Pulse = 100 * time.Millisecond
	c.Rules = modelRules(3, 2)
	relay, victim := startNode(t, newKey(t), c), startNode(t, newKey(t), c)
	befriend(t, relay, victim)
	a := newAttacker(t, relay)
	for _, n := range []*node{relay, victim} {
		if err := n.Follow(a.ID()); err != nil {
			t.Fatal(err)
		}
	}
	require.Nothing(t, func() string {
		if !relay.hears(victim.id(), topicOf("net", a.ID())) {
			return "the relay does not know yet that the next node listens too"
		}
		return ""
	})
	r := rand.New(rand.NewPCG(18, 3))
	for seqno := uint64(1); victim.Stats().Delivered < 5; seqno++ {
		a.send(relay, &pb.RPC{Publish: []*pb.Message{a.lie(r, seqno)}})
		time.Sleep(5 * time.Millisecond) // its pace; nothing is waited for
		if t.Context().Err() != nil || seqno > 100_000 {
			t.Fatal("nothing is passed on")
		}
	}
	for _, h := range victim.Held() {
		t.Errorf("the next node holds %+v", h)
	}
}

// hears reports whether a peer listens to a topic, as far as this node knows.
func (n *node) hears(p peer.ID, topic string) bool {
	for _, q := range n.pubsub.ListPeers(topic) {
		if q == p {
			return true
		}
	}
	return false
}

// lie is a message of the attacker's on its own topic: mostly good, twice for each round.
func (a *attacker) lie(r *rand.Rand, seqno uint64) *pb.Message {
	signer := NewSigner(a.key, "net")
	data, err := signer.Encode(model(seqno/2+1, float64(seqno/2%2), 0, 0)) // each round twice
	if err != nil {
		a.t.Fatal(err)
	}
	bad := seqno%100 == 7 && seqno < 300 // a strike each, and the relay must go on listening
	if bad {
		data[r.IntN(len(data))]++
	}
	m := posted(a.ID(), data)
	if bad && r.IntN(2) == 0 {
		m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, r.IntN(40<<10))))
	}
	return m
}

// A peer passes on what this node itself said in an earlier run. It cannot know that.
func TestOnesOwnNewsComeBack(t *testing.T) {
	c := testConfig()
	c.Service = &Service{
		OnCall: func(context.Context, peer.ID, []byte) ([]byte, bool) { return nil, true },
		OnBlob: func(peer.ID, BlobName) Blob { return nil },
		OnNews: func(peer.ID, []byte) bool { return true },
	}
	key := newKey(t)
	n := startNode(t, key, c)
	a := newAttacker(t, n)
	for i := range uint64(20) {
		news, err := NewSigner(key, "net").encodeNews(n.id(), i, []byte("news"))
		require.NoError(t, err)
		topic := newsTopic("net")
		a.send(n, &pb.RPC{Publish: []*pb.Message{{Topic: &topic, Data: news}}})
	}
	waitForStats(t, n, func(s Stats) bool { return s.Ignored == 20 })
	if held := n.Held(); len(held) > 0 || !a.connected(n) {
		t.Errorf("held is %+v, connected: %v", held, a.connected(n))
	}
}
