package node

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
)

// ask makes one request and takes in the answer.
func (h *neighbourhood) ask(ctx context.Context, e errand) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	id := e.to.ID
	q, err := h.request(e)
	var reply gossip.EdgeReply
	if err == nil {
		reply, err = h.visit(ctx, e.to, q)
	}
	if err != nil {
		h.log.Debug("edge request failed", "peer", id, "error", err)
		h.hoped(e, false)
		h.unanswered(e)
		return
	}
	if h.history.check(reply.Witness) != nil {
		return // the loop ends the run
	}
	h.hoped(e, true)
	h.meet(id)
	h.answers(id, reply.Own)
	switch e.kind {
	case gossip.EdgeExchange:
		h.exchanged(reply)
	case gossip.EdgeAsk:
		h.outcome(id, q, reply)
	case gossip.EdgeDrop:
		h.told(e.turn)
	}
}

// outcome takes in the answer to a request for an edge.
func (h *neighbourhood) outcome(id peer.ID, q gossip.EdgeRequest, reply gossip.EdgeReply) {
	switch reply.Answer {
	case gossip.EdgeAccepted:
		h.accepted(id, q, reply)
	case gossip.EdgeLater:
		h.later(id)
	default:
		h.declined(id)
	}
}

// hoped tells the window what came of a request for a new edge.
func (h *neighbourhood) hoped(e errand, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case e.link.Peer == "":
	case answered:
		h.window.answered()
	default:
		h.window.failed(h.now(), h.random.Float64())
	}
}

// unanswered notes that a request failed: what the other end holds of an edge is not
// known then.
func (h *neighbourhood) unanswered(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[e.to.ID]; l != nil {
		l.doubt = true
		return
	}
	h.lost(e.to.ID)
}

// later notes that the other end wants to be asked again.
func (h *neighbourhood) later(id peer.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[id]; l != nil {
		l.doubt = true
		return
	}
	h.contact(id).after = h.now().Add(sulk)
}

// declined takes in that there is no edge.
func (h *neighbourhood) declined(id peer.ID) {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	linked := h.links[id] != nil
	h.contact(id).after = h.now().Add(sulk)
	h.mu.Unlock()
	if linked {
		h.cut(id, "declined")
	}
}

func (h *neighbourhood) request(e errand) (gossip.EdgeRequest, error) {
	own, err := h.ownEntry()
	if err != nil {
		return gossip.EdgeRequest{}, err
	}
	q := gossip.EdgeRequest{Kind: e.kind, Own: own, Known: e.known, Latest: h.served()}
	h.mu.Lock()
	defer h.mu.Unlock()
	q.Turn = h.turn(e.to.ID)
	if e.kind == gossip.EdgeDrop {
		q.Turn = e.turn
	}
	return q, nil
}
