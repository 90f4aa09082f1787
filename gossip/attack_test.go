package gossip

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-msgio"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/reputation"
	"p2pnode/internal/require"
)

// posted is a message on the topic of an author, as gossipsub sends it.
func posted(author peer.ID, data []byte) *pb.Message {
	topic := topicOf("net", author)
	return &pb.Message{Topic: &topic, Data: data}
}

// attacker speaks gossipsub's protocol by hand and lets nobody open a stream
// to it, so that gossipsub itself keeps no score of it.
type attacker struct {
	t   testing.TB
	key crypto.PrivKey
	host.Host
	began time.Time // of a flood
}

func newAttacker(t testing.TB, victim *node) *attacker {
	t.Helper()
	key := newKey(t)
	a := &attacker{t: t, key: key, Host: newHost(t, key)}
	connect(t, a.Host, victim.host)
	return a
}

// send writes one RPC on a stream of its own; the victim may refuse it.
func (a *attacker) send(victim *node, rpc *pb.RPC) {
	a.t.Helper()
	data, err := proto.Marshal(rpc)
	if err != nil {
		a.t.Fatal(err)
	}
	s, err := a.NewStream(a.t.Context(), victim.id(), pubsub.GossipSubID_v12)
	if err != nil {
		a.t.Fatal(err)
	}
	_ = msgio.NewVarintWriter(s).WriteMsg(data)
	_ = s.CloseWrite()
}

func (a *attacker) connected(victim *node) bool {
	return victim.host.Network().Connectedness(a.ID()) == network.Connected
}

// victimAndFriend returns a node and the neighbour it follows, whose messages
// must keep arriving whatever an attacker does.
func victimAndFriend(t testing.TB) (victim, friend *node) {
	t.Helper()
	victim, friend = newNode(t), newNode(t)
	befriend(t, victim, friend)
	waitForListeners(t, friend, victim)
	waitForListeners(t, victim, friend)
	return victim, friend
}

// checkReason insists that messages were not taken for this reason, and for no other.
func checkReason(t *testing.T, victim *node, want Reason, times uint64) {
	t.Helper()
	for r, n := range victim.Reasons() {
		if r == want && n != times || r != want && n != 0 {
			t.Errorf("%d messages were %v, want %d %v and no others", n, r, times, want)
		}
	}
}

func TestForgersAreRejectedThenRefused(t *testing.T) {
	want := map[string]Reason{
		"another's proof": BadSignature, "another model's proof": BadSignature, "no proof": Malformed,
		"an author named": Malformed, "a number": Malformed, "signed by gossipsub": Malformed, "more than is signed": Malformed,
	}
	for name, forge := range map[string]func(a *attacker, owner *node, i uint64) *pb.Message{
		"another's proof": func(a *attacker, owner *node, i uint64) *pb.Message {
			return posted(owner.id(), mustEncode(a.t, model(i, 0, 0, 0)))
		},
		"another model's proof": func(a *attacker, owner *node, i uint64) *pb.Message {
			genuine, other := owner.encode(a.t, model(i, 0, 0, 0)), owner.encode(a.t, model(i, 1, 0, 0))
			w, err := WitnessOf(other)
			if err != nil {
				a.t.Fatal(err)
			}
			return posted(owner.id(), appendProof(withoutProof(a.t, genuine), w.Proof))
		},
		"no proof": func(a *attacker, owner *node, i uint64) *pb.Message {
			return posted(owner.id(), withoutProof(a.t, owner.encode(a.t, model(i, 0, 0, 0))))
		},
		"an author named": func(a *attacker, owner *node, i uint64) *pb.Message {
			m := posted(owner.id(), owner.encode(a.t, model(i, 0, 0, 0)))
			m.From = []byte(owner.id())
			return m
		},
		"a number": func(a *attacker, owner *node, i uint64) *pb.Message {
			m := posted(owner.id(), owner.encode(a.t, model(i, 0, 0, 0)))
			m.Seqno = []byte{byte(i)}
			return m
		},
		"signed by gossipsub": func(a *attacker, owner *node, i uint64) *pb.Message {
			m := posted(owner.id(), owner.encode(a.t, model(i, 0, 0, 0)))
			m.Signature = make([]byte, 64)
			return m
		},
		"more than is signed": func(a *attacker, owner *node, i uint64) *pb.Message {
			m := posted(owner.id(), owner.encode(a.t, model(i, 0, 0, 0)))
			m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), i))
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			victim, friend := victimAndFriend(t)
			a := newAttacker(t, victim)
			for i := range uint64(reputation.Limit) {
				if !a.connected(victim) {
					t.Fatalf("disconnected after %d messages", i)
				}
				a.send(victim, &pb.RPC{Publish: []*pb.Message{forge(a, friend, i+1)}})
				waitForStats(t, victim, func(s Stats) bool { return s.Rejected == i+1 })
			}
			require.Nothing(t, func() string {
				if a.connected(victim) {
					return "the forger is still connected"
				}
				return ""
			})
			checkReason(t, victim, want[name], reputation.Limit)
			connect(t, a.Host, victim.host) // it can come back, but is not heard
			if _, err := victim.Ask(t.Context(), a.ID(), EdgeRequest{Kind: EdgeExchange}); err == nil {
				t.Error("a refused peer was asked")
			}
			publish(t, friend, 100)
			if got := take(t, victim); len(got) != 1 || got[0].From != ID(friend.id()) || got[0].Round != 100 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestANeighbourThatSendsBadModelsIsRejected(t *testing.T) {
	for name, data := range badModels(t) {
		t.Run(name, func(t *testing.T) {
			victim, evil := victimAndFriend(t)
			if err := evil.Publish(t.Context(), data); err == nil {
				t.Error("Publish sends what neighbours refuse")
			}
			if err := evil.mine.Publish(t.Context(), data); err != nil {
				t.Fatal(err)
			}
			waitForStats(t, victim, func(s Stats) bool { return s == Stats{Rejected: 1} })
			checkReason(t, victim, Malformed, 1)
			if len(victim.Inbox().Take()) != 0 {
				t.Error("the bad model is in the inbox")
			}
		})
	}
}

func TestReplaysAreIgnored(t *testing.T) {
	victim, friend := victimAndFriend(t)
	first, second := posted(friend.id(), friend.encode(t, model(1, 0, 0, 0))), posted(friend.id(), friend.encode(t, model(2, 0, 0, 0)))
	a := newAttacker(t, victim) // relaying what the author signed is allowed
	a.send(victim, &pb.RPC{Publish: []*pb.Message{first, second, first, second}})
	waitForStats(t, victim, func(s Stats) bool { return s.Delivered == 2 })
	publish(t, friend, 3)
	waitForStats(t, victim, func(s Stats) bool { return s == Stats{Delivered: 3} })
	if got := victim.Inbox().Take(); len(got) != 1 || got[0].Round != 3 {
		t.Errorf("the inbox holds %+v", got)
	}
	if !a.connected(victim) {
		t.Error("a relay of stale messages was disconnected")
	}
}

func TestOversizeMessagesAreDropped(t *testing.T) {
	victim, friend := victimAndFriend(t)
	a := newAttacker(t, victim)
	huge := make([]byte, usualMessage)
	a.send(victim, &pb.RPC{Publish: []*pb.Message{posted(friend.id(), huge)}})
	publish(t, friend, 1)
	if got := take(t, victim); len(got) != 1 || got[0].Round != 1 {
		t.Errorf("got %+v", got)
	}
	waitForStats(t, victim, func(s Stats) bool { return s == Stats{Delivered: 1, Rejected: 1} })
	if held := victim.Held(); len(held) != 1 || held[0].Peer != a.ID() || held[0].Refused {
		t.Errorf("held is %+v", held)
	}
}

func TestGarbageOnTheEdgeStreamIsRefused(t *testing.T) {
	victim := newNode(t)
	a := newAttacker(t, victim)
	for i := range reputation.Limit {
		s, err := a.NewStream(t.Context(), victim.id(), edgeProtocol("net"))
		if err != nil {
			t.Fatalf("stream %d: %v", i+1, err)
		}
		if i%2 == 0 {
			_ = msgio.NewVarintWriter(s).WriteMsg([]byte("\xffgarbage"))
		} else {
			_, _ = s.Write(binary.AppendUvarint(nil, 1<<40)) // a length that must not be believed
		}
		if _, err := msgio.NewVarintReader(s).ReadMsg(); err == nil {
			t.Error("garbage was answered")
		}
	}
	require.Nothing(t, func() string {
		if a.connected(victim) {
			return "the attacker is still connected"
		}
		return ""
	})
	if err := a.Connect(t.Context(), peer.AddrInfo{ID: victim.id(), Addrs: victim.host.Addrs()}); err != nil {
		t.Fatal(err)
	}
	s, err := a.NewStream(t.Context(), victim.id(), edgeProtocol("net"))
	if err == nil {
		_, err = writeEdge(s, encodeRequest(EdgeRequest{Kind: EdgeExchange}))
	}
	if err == nil {
		_, err = victim.readEdge(s)
	}
	if err == nil {
		t.Error("a refused peer was answered")
	}
}

// testEdges is the quota of nodes with small models.
var testEdges = edgeQuota(edgeMemory / 256)

// A peer that asks as fast as it can is answered so often and no more; others are.
func TestAskingWithoutEndIsBounded(t *testing.T) {
	victim, friend := victimAndFriend(t)
	eager := newNode(t)
	connect(t, eager.host, victim.host)
	answered := 0
	for range 3 * testEdges.peerRequests {
		if _, err := eager.Ask(t.Context(), victim.id(), EdgeRequest{Kind: EdgeExchange}); err == nil {
			answered++
		}
	}
	// On a slow machine a second window may have begun.
	if answered < testEdges.peerRequests || answered > 2*testEdges.peerRequests {
		t.Errorf("%d requests are answered", answered)
	}
	if _, err := friend.Ask(t.Context(), victim.id(), EdgeRequest{Kind: EdgeExchange}); err != nil {
		t.Errorf("the friend: %v", err)
	}
}

func TestVisitorsAreForgotten(t *testing.T) {
	now := time.Now()
	v, at := newVisitors(testEdges), netip.Addr{}
	v.enter("waiting", at, now)
	for i := range 2 * maxVisitors {
		id := peer.ID(fmt.Sprint(i))
		if entered, _ := v.enter(id, at, now); !entered {
			t.Fatalf("peer %d has no place", i)
		}
		v.leave(id)
	}
	if len(v.peers) > maxVisitors || v.peers["waiting"] == nil || v.streams != 1 {
		t.Errorf("%d peers are remembered, %d streams", len(v.peers), v.streams)
	}
	for range testEdges.peerRequests {
		v.enter("eager", at, now)
		v.leave("eager")
	}
	if entered, blame := v.enter("eager", at, now.Add(requestWindow/2)); entered || !blame {
		t.Error("the window is not kept")
	}
	if entered, _ := v.enter("eager", at, now.Add(requestWindow)); !entered {
		t.Error("the window does not end")
	}
}

// TestSilentStreamsOfOnePeerLeaveRoomForOthers opens streams and says nothing.
func TestSilentStreamsOfOnePeerLeaveRoomForOthers(t *testing.T) {
	victim, friend := newNode(t), newNode(t)
	connect(t, friend.host, victim.host)
	a := newAttacker(t, victim)
	for range testEdges.streams + 1 {
		s, err := a.NewStream(t.Context(), victim.id(), edgeProtocol("net"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Write([]byte{10}) // a length, and then nothing
	}
	require.Nothing(t, func() string {
		victim.edges.mu.Lock()
		defer victim.edges.mu.Unlock()
		if n := victim.edges.visitors.streams; n != testEdges.peerStreams {
			return fmt.Sprintf("%d silent streams are held open, want %d", n, testEdges.peerStreams)
		}
		return ""
	})
	if reply, err := friend.Ask(t.Context(), victim.id(), EdgeRequest{Kind: EdgeExchange}); err != nil || reply.Reason != "test" {
		t.Errorf("the friend got %+v, %v", reply, err)
	}
}
