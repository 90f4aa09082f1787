package gossip

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	if g.offenders.Contains(p) {
		return EdgeReply{}, fmt.Errorf("gossip: ask %s: the peer is refused for its bad messages", p)
	}
	ctx, cancel := context.WithTimeout(ctx, edgeTimeout)
	defer cancel()
	s, err := g.host.NewStream(ctx, p, edgeProtocol(g.config.Network))
	if err != nil {
		return EdgeReply{}, fmt.Errorf("gossip: ask %s: %w", p, err)
	}
	defer bound(ctx, s)()
	r.Witness = g.witness(p)
	reply, err := g.exchange(s, r)
	if errors.Is(err, errMalformed) {
		g.strike(p)
	}
	if err != nil {
		return EdgeReply{}, fmt.Errorf("gossip: ask %s: %w", p, errors.Join(ctx.Err(), err))
	}
	return reply, nil
}

func (g *Gossip) exchange(s network.Stream, r EdgeRequest) (EdgeReply, error) {
	if err := writeEdge(s, encodeRequest(r)); err != nil {
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

func writeEdge(s network.Stream, m proto.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return msgio.NewVarintWriter(s).WriteMsg(data)
}

// maxEdgeSize bounds one edge message: a model, entries, a few numbers.
func (g *Gossip) maxEdgeSize() int {
	return maxMessageSize + 1024 + (MaxKnown+1)*(maxEntrySize+8*g.config.Vector)
}

func (g *Gossip) readEdge(s network.Stream) ([]byte, error) {
	data, err := msgio.NewVarintReaderSize(s, g.maxEdgeSize()).ReadMsg()
	if errors.Is(err, msgio.ErrMsgTooLarge) {
		return nil, malformed("more than %d bytes", g.maxEdgeSize())
	}
	return data, err
}

// edgeServer answers edge requests, each on a goroutine of the host.
type edgeServer struct {
	gossip *Gossip
	ctx    context.Context // ends with shut
	cancel context.CancelFunc

	mu       sync.Mutex // also orders serving.Add before serving.Wait
	serving  sync.WaitGroup
	visitors visitors
}

func (e *edgeServer) start(ctx context.Context, g *Gossip) {
	e.gossip = g
	e.ctx, e.cancel = context.WithCancel(ctx)
	e.visitors.peers = make(map[peer.ID]*visits)
	g.host.SetStreamHandler(edgeProtocol(g.config.Network), e.handle)
}

// shut stops taking requests, and returns when the last one has been answered.
func (e *edgeServer) shut() {
	e.gossip.host.RemoveStreamHandler(edgeProtocol(e.gossip.config.Network))
	e.mu.Lock()
	e.cancel()
	e.mu.Unlock()
	e.serving.Wait()
}

// enter reports whether there is a place for one more request of the peer.
func (e *edgeServer) enter(from peer.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil || !e.visitors.enter(from, time.Now()) {
		return false
	}
	e.serving.Add(1)
	return true
}

func (e *edgeServer) leave(from peer.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.visitors.leave(from)
	e.serving.Done()
}

func (e *edgeServer) handle(s network.Stream) {
	from := s.Conn().RemotePeer()
	if e.gossip.offenders.Contains(from) || !e.enter(from) {
		_ = s.Reset()
		return
	}
	defer e.leave(from)
	ctx, cancel := context.WithTimeout(e.ctx, edgeTimeout)
	defer cancel()
	defer bound(ctx, s)()
	if err := e.answer(ctx, s, from); err != nil {
		if errors.Is(err, errMalformed) {
			e.gossip.strike(from)
		}
		e.gossip.log.Debug("edge request failed", "peer", from, "error", err)
		_ = s.Reset()
	}
}

func (e *edgeServer) answer(ctx context.Context, s network.Stream, from peer.ID) error {
	data, err := e.gossip.readEdge(s)
	if err != nil {
		return err
	}
	request, err := e.gossip.decodeRequest(data, from)
	if err != nil {
		return err
	}
	reply := e.gossip.config.OnEdge(ctx, from, request)
	if err := ctx.Err(); err != nil {
		return err // too late: what a node says at its end must not pass for a refusal
	}
	reply.Witness = e.gossip.witness(from)
	return writeEdge(s, encodeReply(reply))
}
