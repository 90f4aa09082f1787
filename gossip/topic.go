package gossip

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"strings"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/turn"
	"p2pnode/learner"
)

// ownerLength is how many characters of the owner's peer ID a topic carries. 16
// base58 characters are about 94 bits of a public key, too many for anybody to
// find a second key with the same ones.
const ownerLength = 16

const (
	// queueLength is the length of gossipsub's outbound and validation queues. The
	// default of 32 loses messages when everybody publishes at once.
	queueLength = 1024
	// usualMessage is what gossipsub takes in at least, in bytes. The queues for larger
	// messages are shorter and hold as many bytes.
	usualMessage = 64<<10 + envelopeSize
)

// largestRPC is the size of the longest message that gossipsub takes, in bytes.
func largestRPC(r learner.Rules) int { return max(usualMessage, largest(r)+envelopeSize) }

// queueFor is the length of the queues for messages of so many bytes.
func queueFor(size int) int { return min(queueLength, queueLength*usualMessage/size) }

// envelopeSize bounds what gossipsub adds to a model: topic and lengths.
const envelopeSize = 4 << 10

// maxTopics bounds the subscriptions remembered for one peer, and maxAllTopics those of
// all peers. When a peer leaves, gossipsub looks through all topics, while nothing else is
// done. Subscriptions beyond the bounds only matter for the repair of lost copies; those to
// this node's own topic, and to the news, are always remembered.
const maxTopics, maxAllTopics = 256, 2048

// topicPrefix begins the names of all topics of a network.
func topicPrefix(network string) string { return "p2pnode/" + network + "/m/" }

// topicOf names the topic that owner publishes on.
func topicOf(network string, owner peer.ID) string {
	id := owner.String()
	return topicPrefix(network) + id[max(0, len(id)-ownerLength):]
}

// newPubSub starts gossipsub without a mesh: the publisher sends to every
// subscriber itself, and subscribers tell each other at each heartbeat what they
// have recently heard, so that a broken link between two of them is repaired.
// One validation worker keeps the order of each author's messages. Gossipsub signs
// nothing: what is published ends with its author's proof, which covers all of it, so a
// second signature of the same author would double the work of each delivery.
func newPubSub(ctx context.Context, g *Gossip) (*pubsub.PubSub, error) {
	params := pubsub.DefaultGossipSubParams()
	params.D, params.Dlo, params.Dhi, params.Dout, params.Dscore, params.Dlazy = 0, 0, 0, 0, 0, 6
	params.Connectors = 1
	params.HeartbeatInitialDelay, params.HeartbeatInterval = turn.Wait(g.pulse), g.pulse
	params.MaxIHaveLength = askedAtOnce
	subscriptions := newSubscriptions(g.config.Network, g.host.ID(), func(p peer.ID) bool {
		return g.host.Network().Connectedness(p) != network.NotConnected
	})
	size := largestRPC(g.config.Rules)
	scores, thresholds := g.scoring()
	return pubsub.NewGossipSub(ctx, guardedHost{g.host, g, ctx},
		pubsub.WithGossipSubParams(params),
		pubsub.WithFloodPublish(true),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign),
		pubsub.WithNoAuthor(),
		pubsub.WithMessageIdFn(nameOf),
		pubsub.WithPeerOutboundQueueSize(queueFor(size)),
		pubsub.WithValidateQueueSize(queueFor(size)),
		pubsub.WithValidateWorkers(1),
		pubsub.WithMaxMessageSize(size),
		pubsub.WithDefaultValidator(g.validate, pubsub.WithValidatorInline(true)),
		pubsub.WithSubscriptionFilter(subscriptions),
		pubsub.WithBlacklist(g.offenders),
		pubsub.WithAppSpecificRpcInspector(g.inspect),
		pubsub.WithPeerScore(scores, thresholds),
		pubsub.WithRawTracer(&tracer{gossip: g, subscriptions: subscriptions}),
		pubsub.WithLogger(debugOnly(ctx, g.log)),
		pubsub.WithRPCLogger(slog.New(slog.DiscardHandler)),
	)
}

// nameOf tells messages apart by all that they say. A name that followed from less could
// be taken by a forgery, and the message itself would then pass for a copy.
func nameOf(m *pb.Message) string {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(m.GetTopic()))))
	h.Write([]byte(m.GetTopic()))
	h.Write(m.GetData())
	return string(h.Sum(nil))
}

// debugOnly returns the log at level debug, and otherwise one that discards:
// gossipsub's own messages are about its internals.
func debugOnly(ctx context.Context, log *slog.Logger) *slog.Logger {
	if log.Enabled(ctx, slog.LevelDebug) {
		return log
	}
	return slog.New(slog.DiscardHandler)
}

// subscriptions lets peers subscribe to a bounded number of this network's
// topics, and to no others. Gossipsub calls it from one goroutine.
type subscriptions struct {
	prefix    string
	own       string
	news      string
	connected func(peer.ID) bool
	topics    map[peer.ID]map[string]struct{}
	total     int // topics of all peers
}

func newSubscriptions(network string, self peer.ID, connected func(peer.ID) bool) *subscriptions {
	return &subscriptions{
		prefix: topicPrefix(network), own: topicOf(network, self), news: newsTopic(network),
		connected: connected, topics: make(map[peer.ID]map[string]struct{}),
	}
}

// CanSubscribe implements [pubsub.SubscriptionFilter].
func (s *subscriptions) CanSubscribe(topic string) bool {
	owner, ok := strings.CutPrefix(topic, s.prefix)
	return ok && len(owner) == ownerLength || topic == s.news
}

// FilterIncomingSubscriptions implements [pubsub.SubscriptionFilter]. It leaves out
// the subscriptions beyond maxTopics and maxAllTopics.
func (s *subscriptions) FilterIncomingSubscriptions(from peer.ID, subs []*pb.RPC_SubOpts) ([]*pb.RPC_SubOpts, error) {
	if s.total >= maxAllTopics || len(s.topics) >= maxAllTopics {
		s.forgetGone()
	}
	held := s.topics[from]
	if held == nil {
		held = make(map[string]struct{})
		s.topics[from] = held
	}
	var kept []*pb.RPC_SubOpts
	for _, sub := range pubsub.FilterSubscriptions(subs, s.CanSubscribe) {
		topic := sub.GetTopicid()
		_, known := held[topic]
		switch {
		case !sub.GetSubscribe():
			delete(held, topic)
			if known {
				s.total--
			}
		case known:
		case topic == s.own, topic == s.news, len(held) < maxTopics && s.total < maxAllTopics:
			held[topic] = struct{}{}
			s.total++
		default:
			continue
		}
		kept = append(kept, sub)
	}
	return kept, nil
}

// forgetGone drops the memory of all peers that are gone. Gossipsub (v0.17) tells of none that it
// could open no stream to.
func (s *subscriptions) forgetGone() {
	for p := range s.topics {
		if !s.connected(p) {
			s.forget(p)
		}
	}
}

// forget drops the memory of a peer that is gone.
func (s *subscriptions) forget(p peer.ID) {
	s.total -= len(s.topics[p])
	delete(s.topics, p)
}
