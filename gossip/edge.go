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
	EdgeHello EdgeKind = 1 // only exchanges rounds and newest models; changes no edge
	EdgeAsk   EdgeKind = 2 // asks for an edge, or renews its weight
	EdgeDrop  EdgeKind = 3 // gives the edge up; always accepted
)

// maxProfile bounds a public profile, in coordinates.
const maxProfile = 1024

// maxReason bounds the reason of a refusal, in bytes.
const maxReason = 256

// EdgeRequest is what the asking end of an edge says to the other. Everything
// in it is public.
type EdgeRequest struct {
	Kind      EdgeKind
	Profile   []float64 // the asker's public profile; empty: none
	Weight    float64   // W_ij as the asker computed it; >= 0, finite
	MyRound   uint64    // the asker's newest released round; 0: none
	YourRound uint64    // the newest round the asker ever heard of the receiver; 0: none
	Latest    []byte    // the asker's stored message of MyRound, for [Gossip.Hear]; empty: none
}

// EdgeReply is the answer of the other end. Everything in it is public.
type EdgeReply struct {
	Accepted  bool
	Reason    string // of a refusal, for people; cut to 256 bytes
	Profile   []float64
	MyRound   uint64 // the replier's newest released round
	YourRound uint64 // the newest round the replier ever heard of the asker
	Latest    []byte // the replier's stored message, byte for byte as published
}

func encodeRequest(r EdgeRequest) *wire.EdgeRequest {
	return &wire.EdgeRequest{
		Version: Version, Kind: uint32(r.Kind), Profile: r.Profile, Weight: r.Weight,
		MyRound: r.MyRound, YourRound: r.YourRound, Latest: r.Latest,
	}
}

func decodeRequest(data []byte) (EdgeRequest, error) {
	var w wire.EdgeRequest
	if err := unmarshal(data, &w); err != nil {
		return EdgeRequest{}, err
	}
	r := EdgeRequest{
		Kind: EdgeKind(w.Kind), Profile: w.Profile, Weight: w.Weight,
		MyRound: w.MyRound, YourRound: w.YourRound, Latest: w.Latest,
	}
	switch {
	case w.Version != Version:
		return EdgeRequest{}, malformed("version %d, not %d", w.Version, Version)
	case w.Kind < uint32(EdgeHello) || w.Kind > uint32(EdgeDrop):
		return EdgeRequest{}, malformed("unknown kind of edge request")
	case !(w.Weight >= 0) || math.IsInf(w.Weight, 1):
		return EdgeRequest{}, malformed("the weight is no finite number >= 0")
	}
	return r, checkEdge(r.Profile, r.Latest)
}

func encodeReply(r EdgeReply) *wire.EdgeReply {
	return &wire.EdgeReply{
		Version: Version, Accepted: r.Accepted, Reason: r.Reason[:min(len(r.Reason), maxReason)], Profile: r.Profile,
		MyRound: r.MyRound, YourRound: r.YourRound, Latest: r.Latest,
	}
}

func decodeReply(data []byte) (EdgeReply, error) {
	var w wire.EdgeReply
	if err := unmarshal(data, &w); err != nil {
		return EdgeReply{}, err
	}
	r := EdgeReply{
		Accepted: w.Accepted, Reason: w.Reason, Profile: w.Profile,
		MyRound: w.MyRound, YourRound: w.YourRound, Latest: w.Latest,
	}
	switch {
	case w.Version != Version:
		return EdgeReply{}, malformed("version %d, not %d", w.Version, Version)
	case len(w.Reason) > maxReason:
		return EdgeReply{}, malformed("the reason is too long")
	}
	return r, checkEdge(r.Profile, r.Latest)
}

func checkEdge(profile []float64, latest []byte) error {
	if len(profile) > maxProfile || slices.ContainsFunc(profile, notFinite) {
		return malformed("the profile is too long or not finite")
	}
	if len(latest) > MaxMessageSize {
		return malformed("the newest message is too long")
	}
	return nil
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
