package node

import (
	"bytes"
	"errors"
	"testing"

	"p2pnode/learner"
	"p2pnode/storage"
)

func broadcast(round uint64) learner.Message {
	return learner.Message{Kind: learner.KindModel, Round: round, Real: make([]float64, 3)}
}

// A broadcast that carries no release is committed, and nobody pays for it; what
// follows an unprotected release, or none, goes out at once.
func TestPublicRoundsAreCommittedAndFree(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	s.loop.wake()
	for _, c := range []struct {
		m       learner.Message
		carried release
	}{{broadcast(3), release{}}, {broadcast(4), release{}}} {
		if err := s.loop.dispatch([]learner.Message{c.m}, c.carried); err != nil {
			t.Fatal(err)
		}
		o := <-s.loop.outgoing
		round, message := n.ledger.Outgoing()
		if round != c.m.Round || !bytes.Equal(message, o.message) || o.at != 0 {
			t.Errorf("round %d: stored as round %d, leaves at %v", c.m.Round, round, o.at)
		}
	}
	if err := s.loop.dispatch([]learner.Message{broadcast(4)}, release{}); !errors.Is(err, storage.ErrRound) {
		t.Errorf("a public round twice: %v", err)
	}
	if lines, err := n.ledger.Lines(); err != nil || len(lines) != 0 || n.ledger.Round() != 4 {
		t.Errorf("%d entries, round %d, %v; want none and 4", len(lines), n.ledger.Round(), err)
	}
	// What peers may hold of public rounds is judged like any other.
	if err := s.hood.history.compare(testWitness(t, n, 4, 0)); err != nil {
		t.Errorf("its own round: %v", err)
	}
	for _, w := range []struct {
		round uint64
		value float64
	}{{4, 1}, {5, 0}} {
		if err := s.hood.history.compare(testWitness(t, n, w.round, w.value)); !errors.Is(err, ErrRolledBack) {
			t.Errorf("round %d with value %v: %v", w.round, w.value, err)
		}
	}
}

// A release is committed before anything of it leaves, with its own broadcast, or
// with the state alone if it goes to single peers; all of it waits for the same slot,
// however long the first of it waits in the queue.
func TestWhatFollowsAReleaseIsCommittedFirst(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	s.loop.wake()
	ack := learner.Message{To: "somebody", Kind: learner.KindAck, Round: 1, Real: []float64{1}}
	pay(t, n, 1)
	if err := s.loop.dispatch([]learner.Message{ack, broadcast(1)}, release{1, publicSlot{s.loop.woke, slot}}); err != nil {
		t.Fatal(err)
	}
	if round, message := n.ledger.Outgoing(); round != 1 || len(message) == 0 {
		t.Errorf("stored round %d with %d bytes", round, len(message))
	}
	first := <-s.loop.outgoing
	for _, o := range []outgoing{first, <-s.loop.outgoing} {
		if at := o.at; at != first.at || at%slot != 0 || at < s.loop.woke+slot {
			t.Errorf("leaves at %v after the wake at %v", at, s.loop.woke)
		}
	}
	gradient := learner.Message{To: "somebody", Kind: learner.KindGradient, Round: 2, Real: make([]float64, 3)}
	pay(t, n, 2)
	if err := s.loop.dispatch([]learner.Message{gradient, gradient}, release{2, publicSlot{s.loop.woke, slot}}); err != nil {
		t.Fatal(err)
	}
	if round, message := n.ledger.Outgoing(); round != 2 || len(message) != 0 || n.ledger.State() == nil {
		t.Errorf("stored round %d with %d bytes", round, len(message))
	}
	s.loop.wake()
	if err := s.loop.dispatch([]learner.Message{ack}, release{}); err != nil {
		t.Fatal(err)
	}
	for len(s.loop.outgoing) > 1 {
		<-s.loop.outgoing
	}
	if o := <-s.loop.outgoing; o.at != 0 || o.message != nil {
		t.Errorf("an acknowledgement leaves at %v", o.at)
	}
}
