package gossip

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// Version is the wire version. Messages of any other version are malformed:
// nodes of different versions belong to different networks. Version 2 added the
// proof of a model and the witnesses, version 3 directed messages, version 4 the
// entries of the similarity graph and the standing of edges. Under version 5 columns
// of numbers are scaled, so the coordinates of models mean something else; models are in
// single precision where noise hides the rest, and not sent to a peer that holds them.
// Version 6 took gossipsub's signature away, which said what the proof says.
const Version = 6

// maxMessageSize bounds an encoded message of any task, in bytes. What a network
// accepts follows from its rules; see largest.
const maxMessageSize = 8*learner.MaxDimension + headerSize

// headerSize bounds the bytes of an encoded message beside its coordinates: nine
// tags, five varints, one double, three lengths and the proof, with room to spare.
const headerSize = 64 + maxProof

// errMalformed is wrapped by every error about the content of a message. No honest
// node sends a malformed message.
var errMalformed = errors.New("malformed message")

// errForged says that a proof is not its author's signature.
var errForged = malformed("the proof is not the author's")

// encodeBody returns the bytes of a message without a proof. They hold every number to
// the bit, with half the bytes if single precision can hold it: agents round away what
// noise hides.
func encodeBody(m learner.Message) ([]byte, error) {
	w := &wire.Model{
		Version:  Version,
		Kind:     uint32(m.Kind),
		Round:    m.Round,
		Attempt:  m.Attempt,
		NoiseStd: m.NoiseStd,
		Degree:   uint32(m.Degree),
		Ring:     m.Ring,
	}
	if learner.IsSingle(m.Real) {
		w.Single = make([]float32, len(m.Real))
		for i, x := range m.Real {
			w.Single[i] = float32(x)
		}
	} else {
		w.Value = m.Real
	}
	return proto.Marshal(w)
}

// realOf returns the coordinates of a message. Only one of the two fields has any.
func realOf(w *wire.Model) []float64 {
	if len(w.Single) == 0 {
		return w.Value
	}
	real := make([]float64, len(w.Single))
	for i, x := range w.Single {
		real[i] = float64(x)
	}
	return real
}

// encodeDirected returns the bytes of a message to one peer. They carry no proof:
// the stream says who sent them.
func encodeDirected(m learner.Message) ([]byte, error) {
	if m.To == "" || !m.Kind.Directed() || m.Round == 0 {
		return nil, fmt.Errorf("gossip: a message of kind %d, round %d, to %q is not a directed message", m.Kind, m.Round, m.To)
	}
	data, err := encodeBody(m)
	if err != nil {
		return nil, fmt.Errorf("gossip: encode a directed message: %w", err)
	}
	if len(data) > maxMessageSize {
		return nil, fmt.Errorf("gossip: a message of %d bytes exceeds %d", len(data), maxMessageSize)
	}
	return data, nil
}

// decode checks untrusted bytes that were broadcast. It returns the model they
// hold, with From set to the given author, and the model's witness. The
// proof in the witness is not checked. All
// errors wrap errMalformed and reveal nothing of the values.
func decode(data []byte, from learner.ID, r learner.Rules) (learner.Message, Witness, error) {
	w, real, err := read(data, from, r)
	if err != nil {
		return learner.Message{}, Witness{}, err
	}
	if learner.Kind(w.Kind) != learner.KindModel {
		return learner.Message{}, Witness{}, malformed("kind %d is never broadcast", w.Kind)
	}
	witness, err := witnessOf(data, w)
	if err != nil {
		return learner.Message{}, Witness{}, err
	}
	return messageOf(w, real, from, ""), witness, nil
}

// decodeDirected checks untrusted bytes that their author sent to this node over a
// stream, and returns the message they hold.
func decodeDirected(data []byte, from, to learner.ID, r learner.Rules) (learner.Message, error) {
	w, real, err := read(data, from, r)
	switch {
	case err != nil:
		return learner.Message{}, err
	case !learner.Kind(w.Kind).Directed():
		return learner.Message{}, malformed("kind %d is never sent to one peer", w.Kind)
	case len(w.Proof) > 0:
		return learner.Message{}, malformed("a directed message with a proof")
	}
	return messageOf(w, real, from, to), nil
}

func read(data []byte, from learner.ID, r learner.Rules) (w *wire.Model, real []float64, err error) {
	if len(data) > largest(r) {
		return nil, nil, malformed("the message has %d bytes, more than any allowed kind", len(data))
	}
	w = new(wire.Model)
	if err := unmarshal(data, w); err != nil {
		return nil, nil, err
	}
	real = realOf(w)
	return w, real, admit(r, w, real, from)
}

func messageOf(w *wire.Model, real []float64, from, to learner.ID) learner.Message {
	return learner.Message{
		From:     from,
		To:       to,
		Kind:     learner.Kind(w.Kind),
		Round:    w.Round,
		Attempt:  w.Attempt,
		Degree:   int(w.Degree),
		NoiseStd: w.NoiseStd,
		Real:     real,
		Ring:     w.Ring,
	}
}

// unmarshal rejects unknown fields: two nodes must never disagree on what a
// message says.
func unmarshal(data []byte, w proto.Message) error {
	if err := proto.Unmarshal(data, w); err != nil {
		return malformed("the bytes are not a protobuf message")
	}
	if len(w.ProtoReflect().GetUnknown()) > 0 {
		return malformed("unknown fields")
	}
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("gossip: %w: "+format, append([]any{errMalformed}, args...)...)
}

// ModelBytes is the number of bytes of a usual broadcast model with this many coordinates,
// with its proof: in single precision, of one of the first 127 rounds, with a noise level and a
// degree. One without these two is 11 bytes shorter; double precision takes 4 bytes more for
// each coordinate, and a later round up to 9 more.
func ModelBytes(dimension int) int {
	m := learner.Message{Kind: learner.KindModel, Round: 1, NoiseStd: 1, Degree: 1, Real: make([]float64, dimension)}
	body, err := encodeBody(m)
	if err != nil {
		panic("gossip: a model of zeros has no encoding: " + err.Error())
	}
	return len(appendProof(body, make([]byte, ed25519.SignatureSize)))
}
