package gossip

import (
	"context"
	"errors"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"p2pnode/gossip/reputation"
	"p2pnode/learner"
)

// validate decides about a message. Reject means that
// no honest node would have sent or relayed it; Ignore means that it is stale or
// not for this node; Accept means that it has been delivered, though the inbox
// keeps it only if not too many newer ones wait there.
func (g *Gossip) validate(_ context.Context, via peer.ID, m *pubsub.Message) pubsub.ValidationResult {
	if via == g.host.ID() {
		return pubsub.ValidationAccept
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return g.refuse(Malformed) // nobody has signed that
	}
	if m.GetTopic() == newsTopic(g.config.Network) {
		return g.validateNews(m.GetData())
	}
	g.mu.Lock()
	f := g.follows[m.GetTopic()]
	g.mu.Unlock()
	switch {
	case f == nil:
		return g.refuse(NotFollowed)
	case g.offenders.Contains(f.peer):
		// The peer that passes the message on cannot know that, and is not struck.
		return g.refuse(RefusedPeer)
	}
	model, witness, err := g.open(f.peer, m.GetData())
	if err != nil {
		return g.refuse(faultOf(err))
	}
	if !g.arrived(f.peer, witness) {
		return g.refuse(Stale)
	}
	g.counts.delivered.Add(1)
	g.deliver(f.peer, model)
	return pubsub.ValidationAccept
}

// faultOf is the reason for which a message is rejected.
func faultOf(err error) Reason {
	if errors.Is(err, errForged) {
		return BadSignature
	}
	return Malformed
}

// refuse counts a message that is rejected or ignored, and returns which of both.
func (g *Gossip) refuse(r Reason) pubsub.ValidationResult {
	g.counts.miss(r, 1)
	if r.Outcome() == Rejected {
		return pubsub.ValidationReject
	}
	return pubsub.ValidationIgnore
}

// Hear takes a stored model that its author served over an edge stream, under
// the same checks as a broadcast, and puts it into the inbox. It counts neither
// as delivered nor against a broadcast of the same round. Every
// error is a complaint about the model and says nothing of its values.
func (g *Gossip) Hear(author peer.ID, data []byte) (learner.Message, error) {
	model, witness, err := g.open(author, data)
	if err != nil {
		g.strike(author)
		return learner.Message{}, err
	}
	g.served(author, witness)
	g.deliver(author, model)
	return model, nil
}

// open checks a model and its author's proof. Without the proof, an author could tell a
// model to one neighbour and deny it to another.
func (g *Gossip) open(author peer.ID, data []byte) (learner.Message, Witness, error) {
	model, witness, err := decode(data, ID(author), g.config.Rules)
	if err == nil && !signedBy(g.config.Network, author, witness) {
		err = errForged
	}
	return model, witness, err
}

// deliver puts a model into the inbox.
func (g *Gossip) deliver(author peer.ID, m learner.Message) {
	g.mu.Lock()
	if f := g.followOf(author); f != nil {
		f.arrived = max(f.arrived, m.Round)
	}
	g.mu.Unlock()
	g.inbox.put(m)
}

// tracer is how gossipsub tells what it did with a message and with a peer. It
// is called from gossipsub's goroutines and must not call back into it.
type tracer struct {
	gossip        *Gossip
	subscriptions *subscriptions
}

// RejectMessage counts what gossipsub itself refused, and strikes the peer that sent a
// rejected message.
func (t *tracer) RejectMessage(m *pubsub.Message, reason string) {
	counts := &t.gossip.counts
	switch reason {
	case pubsub.RejectValidationIgnored: // validate has counted it
	case pubsub.RejectBlacklstedPeer:
		counts.miss(RefusedPeer, 1)
	case pubsub.RejectValidationQueueFull, pubsub.RejectValidationThrottled:
		counts.miss(QueueFull, 1)
	case pubsub.RejectValidationFailed: // validate has counted it
		t.gossip.strike(m.ReceivedFrom)
	default: // it names an author, or has a signature of gossipsub
		counts.miss(Malformed, 1)
		t.gossip.strike(m.ReceivedFrom)
	}
}

// SendRPC gives a peer credit for the messages that this node asks for.
func (t *tracer) SendRPC(rpc *pubsub.RPC, p peer.ID) {
	asked := 0
	for _, want := range rpc.GetControl().GetIwant() {
		asked += len(want.GetMessageIDs())
	}
	if asked > 0 {
		t.gossip.charge(p, reputation.Relayed, -float64(asked))
	}
}

// DropRPC counts the models that a full queue kept from a peer.
func (t *tracer) DropRPC(rpc *pubsub.RPC, _ peer.ID) {
	t.gossip.counts.miss(QueueFull, len(rpc.GetPublish()))
}

// OnClosedOutboundStream forgets the subscriptions of a peer that is gone.
func (t *tracer) OnClosedOutboundStream(p peer.ID) { t.subscriptions.forget(p) }

// OnNewOutboundStream implements [pubsub.RawTracer] and does nothing.
func (*tracer) OnNewOutboundStream(peer.ID, protocol.ID) {}

// Join implements [pubsub.RawTracer] and does nothing.
func (*tracer) Join(string) {}

// Leave implements [pubsub.RawTracer] and does nothing.
func (*tracer) Leave(string) {}

// Graft implements [pubsub.RawTracer] and does nothing.
func (*tracer) Graft(peer.ID, string) {}

// Prune implements [pubsub.RawTracer] and does nothing.
func (*tracer) Prune(peer.ID, string) {}

// ValidateMessage implements [pubsub.RawTracer] and does nothing.
func (*tracer) ValidateMessage(*pubsub.Message) {}

// DeliverMessage implements [pubsub.RawTracer] and does nothing.
func (*tracer) DeliverMessage(*pubsub.Message) {}

// DuplicateMessage implements [pubsub.RawTracer] and does nothing.
func (*tracer) DuplicateMessage(*pubsub.Message) {}

// ThrottlePeer implements [pubsub.RawTracer] and does nothing.
func (*tracer) ThrottlePeer(peer.ID) {}

// RecvRPC implements [pubsub.RawTracer] and does nothing.
func (*tracer) RecvRPC(*pubsub.RPC) {}

// UndeliverableMessage implements [pubsub.RawTracer] and does nothing.
func (*tracer) UndeliverableMessage(*pubsub.Message) {}
