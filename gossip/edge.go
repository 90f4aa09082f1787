package gossip

import (
	"math"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip/internal/wire"
)

// EdgeKind is what an edge request wants.
type EdgeKind uint8

// The kinds of edge requests.
const (
	EdgeExchange EdgeKind = 1 // tells which nodes the asker knows and asks for the same; changes no edge
	EdgeAsk      EdgeKind = 2 // asks for an edge, or renews it
	EdgeDrop     EdgeKind = 3 // gives an edge up
)

// EdgeAnswer is what came of an edge request.
type EdgeAnswer uint8

// The answers to edge requests.
const (
	EdgeDeclined EdgeAnswer = 0 // there is no edge
	EdgeAccepted EdgeAnswer = 1 // it stands as agreed here
	EdgeLater    EdgeAnswer = 2 // nothing changes; ask again in a while
)

// maxTurn is more agreements than two nodes ever reach. A farewell with this turn ends
// an edge no matter what the two have agreed on.
const maxTurn = 1 << 53

// maxReason bounds the reason of a refusal, in bytes.
const maxReason = 256

// EdgeRequest is what the asking end of an edge says to the other. Everything
// in it is public.
type EdgeRequest struct {
	Kind EdgeKind
	// Own is what is known of the asker. Its Peer is not sent: the stream tells it.
	Own   Entry
	Known []Entry // of an exchange: other nodes, at most [MaxKnown]
	// Turn counts the agreements about this edge, as far as the asker knows. The end
	// that answers gives each agreement a turn above all that either end knew.
	// Requests that cross can make two agreements with the same turn; both ends then
	// tell by who answered which one holds.
	Turn   uint64
	Latest []byte // the asker's stored message, for [Gossip.Hear]; empty: none
	// Witness belongs to the newest model that the asker has from the node it asks;
	// nil means none. Package gossip fills it in and checks that it is genuine.
	Witness *Witness
	// Holds is the round of the newest model of the asked node that the asker learns
	// from; 0 means none in this run. Package gossip fills it in, and leaves out a
	// Latest that the other end already has.
	Holds uint64

	heard    []heardOf  // of an exchange: witnesses of others
	evidence []Evidence // to send; received evidence was taken in when it was read
}

// EdgeReply is the answer of the other end. Everything in it is public.
type EdgeReply struct {
	Answer EdgeAnswer
	Reason string  // of a refusal, for people; cut to 256 bytes
	Own    Entry   // as in the request
	Known  []Entry // as in the request
	Turn   uint64  // of this agreement
	Latest []byte  // the replier's stored message, byte for byte as published
	// Witness belongs to the newest model that the replier has from the node that
	// asked; nil means none. Package gossip fills it in and checks that it is genuine.
	Witness *Witness
	Holds   uint64 // as in the request

	heard    []heardOf  // as in the request
	evidence []Evidence // as in the request
}

func encodeRequest(r EdgeRequest) *wire.EdgeRequest {
	return &wire.EdgeRequest{
		Version: Version, Kind: uint32(r.Kind),
		Own: encodeEntry(&r.Own), Known: encodeEntries(r.Known), Turn: r.Turn,
		Latest: r.Latest, Witness: encodeWitness(r.Witness), Holds: r.Holds,
		Heard: encodeHeard(r.heard), Evidence: encodeEvidence(r.evidence),
	}
}

// decodeRequest checks untrusted bytes from an authenticated peer.
func (g *Gossip) decodeRequest(data []byte, from peer.ID) (EdgeRequest, error) {
	var w wire.EdgeRequest
	if err := unmarshal(data, &w); err != nil {
		return EdgeRequest{}, err
	}
	switch {
	case w.Version != Version:
		return EdgeRequest{}, malformed("version %d, not %d", w.Version, Version)
	case w.Kind < uint32(EdgeExchange) || w.Kind > uint32(EdgeDrop):
		return EdgeRequest{}, malformed("unknown kind of edge request")
	}
	r := EdgeRequest{Kind: EdgeKind(w.Kind), Latest: w.Latest, Holds: w.Holds}
	// Entries that this node has not asked for are checked only while there is time.
	common, err := g.decodeCommon(&w, from, func() bool { return g.share.take(g.share.checks, g.offenders.from(from), from, 1) })
	r.Own, r.Known, r.Turn, r.Witness = common.own, common.known, common.turn, common.witness
	return r, err
}

func encodeReply(r EdgeReply) *wire.EdgeReply {
	return &wire.EdgeReply{
		Version: Version, Answer: uint32(r.Answer), Reason: r.Reason[:min(len(r.Reason), maxReason)],
		Own: encodeEntry(&r.Own), Known: encodeEntries(r.Known), Turn: r.Turn,
		Latest: r.Latest, Witness: encodeWitness(r.Witness), Holds: r.Holds,
		Heard: encodeHeard(r.heard), Evidence: encodeEvidence(r.evidence),
	}
}

// decodeReply checks the untrusted bytes of an answer from an authenticated peer.
func (g *Gossip) decodeReply(data []byte, from peer.ID) (EdgeReply, error) {
	var w wire.EdgeReply
	if err := unmarshal(data, &w); err != nil {
		return EdgeReply{}, err
	}
	switch {
	case w.Version != Version:
		return EdgeReply{}, malformed("version %d, not %d", w.Version, Version)
	case w.Answer > uint32(EdgeLater):
		return EdgeReply{}, malformed("unknown answer to an edge request")
	case len(w.Reason) > maxReason:
		return EdgeReply{}, malformed("the reason is too long")
	}
	r := EdgeReply{Answer: EdgeAnswer(w.Answer), Reason: w.Reason, Latest: w.Latest, Holds: w.Holds}
	common, err := g.decodeCommon(&w, from, func() bool { return true })
	r.Own, r.Known, r.Turn, r.Witness = common.own, common.known, common.turn, common.witness
	return r, err
}

// common holds the fields that a request and a reply share.
type common struct {
	own     Entry
	known   []Entry
	turn    uint64
	witness *Witness
}

// edgeMessage is a request or a reply.
type edgeMessage interface {
	GetOwn() *wire.Entry
	GetKnown() []*wire.Entry
	GetTurn() uint64
	GetLatest() []byte
	GetWitness() *wire.Witness
	GetHeard() []*wire.Heard
	GetEvidence() []*wire.Evidence
}

func (g *Gossip) decodeCommon(w edgeMessage, from peer.ID, spared func() bool) (c common, err error) {
	if len(w.GetLatest()) > largest(g.config.Rules) {
		return c, malformed("the newest message is too long")
	}
	read := entryReader{g.config.Network, g.config.Vector, spared}
	if c.own, err = read.own(w.GetOwn(), from); err != nil {
		return c, err
	}
	if c.known, err = read.known(w.GetKnown()); err != nil {
		return c, err
	}
	if c.turn = w.GetTurn(); c.turn > maxTurn {
		return c, malformed("too many agreements about one edge")
	}
	if c.witness, err = g.config.Signer.decodeWitness(w.GetWitness()); err != nil {
		return c, err
	}
	heard, err := decodeHeard(w.GetHeard())
	if err != nil {
		return c, err
	}
	g.compare(heard, spared)
	return c, g.takeEvidence(w.GetEvidence())
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
