package gossip

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-msgio"
	"google.golang.org/protobuf/proto"
)

// edgeTimeout bounds one exchange, both ways.
const edgeTimeout = 10 * time.Second

func edgeProtocol(netName string) protocol.ID {
	return protocol.ID("/p2pnode/" + netName + "/edge/1")
}

// Ask sends a request to a peer and waits at most 10 s for its answer. It dials
// the peer if the host knows its addresses. If the peer's witness is forged, Ask
// fails and counts a bad message against the peer.
func (g *Gossip) Ask(ctx context.Context, p peer.ID, r EdgeRequest) (EdgeReply, error) {
	if err := g.refusal(p); err != nil {
		return EdgeReply{}, fmt.Errorf("gossip: ask %s: %w", p, err)
	}
	ctx, cancel := context.WithTimeout(ctx, edgeTimeout)
	defer cancel()
	s, err := g.host.NewStream(ctx, p, edgeProtocol(g.config.Network))
	if err != nil {
		return EdgeReply{}, fmt.Errorf("gossip: ask %s: %w", p, err)
	}
	defer bound(ctx, s)()
	r.Witness, r.evidence = g.witness(p), g.evidence.carried()
	if r.Kind == EdgeExchange {
		r.heard = g.tell(p)
	}
	var theirs uint64
	if r.Holds, theirs = g.holdings(p); holds(theirs, r.Latest) {
		r.Latest = nil
	}
	reply, err := g.exchange(s, r)
	if errors.Is(err, errMalformed) {
		g.strike(p)
	}
	if err != nil {
		return EdgeReply{}, fmt.Errorf("gossip: ask %s: %w", p, errors.Join(ctx.Err(), err))
	}
	g.toldHeld(p, reply.Holds)
	return reply, nil
}

func (g *Gossip) exchange(s network.Stream, r EdgeRequest) (EdgeReply, error) {
	if _, err := writeEdge(s, encodeRequest(r)); err != nil {
		return EdgeReply{}, err
	}
	if err := s.CloseWrite(); err != nil {
		return EdgeReply{}, err
	}
	data, err := g.readEdge(s)
	if err != nil {
		return EdgeReply{}, err
	}
	return g.decodeReply(data, s.Conn().RemotePeer())
}

// bound resets the stream when ctx ends. The returned function must be called
// when the exchange is over; it closes the stream.
func bound(ctx context.Context, s network.Stream) func() {
	release := context.AfterFunc(ctx, func() { _ = s.Reset() })
	return func() {
		if release() {
			_ = s.Close()
		}
	}
}

// writeEdge returns how many bytes it had to write.
func writeEdge(s network.Stream, m proto.Message) (int, error) {
	data, err := proto.Marshal(m)
	if err != nil {
		return 0, err
	}
	return len(data), msgio.NewVarintWriter(s).WriteMsg(data)
}

// maxEdgeSize bounds one edge message: a model, entries, a few numbers.
func (g *Gossip) maxEdgeSize() int {
	return largest(g.config.Rules) + 1024 + maxEvidenceSize + (MaxKnown+1)*(maxEntrySize+8*g.config.Vector)
}

func (g *Gossip) readEdge(s network.Stream) ([]byte, error) {
	data, err := msgio.NewVarintReaderSize(s, g.maxEdgeSize()).ReadMsg()
	if errors.Is(err, msgio.ErrMsgTooLarge) {
		return nil, malformed("more than %d bytes", g.maxEdgeSize())
	}
	return data, err
}

// errBusy says that too many ask at once for this peer to be answered.
var errBusy = errors.New("gossip: too many edge requests")

// answerEdge answers one request.
func (g *Gossip) answerEdge(ctx context.Context, s network.Stream, from peer.ID) error {
	if !g.share.take(g.share.requests, g.offenders.from(from), from, 1) {
		return errBusy
	}
	data, err := g.readEdge(s)
	if err != nil {
		return err
	}
	request, err := g.decodeRequest(data, from)
	if err != nil {
		return err
	}
	reply := g.config.OnEdge(ctx, from, request)
	if err := ctx.Err(); err != nil {
		return err // too late: what a node says at its end must not pass for a refusal
	}
	g.toldHeld(from, request.Holds)
	reply.Witness, reply.evidence = g.witness(from), g.evidence.carried()
	if request.Kind == EdgeExchange {
		reply.heard = g.tell(from)
	}
	if reply.Holds, _ = g.holdings(from); holds(request.Holds, reply.Latest) {
		reply.Latest = nil
	}
	n, err := writeEdge(s, encodeReply(reply))
	g.edges.sent(from, s, n)
	return err
}
