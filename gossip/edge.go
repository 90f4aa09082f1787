package gossip

import (
	"math"
	"slices"

	"p2pnode/gossip/internal/wire"
)

// EdgeKind is what an edge request wants.
type EdgeKind uint8

// The kinds of edge requests.
const (
	EdgeHello EdgeKind = 1 // only exchanges profiles; changes no edge
	EdgeAsk   EdgeKind = 2 // asks for an edge, or renews it
)

// maxProfile bounds a public profile, in coordinates.
const maxProfile = 1024

// maxReason bounds the reason of a refusal, in bytes.
const maxReason = 256

// EdgeRequest is what the asking end of an edge says to the other. Everything
// in it is public.
type EdgeRequest struct {
	Kind    EdgeKind
	Profile []float64 // the asker's public profile; empty: none
	Latest  []byte    // the asker's stored message, for [Gossip.Hear]; empty: none
	// Witness is of the newest model that the asker has of the node that is
	// asked; nil: none. Package gossip fills it in, and checks that it is genuine.
	Witness *Witness
}

// EdgeReply is the answer of the other end. Everything in it is public.
type EdgeReply struct {
	Accepted bool
	Reason   string // of a refusal, for people; cut to 256 bytes
	Profile  []float64
	Latest   []byte // the replier's stored message, byte for byte as published
	// Witness is of the newest model that the replier has of the node that asked;
	// nil: none. Package gossip fills it in, and checks that it is genuine.
	Witness *Witness
}

func encodeRequest(r EdgeRequest) *wire.EdgeRequest {
	return &wire.EdgeRequest{
		Version: Version, Kind: uint32(r.Kind),
		Profile: r.Profile, Latest: r.Latest, Witness: encodeWitness(r.Witness),
	}
}

func (s *Signer) decodeRequest(data []byte) (EdgeRequest, error) {
	var w wire.EdgeRequest
	if err := unmarshal(data, &w); err != nil {
		return EdgeRequest{}, err
	}
	r := EdgeRequest{Kind: EdgeKind(w.Kind), Profile: w.Profile, Latest: w.Latest}
	switch {
	case w.Version != Version:
		return EdgeRequest{}, malformed("version %d, not %d", w.Version, Version)
	case w.Kind < uint32(EdgeHello) || w.Kind > uint32(EdgeAsk):
		return EdgeRequest{}, malformed("unknown kind of edge request")
	}
	if err := checkEdge(r.Profile, r.Latest); err != nil {
		return EdgeRequest{}, err
	}
	var err error
	r.Witness, err = s.decodeWitness(w.Witness)
	return r, err
}

func encodeReply(r EdgeReply) *wire.EdgeReply {
	return &wire.EdgeReply{
		Version: Version, Accepted: r.Accepted, Reason: r.Reason[:min(len(r.Reason), maxReason)],
		Profile: r.Profile, Latest: r.Latest, Witness: encodeWitness(r.Witness),
	}
}

func (s *Signer) decodeReply(data []byte) (EdgeReply, error) {
	var w wire.EdgeReply
	if err := unmarshal(data, &w); err != nil {
		return EdgeReply{}, err
	}
	r := EdgeReply{Accepted: w.Accepted, Reason: w.Reason, Profile: w.Profile, Latest: w.Latest}
	switch {
	case w.Version != Version:
		return EdgeReply{}, malformed("version %d, not %d", w.Version, Version)
	case len(w.Reason) > maxReason:
		return EdgeReply{}, malformed("the reason is too long")
	}
	if err := checkEdge(r.Profile, r.Latest); err != nil {
		return EdgeReply{}, err
	}
	var err error
	r.Witness, err = s.decodeWitness(w.Witness)
	return r, err
}

func checkEdge(profile []float64, latest []byte) error {
	if len(profile) > maxProfile || slices.ContainsFunc(profile, notFinite) {
		return malformed("the profile is too long or not finite")
	}
	if len(latest) > maxMessageSize {
		return malformed("the newest message is too long")
	}
	return nil
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
