package gossip

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-msgio"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/reputation"
	"p2pnode/internal/require"
	"p2pnode/learner"
)

// goesOn reports whether the attacker is not refused yet; not for ever.
func (a *attacker) goesOn(victim *node) bool {
	return !victim.offenders.Contains(a.ID()) && time.Since(a.began) < deadline
}

// pour writes RPCs on one stream until the victim refuses the attacker.
func (a *attacker) pour(victim *node, rpc func(i uint64) *pb.RPC) {
	a.t.Helper()
	s, err := a.NewStream(a.t.Context(), victim.id(), pubsub.GossipSubID_v12)
	if err != nil {
		a.t.Fatal(err)
	}
	w := msgio.NewVarintWriter(s)
	for i := uint64(0); a.goesOn(victim); i++ {
		data, err := proto.Marshal(rpc(i))
		if err != nil {
			a.t.Fatal(err)
		}
		if err := w.WriteMsg(data); err != nil { // the stream may have been reset before
			if s, err = a.NewStream(a.t.Context(), victim.id(), pubsub.GossipSubID_v12); err != nil {
				return
			}
			w = msgio.NewVarintWriter(s)
		}
	}
}

// A peer that sends more than any honest node, of any kind of traffic, is refused and
// disconnected, and the owner can be told why. The other peers are still heard.
func TestFloodsAreRefused(t *testing.T) {
	topic := topicOf("net", "somebody whose name is long enough")
	id := strings.Repeat("x", 40)
	for name, c := range map[string]struct {
		kind  reputation.Kind
		flood func(a *attacker, victim, friend *node)
	}{
		"models": {reputation.Models, func(a *attacker, victim, _ *node) {
			one := posted(a.ID(), []byte("a model"))
			a.pour(victim, func(uint64) *pb.RPC { return &pb.RPC{Publish: []*pb.Message{one, one, one, one}} })
		}},
		"relayed": {reputation.Relayed, func(a *attacker, victim, friend *node) {
			old := posted(friend.id(), friend.encode(t, model(1, 0, 0, 0)))
			a.pour(victim, func(uint64) *pb.RPC { return &pb.RPC{Publish: []*pb.Message{old, old, old, old}} })
		}},
		"ihave": {reputation.Control, func(a *attacker, victim, _ *node) {
			have := &pb.ControlIHave{TopicID: &topic}
			for range 1000 {
				have.MessageIDs = append(have.MessageIDs, id)
			}
			a.pour(victim, func(uint64) *pb.RPC { return &pb.RPC{Control: &pb.ControlMessage{Ihave: []*pb.ControlIHave{have}}} })
		}},
		"pieces": {reputation.Malformed, func(a *attacker, victim, _ *node) {
			a.pour(victim, func(uint64) *pb.RPC { return &pb.RPC{Publish: slices.Repeat([]*pb.Message{{}}, 1000)} })
		}},
		"names without letters": {reputation.Malformed, func(a *attacker, victim, _ *node) {
			want := &pb.ControlIWant{MessageIDs: make([]string, 1000)}
			a.pour(victim, func(uint64) *pb.RPC { return &pb.RPC{Control: &pb.ControlMessage{Iwant: []*pb.ControlIWant{want}}} })
		}},
		"graft": {reputation.Control, func(a *attacker, victim, _ *node) {
			a.pour(victim, func(uint64) *pb.RPC {
				return &pb.RPC{Control: &pb.ControlMessage{Graft: []*pb.ControlGraft{{TopicID: &topic}, {TopicID: &topic}}}}
			})
		}},
		"nothing": {reputation.Control, func(a *attacker, victim, _ *node) {
			a.pour(victim, func(uint64) *pb.RPC { return &pb.RPC{} })
		}},
		"garbage": {reputation.Malformed, func(a *attacker, victim, _ *node) {
			for i := 0; a.goesOn(victim); i++ {
				if s, err := a.NewStream(t.Context(), victim.id(), pubsub.GossipSubID_v12); err == nil {
					_, _ = s.Write([][]byte{{2, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff, 0x7f}}[i%2]) // no RPC, and one too long
					_, _ = s.Read(make([]byte, 1))
				}
			}
		}},
		"streams": {reputation.Streams, func(a *attacker, victim, _ *node) {
			for a.goesOn(victim) {
				if s, err := a.NewStream(t.Context(), victim.id(), pubsub.GossipSubID_v12); err == nil {
					_, _ = s.Write([]byte{0}) // else the victim does not hear of it
					_ = s.CloseWrite()
					_, _ = s.Read(make([]byte, 1))
				}
			}
		}},
		"requests": {reputation.Streams, func(a *attacker, victim, _ *node) {
			for a.goesOn(victim) {
				if s, err := a.NewStream(t.Context(), victim.id(), edgeProtocol("net")); err == nil {
					_, _ = writeEdge(s, encodeRequest(EdgeRequest{Kind: EdgeExchange}))
					_, _ = msgio.NewVarintReader(s).ReadMsg()
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			victim, friend := victimAndFriend(t)
			a := newAttacker(t, victim)
			a.t, a.began = t, time.Now()
			c.flood(a, victim, friend)
			require.Nothing(t, func() string {
				if a.connected(victim) {
					return "the flooder is still connected"
				}
				return ""
			})
			held := victim.Held()
			if len(held) != 1 || held[0].Peer != a.ID() || !held[0].Refused || held[0].Counts[c.kind] == 0 {
				t.Errorf("held is %+v", held)
			}
			publish(t, friend, 9)
			for take(t, victim)[0].Round != 9 { // or what the flooder passed on
			}
		})
	}
}

// A stream that ends, breaks off in the middle of a message, or is replaced by a newer one is
// nobody's fault.
func TestAStreamMayEnd(t *testing.T) {
	victim, _ := victimAndFriend(t)
	a := newAttacker(t, victim)
	part := []byte{100, 1, 2, 3}
	for _, end := range []func(network.Stream) error{
		network.Stream.Close,
		network.Stream.Reset,
		func(network.Stream) error { return nil }, // the next one replaces it
		func(s network.Stream) error { return s.Conn().Close() },
	} {
		s, err := a.NewStream(t.Context(), victim.id(), pubsub.GossipSubID_v12)
		require.NoError(t, err)
		_, err = s.Write(part)
		require.NoError(t, err)
		require.NoError(t, end(s))
	}
	require.Nothing(t, func() string {
		if a.connected(victim) {
			return "the connection is still there"
		}
		return ""
	})
	if held := victim.Held(); len(held) > 0 {
		t.Errorf("held is %+v", held)
	}
}

// Streams that the host has no place for count against who opens them without end, and not
// against who opens some.
func TestStreamsWithoutAPlace(t *testing.T) {
	victim, p := newNode(t), testPeer(t)
	for range streamBurst / unansweredStreams {
		victim.Unanswered(p)
	}
	if len(victim.Held()) > 0 {
		t.Errorf("held is %+v", victim.Held())
	}
	for range reputation.Limit * streamBurst / unansweredStreams {
		victim.Unanswered(p)
	}
	if !victim.Refuses(p) {
		t.Error("the peer is not refused")
	}
}

// A neighbour that sends directed messages without end is refused too.
func TestDirectedMessagesHaveAPace(t *testing.T) {
	// The time of the test does not go on while it computes, however slow the machine.
	synctest.Test(t, func(t *testing.T) {
		victim := edgeNode(t)
		victim.log = slog.New(slog.DiscardHandler)
		data, err := encodeDirected(ack("victim", 1))
		require.NoError(t, err)
		for range modelBurst * directedPart {
			victim.take("neighbour", data)
		}
		if held := victim.Held(); victim.Reasons()[TooMuch] > 0 || len(held) > 0 && held[0].Counts[reputation.Models] > 0 {
			t.Errorf("a burst is too much: %+v", held)
		}
		for range (reputation.Limit + 1) * modelBurst * directedPart {
			victim.take("neighbour", data)
		}
		if !victim.offenders.Contains("neighbour") || victim.Reasons()[TooMuch] == 0 {
			t.Errorf("held is %+v", victim.Held())
		}
	})
}

// Who asks for more than there is room for in a hurry, as members of a committee do who have
// missed much, is turned away without blame.
func TestHurryIsNotBlamed(t *testing.T) {
	for name, q := range map[string]quota{"blobs": blobQuota(), "calls": callQuota(), "files": fileQuota()} {
		v := newVisitors(q)
		for range q.peerStreams {
			v.enter("member", netip.Addr{}, time.Now())
		}
		if entered, blame := v.enter("member", netip.Addr{}, time.Now()); entered || blame {
			t.Errorf("%s: entered %v, blamed %v", name, entered, blame)
		}
	}
}

// A peer that is asked for what it says it has may send it, however much that is.
func TestWhatWasAskedForIsNotHeldAgainst(t *testing.T) {
	victim, relay := newNode(t), testPeer(t)
	want := &pubsub.RPC{RPC: pb.RPC{Control: &pb.ControlMessage{Iwant: []*pb.ControlIWant{{MessageIDs: make([]string, askedAtOnce)}}}}}
	sent := &pubsub.RPC{}
	for range askedAtOnce {
		sent.Publish = append(sent.Publish, &pb.Message{Topic: proto.String("t")})
	}
	told := &tracer{gossip: victim.Gossip}
	for range 40 {
		told.SendRPC(want, relay)
		if err := victim.inspect(relay, &pubsub.RPC{RPC: pb.RPC{Publish: sent.Publish}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range victim.Held() {
		t.Errorf("held is %+v", h)
	}
	if victim.Reasons()[TooMuch] == 0 {
		t.Error("there is time for any number of messages")
	}
}

// Many identities of one address together are answered so often and no more, nobody is
// blamed, and who comes from elsewhere is answered.
func TestACrowdThatAsksSharesItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := edgeNode(t)
		crowd, friend := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1")
		g.offenders.from = func(p peer.ID) netip.Addr {
			if p == "friend" {
				return friend
			}
			return crowd
		}
		answered := 0
		for i := range 2 * requestsAtMost {
			if g.share.take(g.share.requests, g.offenders.from(""), peer.ID(fmt.Sprint(i)), 1) {
				answered++
			}
		}
		if answered != requestsAtMost {
			t.Errorf("%d requests of the crowd have a place", answered)
		}
		if err := g.answerEdge(t.Context(), nil, "another"); !errors.Is(err, errBusy) || errors.Is(err, errMalformed) {
			t.Errorf("the crowd is told %v", err)
		}
		if !g.share.take(g.share.requests, friend, "friend", 1) {
			t.Error("the friend has no place")
		}
		time.Sleep(requestWindow)
		if !g.share.take(g.share.requests, crowd, "another", 1) {
			t.Error("the crowd has no place in the next window")
		}
	})
}

// What others say of others is left out when there is no time to check it, and nobody is
// blamed: a request is answered all the same.
func TestEntriesAreLeftOutWhenThereIsNoTime(t *testing.T) {
	// The time of the test does not go on while it computes, however slow the machine.
	synctest.Test(t, func(t *testing.T) {
		g := edgeNode(t)
		own := entryOf(t, 5, 1, -2)
		known := []Entry{entryOf(t, 1, 3, 4), entryOf(t, 0), entryOf(t, 2, 3, 4)}
		data := encodedEdge(t, encodeRequest(EdgeRequest{Kind: EdgeExchange, Own: own, Known: known}))
		least := len(known)
		for range checksAtMost {
			r, err := g.decodeRequest(data, own.Peer)
			if err != nil {
				t.Fatal(err)
			}
			if least = len(r.Known); least == 1 {
				break
			}
		}
		if least != 1 { // the one without a signature
			t.Errorf("%d entries are taken", least)
		}
		// Who comes from elsewhere has its part.
		g.offenders.from = func(p peer.ID) netip.Addr { return netip.AddrFrom4([4]byte{1, 2, 3, 4}) }
		if r, err := g.decodeRequest(data, own.Peer); err != nil || len(r.Known) != len(known) {
			t.Errorf("a newcomer's: %d entries, %v", len(r.Known), err)
		}
	})
}

// Gossipsub's loop asks what to do with a message, and who follows a peer waits for that loop
// with the lock held: so the answer must not wait for the lock.
func TestMessagesAreLookedAtWithoutTheLock(t *testing.T) {
	n := startNode(t, newKey(t), testConfig())
	key := newKey(t)
	author, err := peer.IDFromPrivateKey(key)
	require.NoError(t, err)
	data, err := NewSigner(key, "net").Encode(model(1, 0, 0, 0))
	require.NoError(t, err)
	n.mu.Lock()
	defer n.mu.Unlock()
	looked := make(chan error, 2)
	for _, via := range []peer.ID{author, n.id()} {
		go func() {
			looked <- n.inspect(via, &pubsub.RPC{RPC: pb.RPC{Publish: []*pb.Message{posted(author, data)}}})
		}()
	}
	for range 2 {
		select {
		case err := <-looked:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatal("a message waits for the lock")
		}
	}
}

// Long messages that never end take a part of the memory, however many begin one, and end no
// stream of a peer that is followed.
func TestLongMessagesThatDoNotEndShareRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := modelRules(learner.MaxDimension, 1)
		friend := testPeer(t)
		g := &Gossip{
			config: Config{Rules: rules, Network: "net"}, rooms: newRooms(rules), offenders: newOffenders(nil, nil),
			follows: map[string]*follow{topicOf("net", friend): {}}, topics: map[peer.ID]string{friend: topicOf("net", friend)},
		}
		var ended atomic.Int64
		begin := func(from peer.ID) net.Conn {
			near, far := net.Pipe()
			m := &metered{Stream: piped{pipe: near, from: from}, gossip: g}
			m.in = bufio.NewReader(under{m})
			go func() {
				_, err := m.Read(make([]byte, 1))
				if err == nil || !m.broken {
					t.Errorf("reading ends with %v, and the peer is blamed: %v", err, !m.broken)
				}
				ended.Add(1)
			}()
			go func() { // an error says that the stream has ended
				_, _ = far.Write(binary.AppendUvarint(nil, uint64(largestRPC(rules))))
				_, _ = far.Write(make([]byte, 1000))
			}()
			return far
		}
		all := []net.Conn{begin(friend)}
		synctest.Wait()
		const strangers = 200
		for range strangers {
			all = append(all, begin(testPeer(t)))
		}
		synctest.Wait()
		if left := 1 + strangers - int(ended.Load()); left != 1+unfinished/largestRPC(rules) {
			t.Errorf("%d streams are read", left)
		}
		if _, err := all[0].Write([]byte{1}); err != nil {
			t.Errorf("the stream of a followed peer has ended: %v", err)
		}
		for _, c := range all {
			require.NoError(t, c.Close())
		}
		synctest.Wait()
	})
}

// piped is a stream of a peer over a pipe.
type piped struct {
	network.Stream
	pipe net.Conn
	from peer.ID
}

func (p piped) Read(b []byte) (int, error) { return p.pipe.Read(b) }
func (p piped) Reset() error               { return p.pipe.Close() }
func (p piped) Conn() network.Conn         { return connOf{from: p.from} }

// connOf is a connection to a peer.
type connOf struct {
	network.Conn
	from peer.ID
}

func (c connOf) RemotePeer() peer.ID { return c.from }
