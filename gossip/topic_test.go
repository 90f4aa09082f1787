package gossip

import (
	"fmt"
	"strings"
	"testing"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"
)

func subscribe(topics ...string) []*pb.RPC_SubOpts { return subOpts(true, topics...) }

func subOpts(on bool, topics ...string) []*pb.RPC_SubOpts {
	subs := make([]*pb.RPC_SubOpts, len(topics))
	for i, topic := range topics {
		subs[i] = &pb.RPC_SubOpts{Subscribe: proto.Bool(on), Topicid: proto.String(topic)}
	}
	return subs
}

func topicNumber(i int) string { return fmt.Sprintf("p2pnode/net/m/%016d", i) }

func there(peer.ID) bool { return true }

func TestOnlyTopicsOfTheNetworkAreSubscribedTo(t *testing.T) {
	s := newSubscriptions("net", "self", there)
	for topic, ok := range map[string]bool{
		topicNumber(1):                          true,
		topicNumber(1) + "x":                    false,
		strings.TrimSuffix(topicNumber(1), "1"): false,
		"p2pnode/other/m/0000000000000001":      false,
		"p2pnode/net/x/0000000000000001":        false,
		"p2pnode/net/news":                      true,
		"p2pnode/other/news":                    false,
		"":                                      false,
		"p2pnode/net/m/":                        false,
	} {
		kept, err := s.FilterIncomingSubscriptions("peer", subscribe(topic))
		if err != nil || (len(kept) == 1) != ok || s.CanSubscribe(topic) != ok {
			t.Errorf("%q: kept %d, CanSubscribe %v (%v)", topic, len(kept), s.CanSubscribe(topic), err)
		}
	}
}

func TestSubscriptionsOfOnePeerAreBounded(t *testing.T) {
	s := newSubscriptions("net", "self", there)
	keep := func(p peer.ID, subs []*pb.RPC_SubOpts) int {
		kept, err := s.FilterIncomingSubscriptions(p, subs)
		if err != nil {
			t.Fatal(err)
		}
		return len(kept)
	}
	total := 0
	for i := range 1000 { // one at a time, as an attacker would
		total += keep("greedy", subscribe(topicNumber(i)))
	}
	if total != maxTopics {
		t.Errorf("kept %d subscriptions of one peer, want %d", total, maxTopics)
	}
	if keep("greedy", subscribe(topicNumber(0))) != 1 {
		t.Error("a subscription already held was refused when repeated")
	}
	if keep("modest", subscribe(topicNumber(2000))) != 1 {
		t.Error("one peer's subscriptions count against another's")
	}
	if keep("greedy", subOpts(false, topicNumber(0))) != 1 || keep("greedy", subscribe(topicNumber(3000))) != 1 {
		t.Error("giving up a subscription makes no room for another")
	}
	s.forget("greedy")
	if keep("greedy", subscribe(topicNumber(4000))) != 1 {
		t.Error("a peer that came back is held to its old subscriptions")
	}
}

// Strangers that listen to thousands of topics leave gossipsub with few of them, and do
// not keep others from listening to this node.
func TestSubscriptionsOfAllPeersAreBounded(t *testing.T) {
	const self = peer.ID("0123456789abcdef, this node")
	s := newSubscriptions("net", self, there)
	total := 0
	for i := range 100 * maxTopics {
		kept, err := s.FilterIncomingSubscriptions(peer.ID(fmt.Sprint("peer ", i/maxTopics)), subscribe(topicNumber(i)))
		if err != nil {
			t.Fatal(err)
		}
		total += len(kept)
	}
	if total != maxAllTopics || s.total != total {
		t.Errorf("kept %d subscriptions of a hundred peers and counts %d, want %d", total, s.total, maxAllTopics)
	}
	for _, topic := range []string{topicOf("net", self), newsTopic("net")} {
		if kept, err := s.FilterIncomingSubscriptions("neighbour", subscribe(topic)); len(kept) != 1 || err != nil {
			t.Errorf("a neighbour cannot listen to %s: %v", topic, err)
		}
	}
	for i := range 100 {
		s.forget(peer.ID(fmt.Sprint("peer ", i)))
	}
	s.forget("neighbour")
	s.forget("nobody")
	if s.total != 0 {
		t.Errorf("%d subscriptions are counted when all are gone", s.total)
	}
}

// Strangers that subscribe and go, and let this node open no stream to them, of which gossipsub does
// not tell, keep neither topics from those who stay nor memory.
func TestSubscriptionsOfThoseGoneAreForgotten(t *testing.T) {
	connected := map[peer.ID]bool{"stays": true}
	s := newSubscriptions("net", "self", func(p peer.ID) bool { return connected[p] })
	say := func(p peer.ID, topic string) int {
		kept, err := s.FilterIncomingSubscriptions(p, subscribe(topic))
		if err != nil {
			t.Fatal(err)
		}
		return len(kept)
	}
	for i := range 100 * maxTopics {
		say(peer.ID(fmt.Sprint("topics ", i/maxTopics)), topicNumber(i))
		say(peer.ID(fmt.Sprint("identities ", i)), newsTopic("net"))
		if len(s.topics) > maxAllTopics || s.total > maxAllTopics {
			t.Fatalf("%d peers hold %d topics", len(s.topics), s.total)
		}
	}
	for i := range maxTopics {
		if say("stays", topicNumber(i)) != 1 {
			t.Fatalf("who stays has %d subscriptions of %d", i, maxTopics)
		}
	}
}

// A peer that changes its subscriptions all the time uses up its allowance.
func TestSubscriptionsCountAsWork(t *testing.T) {
	var topics []string
	for i := range maxTopics {
		topics = append(topics, topicNumber(i))
	}
	once := controlIn(&pubsub.RPC{RPC: pb.RPC{Subscriptions: subscribe(topics...)}})
	if once > controlBurst || 3*once < controlBurst {
		t.Errorf("the most subscriptions count as %v bytes: a peer may say them at once, and not again and again", once)
	}
}
