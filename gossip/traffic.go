package gossip

import (
	"context"
	"errors"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/reputation"
)

const (
	// askedAtOnce is how many messages a peer is asked for between two heartbeats.
	askedAtOnce = 256
	// graftBytes is what a request to join a mesh counts: there is none in this network.
	graftBytes = 4 << 10
	// A stream is read readsAtOnce times before that is counted, each as readBytes: short
	// messages cost as much as long ones.
	readsAtOnce, readBytes = 64, 64
)

var errTooMuch = errors.New("the peer sends more than any honest node")

// inspect looks at what a peer sent before gossipsub does; an error drops all of it. What
// the peer wrote itself counts against it, and what it passes on unless it was asked for.
func (g *Gossip) inspect(from peer.ID, rpc *pubsub.RPC) error {
	if g.offenders.struck(from) {
		g.counts.miss(RefusedPeer, len(rpc.GetPublish()))
		return errTooMuch
	}
	if !g.charge(from, reputation.Control, controlIn(rpc)) {
		g.counts.miss(TooMuch, len(rpc.GetPublish()))
		return errTooMuch
	}
	kept := rpc.Publish[:0]
	for _, m := range rpc.GetPublish() {
		if g.affords(from, m) {
			kept = append(kept, m)
		} else {
			g.counts.miss(TooMuch, 1)
		}
	}
	rpc.Publish = kept
	return nil
}

// affords reports whether a message is looked at.
func (g *Gossip) affords(from peer.ID, m *pb.Message) bool {
	if peer.ID(m.GetFrom()) == from {
		return g.charge(from, reputation.Models, modelsIn(len(m.GetData()), g.config.Rules))
	}
	return g.charge(from, reputation.Relayed, 1) && g.share.take(g.share.relayed, g.offenders.from(from), from, 1)
}

// controlIn is how many bytes of gossipsub's own an RPC has.
func controlIn(rpc *pubsub.RPC) float64 {
	bytes := proto.Size(&rpc.RPC)
	for _, m := range rpc.GetPublish() {
		bytes -= len(m.GetData())
	}
	c := rpc.GetControl()
	return float64(bytes + graftBytes*(len(c.GetGraft())+len(c.GetPrune())))
}

// guardedHost is the host that gossipsub sees: it reads nothing of refused peers, and little
// of those that open streams without end.
type guardedHost struct {
	host.Host
	gossip *Gossip
	life   context.Context // of gossipsub
}

func (h guardedHost) SetStreamHandler(id protocol.ID, f network.StreamHandler) {
	h.Host.SetStreamHandler(id, h.gossip.guard(h.life, f))
}

func (h guardedHost) SetStreamHandlerMatch(id protocol.ID, m func(protocol.ID) bool, f network.StreamHandler) {
	h.Host.SetStreamHandlerMatch(id, m, h.gossip.guard(h.life, f))
}

// guard is a handler that strikes the peer when gossipsub ends a stream that it could read
// from: what it read is nothing that gossipsub sends.
func (g *Gossip) guard(life context.Context, next network.StreamHandler) network.StreamHandler {
	return func(s network.Stream) {
		from := s.Conn().RemotePeer()
		if g.offenders.struck(from) || !g.charge(from, reputation.Streams, 1) {
			_ = s.Reset()
			return
		}
		m := &metered{Stream: s, gossip: g}
		next(m)
		if !m.broken && life.Err() == nil {
			g.counts.miss(Malformed, 1)
			g.strike(from)
		}
	}
}

// metered is a stream on which a peer does not get away with any number of short messages.
// One goroutine reads from it.
type metered struct {
	network.Stream
	gossip *Gossip
	reads  int
	broken bool // the last read failed
}

// Read implements [io.Reader].
func (m *metered) Read(b []byte) (int, error) {
	if m.reads++; m.reads >= readsAtOnce {
		m.reads = 0
		if !m.gossip.charge(m.Conn().RemotePeer(), reputation.Control, readsAtOnce*readBytes) {
			m.broken = true
			return 0, errors.Join(errTooMuch, m.Reset())
		}
	}
	n, err := m.Stream.Read(b)
	m.broken = err != nil
	return n, err
}

// scoring is how gossipsub takes over what is held against peers: one with two strikes is
// asked for nothing and gets no answer, and a refused one is not there. Gossipsub's own
// grounds are left out: without a mesh nobody can be behind in it, many honest nodes may
// share an address, and one on a busy machine keeps no promise in time.
func (g *Gossip) scoring() (*pubsub.PeerScoreParams, *pubsub.PeerScoreThresholds) {
	const doubtful, absent = -2, reputation.Worst / 2
	every := max(g.pulse, time.Second)
	return &pubsub.PeerScoreParams{
			Topics:                      make(map[string]*pubsub.TopicScoreParams),
			AppSpecificScore:            g.offenders.score,
			AppSpecificWeight:           1,
			IPColocationFactorThreshold: 1, // without a weight
			BehaviourPenaltyDecay:       pubsub.ScoreParameterDecayWithBase(reputation.Refusal, every, pubsub.DefaultDecayToZero),
			DecayInterval:               every,
			DecayToZero:                 pubsub.DefaultDecayToZero,
			RetainScore:                 reputation.Refusal,
			SeenMsgTTL:                  time.Second, // nothing is made of deliveries
		}, &pubsub.PeerScoreThresholds{
			GossipThreshold: doubtful, PublishThreshold: absent, GraylistThreshold: absent,
			AcceptPXThreshold: 1, OpportunisticGraftThreshold: 1, // nobody has so much
		}
}
