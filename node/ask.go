package node

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/learner/graph"
	"p2pnode/node/netedge"
	"p2pnode/peering"
)

// askTimeout bounds one request over a stream.
const askTimeout = 10 * time.Second

// call makes a request and handles the answer.
func (h *neighbourhood) call(ctx context.Context, c peering.Call) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	over := peering.Answered{From: c.To.Peer}
	reply, err := h.visit(ctx, c, &over.Dialled)
	if err != nil {
		h.log.Debug("edge request failed", "peer", c.To.Peer, "error", err)
		over.Failed = true
	} else if h.history.check(reply.Witness) != nil {
		return // the loop ends the run
	} else {
		id, _ := peer.Decode(string(c.To.Peer)) // it is valid: the peer was just visited
		over.Reply = replyFromWire(h.whereIs(id), reply)
	}
	h.posted.post(func(ctx context.Context) { h.hear(h.step(ctx, over), reply.Latest) })
}

// visit makes a request. It connects to the peer first if there is no connection.
func (h *neighbourhood) visit(ctx context.Context, c peering.Call, dialled *bool) (gossip.EdgeReply, error) {
	to, err := dialable(c.To)
	if err != nil {
		return gossip.EdgeReply{}, err
	}
	q, err := h.requestToWire(c.Request)
	if err != nil {
		return gossip.EdgeReply{}, err
	}
	if !h.connected(to.ID) {
		if err := discovery.Dial(ctx, h.host, to); err != nil {
			return gossip.EdgeReply{}, err
		}
		*dialled = true
	}
	return h.gossip.Ask(ctx, to.ID, q)
}

// answer answers a peer's request.
func (h *neighbourhood) answer(ctx context.Context, from peer.ID, q gossip.EdgeRequest) gossip.EdgeReply {
	if h.history.check(q.Witness) != nil {
		<-ctx.Done() // the run ends; a refusal would end the edge
		return gossip.EdgeReply{}
	}
	answered := make(chan peering.Reply, 1)
	ask := requestFromWire(from, h.whereIs(from), q)
	h.posted.post(func(run context.Context) {
		if ctx.Err() != nil {
			return // nobody would hear the answer
		}
		out := h.step(run, ask)
		h.hear(out, q.Latest)
		answered <- *out.Reply
	})
	select {
	case r := <-answered:
		reply, err := h.replyToWire(r)
		if err == nil {
			return reply
		}
		h.log.Error("cannot sign what is public of this node", "error", err)
		<-ctx.Done()
	case <-ctx.Done():
	}
	return gossip.EdgeReply{Reason: "not ready"}
}

// whereIs names the part of the network from which a connected peer speaks.
func (h *neighbourhood) whereIs(id peer.ID) string {
	conns := h.host.Network().ConnsToPeer(id)
	if len(conns) == 0 {
		return ""
	}
	return netOf(conns[0].RemoteMultiaddr())
}

// hear handles the message that came with a request or an answer that made or renewed an
// edge. It is called when the loop knows of the edge; before that, the agent would drop
// the message as a stranger's.
func (h *neighbourhood) hear(out peering.Output, latest []byte) {
	if len(out.Keeps) == 0 || len(latest) == 0 {
		return
	}
	id, err := peer.Decode(string(out.Keeps[0].Peer))
	if err == nil {
		_, err = h.gossip.Hear(id, latest)
	}
	if err != nil {
		h.log.Debug("neighbour's stored model dropped", "peer", id, "error", err)
	}
}

// signed returns the node's own entry with its addresses and its signature.
func (h *neighbourhood) signed(own graph.Entry) (gossip.Entry, error) {
	e := gossip.Entry{Peer: h.host.ID(), Round: own.Round, Std: own.Std, Vector: own.Vector}
	var err error
	e.Passport, err = h.signer.Passport(e, netedge.SortedAddrs(h.host.Addrs()))
	return e, err
}

func (h *neighbourhood) requestToWire(q peering.Request) (gossip.EdgeRequest, error) {
	own, err := h.signed(q.Own)
	out := gossip.EdgeRequest{Kind: gossip.EdgeKind(q.Kind), Own: own, Known: toWire(q.Known), Turn: q.Turn}
	if out.Kind == gossip.EdgeAsk {
		out.Latest = h.served()
	}
	return out, err
}

func (h *neighbourhood) replyToWire(r peering.Reply) (gossip.EdgeReply, error) {
	own, err := h.signed(r.Own)
	out := gossip.EdgeReply{Answer: gossip.EdgeAnswer(r.Answer), Reason: r.Reason, Own: own, Known: toWire(r.Known), Turn: r.Turn}
	if out.Answer == gossip.EdgeAccepted {
		out.Latest = h.served()
	}
	return out, err
}
