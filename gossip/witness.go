package gossip

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/crypto"
	"google.golang.org/protobuf/encoding/protowire"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// Witness is the part of a model that a peer keeps. A peer sends the newest one back to
// its author: the author's own signature shows that it published the round, even if it
// no longer knows. A peer also compares it with what others have of that author, see
// [Evidence].
type Witness struct {
	Round uint64
	Hash  []byte // SHA-256 of the encoded model without its proof
	Proof []byte // the author's signature
}

// proofDomain begins every statement about a model that a [Signer] signs, so that a
// signature made for another purpose cannot pass for a proof.
const proofDomain = "p2pnode model proof\x00"

// maxProof bounds a signature, in bytes; those of Ed25519 have 64.
const maxProof = 128

// proofField is the number of the proof in wire.Model, the last of all.
const proofField protowire.Number = 7

// Signer encodes the models of one node in one network, each with a proof of
// who made it, and recognises its own. It is safe for concurrent use.
type Signer struct {
	key     crypto.PrivKey
	network string
}

// NewSigner returns a signer with the node's identity for the network that
// [Config] names.
func NewSigner(key crypto.PrivKey, network string) *Signer {
	return &Signer{key, network}
}

// Encode returns the bytes of a broadcast model, which end with the proof. From
// is left out: it is the signer of the message that carries the bytes.
func (s *Signer) Encode(m learner.Message) ([]byte, error) {
	if m.To != "" || m.Kind != learner.KindModel || m.Round == 0 {
		return nil, errors.New("gossip: only a broadcast model of round 1 or later can be encoded")
	}
	if len(m.Real)+len(m.Ring) == 0 {
		return nil, errors.New("gossip: a model without numbers cannot be encoded")
	}
	body, err := encodeBody(m)
	if err != nil {
		return nil, fmt.Errorf("gossip: encode the model: %w", err)
	}
	hash := sha256.Sum256(body)
	proof, err := s.key.Sign(statement(s.network, m.Round, hash[:]))
	if err != nil {
		return nil, fmt.Errorf("gossip: sign the model: %w", err)
	}
	data := appendProof(body, proof)
	if len(data) > maxMessageSize {
		return nil, fmt.Errorf("gossip: a model of %d coordinates exceeds %d bytes", len(m.Real), maxMessageSize)
	}
	return data, nil
}

// made reports whether the proof in the witness is this signer's signature.
func (s *Signer) made(w Witness) bool {
	ok, err := s.key.GetPublic().Verify(statement(s.network, w.Round, w.Hash), w.Proof)
	return ok && err == nil
}

// statement returns the bytes that are signed. All fields but the network's name,
// which comes last, have fixed lengths.
func statement(network string, round uint64, hash []byte) []byte {
	text := binary.BigEndian.AppendUint64([]byte(proofDomain), round)
	return append(append(text, hash...), network...)
}

func appendProof(body, proof []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(body, proofField, protowire.BytesType), proof)
}

// WitnessOf returns the witness of an encoded model. It does not check the signature.
func WitnessOf(data []byte) (Witness, error) {
	var w wire.Model
	if err := unmarshal(data, &w); err != nil {
		return Witness{}, err
	}
	return witnessOf(data, &w)
}

// witnessOf takes the proof off the end of a model's bytes and hashes the rest.
func witnessOf(data []byte, w *wire.Model) (Witness, error) {
	body, last := bytes.CutSuffix(data, appendProof(nil, w.Proof))
	if len(w.Proof) == 0 || len(w.Proof) > maxProof || !last {
		return Witness{}, malformed("the proof is missing, too long or not at the end")
	}
	hash := sha256.Sum256(body)
	return Witness{Round: w.Round, Hash: hash[:], Proof: w.Proof}, nil
}

func encodeWitness(w *Witness) *wire.Witness {
	if w == nil {
		return nil
	}
	return &wire.Witness{Round: w.Round, Hash: w.Hash, Proof: w.Proof}
}

// decodeWitness refuses a witness that this node has not signed. An honest peer
// has only witnesses that their author made.
func (s *Signer) decodeWitness(w *wire.Witness) (*Witness, error) {
	if w == nil {
		return nil, nil
	}
	out, err := shapeOf(w)
	if err != nil {
		return nil, err
	}
	if !s.made(out) {
		return nil, malformed("the witness is forged")
	}
	return &out, nil
}

// shapeOf returns a witness whose signature is not checked.
func shapeOf(w *wire.Witness) (Witness, error) {
	switch {
	case w == nil || w.Round == 0 || len(w.Hash) != sha256.Size || len(w.Proof) > maxProof:
		return Witness{}, malformed("a witness has a wrong shape")
	case len(w.ProtoReflect().GetUnknown()) > 0:
		return Witness{}, malformed("unknown fields")
	}
	return Witness{Round: w.Round, Hash: w.Hash, Proof: w.Proof}, nil
}
