package sums

import (
	"crypto/ed25519"
	"errors"
)

// Kind says what a message between members is.
type Kind uint8

// The kinds of messages between members.
const (
	KindRecall   Kind = iota + 1 // asks what a peer holds of the sender; not signed
	KindRecalled                 // the pledge that it holds and what the other signed last, or nothing; not signed
	KindPledge                   // the sender's keys, signed by its identity
	KindNoise                    // the entry of its noise
	KindCertify                  // the opening it holds, with all noise
	KindOpening                  // an opening certified by a quorum
	KindAccept                   // entries that it holds with their seeds
	KindSeek                     // asks for the seeds of an entry
	KindSeeds                    // seeds that both ends may hold; secret
	KindList                     // a list that it proposes or is locked on
	KindPropose                  // the view's leader: the digest to vote on, and why
	KindPrepare                  // vote: nothing else in this view
	KindCommit                   // vote: locked on what a quorum prepared
	KindView                     // the sender gives up the view; its lock with proof
	KindDecided                  // a quorum's commits
	KindOpen                     // the sum of one class's streams over the list
	KindResult                   // the digest of the result
)

// Message is what one member says to others.
type Message struct {
	Kind      Kind
	By        int    // member
	Number    uint32 // the view, or the position of the class
	Payload   []byte
	Signature [ed25519.SignatureSize]byte // by By's key for this sum; zero for kinds without one
}

// signs reports whether messages of the kind carry the signature of By.
func (k Kind) signs() bool {
	switch k {
	case KindRecall, KindRecalled, KindPledge, KindOpening, KindDecided:
		return false // the message claims nothing, or its payload proves itself
	}
	return true
}

// Bytes is the message's one encoding.
func (m *Message) Bytes() []byte {
	var w writer
	w.u8(int(m.Kind))
	w.u8(m.By)
	w.u32(m.Number)
	w.variable(m.Payload)
	w.fixed(m.Signature[:])
	return w
}

// ReadMessage decodes a message. The member that hears it checks its signature.
func (s *Sum) ReadMessage(b []byte) (*Message, error) {
	r := reader{rest: b}
	m := &Message{Kind: Kind(r.u8()), By: r.u8(), Number: r.u32()}
	m.Payload = r.take(int(r.u32()))
	copy(m.Signature[:], r.take(len(m.Signature)))
	if err := r.end(); err != nil {
		return nil, err
	}
	if m.Kind < KindRecall || m.Kind > KindResult || m.By >= len(s.Committee.Members) {
		return nil, errGarbage
	}
	if !m.Kind.signs() && m.Signature != [ed25519.SignatureSize]byte{} {
		return nil, errGarbage
	}
	return m, nil
}

// LongestMessage is the most bytes of a message of this sum: one with a decision or a vector,
// or one of the others, which are below 64 KiB: acceptances have half of that, the rest a quarter.
func (s *Sum) LongestMessage() int {
	return 10 + max(s.LongestDecision(), len(Digest{})+8*s.Dimension, 1<<16) + ed25519.SignatureSize
}

var errSignature = errors.New("sums: a message was not signed by its member")

// verify checks the signature of a message that has one.
func (s *Sum) verify(k *keys, m *Message) error {
	if m.Kind.signs() && !s.proven(k, statementOf(m.Kind, m.Number, m.Payload), proof{{m.By, m.Signature}}, 1) {
		return errSignature
	}
	return nil
}

// sign makes a message of a member.
func (s *Sum) sign(k *keys, secrets Secrets, by int, kind Kind, number uint32, payload []byte) *Message {
	m := &Message{Kind: kind, By: by, Number: number, Payload: payload}
	if kind.signs() {
		copy(m.Signature[:], ed25519.Sign(secrets.sign, s.statement(k, statementOf(kind, number, payload))))
	}
	return m
}
