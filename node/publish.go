package node

import (
	"context"
	"fmt"
	"time"

	"p2pnode/learner"
)

// maxOutgoing is how many messages can wait for their turn.
const maxOutgoing = 64

// outgoing is one message that will be sent: the bytes of a broadcast, or else a directed
// message.
type outgoing struct {
	message  []byte
	estimate *learner.Estimate // what is published with the broadcast; nil: nothing
	directed learner.Message
	at       time.Duration // when it is sent, on the agent's clock; if the time has passed, it is sent at once
}

// release is the release whose messages are sent, and the time at which they are sent.
// The zero release is no release.
type release struct {
	round uint64
	slot  publicSlot
}

// dispatch commits the messages of a release and puts them into the queue in their order.
func (l *loop) dispatch(messages []learner.Message, r release) error {
	if len(messages) == 0 {
		return nil
	}
	broadcasts := 0
	for _, m := range messages {
		if m.To == "" && m.Round == r.round {
			broadcasts++
		}
	}
	if r.round > 0 && broadcasts == 0 {
		// The release goes to single peers, so it is not served to late comers.
		if err := l.commit(r.round, nil, l.door.ledger.Commit); err != nil {
			return err
		}
	}
	out := make([]outgoing, len(messages))
	for i, m := range messages {
		out[i].directed = m
		if m.To == "" {
			var err error
			if out[i].message, err = l.encode(m, r); err != nil {
				return err
			}
			out[i].estimate = l.agent.State().Estimate
		}
	}
	// All messages of a release have one slot. A message keeps its slot even if it has to
	// wait for earlier ones, so only the work of its own release can make it late.
	at := r.slot.at(l.now())
	for _, o := range out {
		o.at = at
		select {
		case l.outgoing <- o:
		case <-l.stopping:
		}
	}
	return nil
}

// encode returns the bytes of a broadcast, which are then on disk together with the
// agent's state. A broadcast that does not carry the release is a public function of what
// was published before, so nobody pays for it.
func (l *loop) encode(m learner.Message, r release) ([]byte, error) {
	message, err := l.signer.Encode(m)
	if err != nil {
		return nil, fmt.Errorf("node: encode round %d: %w", m.Round, err)
	}
	store := l.door.ledger.CommitPublic
	if m.Round == r.round {
		store = l.door.ledger.Commit
	}
	return message, l.commit(m.Round, message, store)
}

func (l *loop) commit(round uint64, message []byte, store func(round uint64, message, state []byte) error) error {
	state, err := encodeMemory(l.agent.State(), l.network, l.gossip, l.hood.audience)
	if err != nil {
		return fmt.Errorf("node: encode the state of round %d: %w", round, err)
	}
	if err := store(round, message, state); err != nil {
		return fmt.Errorf("node: commit round %d: %w", round, err)
	}
	l.saved = time.Now()
	return nil
}

// publish sends each message in its turn until ctx ends or a peer contradicts this node's
// history. It runs on a goroutine of its own, because what the loop computes meanwhile
// must not delay a message.
func (l *loop) publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-l.outgoing:
			if wait := o.at - l.now(); wait > 0 {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
			if l.history.contradiction() != nil {
				return
			}
			l.send(ctx, o)
		}
	}
}

func (l *loop) send(ctx context.Context, o outgoing) {
	if o.message == nil {
		if err := l.gossip.Send(o.directed); err != nil {
			l.log.Debug("directed message not sent", "to", o.directed.To, "error", err)
		}
		return
	}
	l.hood.serve(o.message, o.estimate)
	if err := l.gossip.Publish(ctx, o.message); err != nil {
		// The message is stored, and neighbours get it when they next renew the edge.
		l.log.Warn("publish failed", "error", err)
	}
}
