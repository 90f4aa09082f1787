package node

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/storage"
)

// link is an edge both ends agreed on.
type link struct {
	terms
	since   time.Time // there has been an edge
	invited bool      // the other end asked for it first
	addrs   []multiaddr.Multiaddr
	up      bool // connected when last looked at
	met     bool // has said in this run what it holds of this node, and that was no news
	seen    time.Time
	renewed time.Time // agreed on again
	asked   time.Time // this end asked for that
	doubt   bool      // the last request to renew it brought no agreement
}

// terms are what the two ends of an edge agreed on: the one that answers a request
// computes the weight from both ends as they stand in request and answer, and so does
// the one that asked.
type terms struct {
	weight float64
	known  bool    // something was known of both ends
	turn   uint64  // of the agreement; 0: it is of an earlier run
	by     peer.ID // who answered
	own    graph.End
	theirs graph.End
}

// agree makes the terms that follow from a request and its answer, alike at both
// ends.
func agree(g learner.Graph, own, theirs graph.End, turn uint64, by peer.ID) terms {
	return terms{
		weight: graph.Weight(g, own, theirs),
		known:  graph.Known(g, own, theirs),
		turn:   turn, by: by, own: own, theirs: theirs,
	}
}

// before reports whether t was agreed on before u. Requests that cross make two
// agreements with the same turn, each answered by the other end; both ends see both
// and hold to the same one.
func (t *terms) before(u *terms) bool {
	return t.turn < u.turn || t.turn == u.turn && t.by < u.by
}

// turn is that of the last agreement with a peer; 0 without an edge. The caller holds
// h.mu.
func (h *neighbourhood) turn(id peer.ID) uint64 {
	if l := h.links[id]; l != nil {
		return l.turn
	}
	return 0
}

// answer is the other end's side of an edge request.
func (h *neighbourhood) answer(ctx context.Context, from peer.ID, q gossip.EdgeRequest) gossip.EdgeReply {
	select {
	case <-h.restored:
	case <-ctx.Done():
		return gossip.EdgeReply{Reason: "not ready"}
	}
	if h.history.check(q.Witness) != nil {
		<-ctx.Done() // the run ends; a refusal would cost the edge
		return gossip.EdgeReply{}
	}
	h.meet(from)
	reply := gossip.EdgeReply{Latest: h.served()}
	var err error
	if reply.Own, err = h.ownEntry(); err != nil {
		h.log.Error("cannot sign what is public of this node", "error", err)
		<-ctx.Done()
		return gossip.EdgeReply{}
	}
	switch q.Kind {
	case gossip.EdgeExchange:
		reply.Known = h.exchange(from, q)
	case gossip.EdgeDrop:
		h.dropped(from, q.Turn)
	default:
		h.decide(from, q, &reply)
	}
	return reply
}

// decide answers a request for an edge, or for its renewal.
func (h *neighbourhood) decide(from peer.ID, q gossip.EdgeRequest, reply *gossip.EdgeReply) {
	h.changing.Lock()
	defer h.changing.Unlock()
	now := h.now()
	h.mu.Lock()
	h.learn(q.Own)
	reply.Turn = max(q.Turn, h.turn(from)) + 1
	old := h.links[from]
	leaves := h.departure != nil
	links := h.graphLinks()
	soon := old != nil && now.Sub(old.renewed) < seekEvery || old == nil && now.Sub(h.contact(from).linked) < sulk
	h.mu.Unlock()
	if leaves {
		reply.Reason = "this node leaves"
		return
	}
	agreed := agree(h.task.Graph, endOf(reply.Own), endOf(q.Own), reply.Turn, h.host.ID())
	if agreed.weight == 0 || !h.suits(from) {
		reply.Reason = "the two do not belong together"
		if old != nil {
			h.cut(from, reply.Reason)
		}
		return
	}
	if soon {
		reply.Answer = gossip.EdgeLater // nobody makes this node write at will
		return
	}
	if old == nil {
		accepted, instead := graph.Accept(h.task.Graph, links, gossip.ID(from), agreed.weight)
		if !accepted {
			reply.Reason = "enough neighbours"
			return
		}
		h.replace(instead)
	}
	reply.Answer = gossip.EdgeAccepted
	h.link(from, agreed, true, q.Latest)
}

// accepted takes in the answer that makes or renews an edge.
func (h *neighbourhood) accepted(id peer.ID, q gossip.EdgeRequest, reply gossip.EdgeReply) {
	h.changing.Lock()
	defer h.changing.Unlock()
	agreed := agree(h.task.Graph, endOf(q.Own), endOf(reply.Own), reply.Turn, id)
	h.mu.Lock()
	old, leaves := h.links[id], h.departure != nil
	if leaves {
		h.forGood(id)
	}
	h.mu.Unlock()
	switch {
	case leaves:
	case agreed.weight == 0 || !h.suits(id): // the other end computes otherwise, or lies
		if old != nil {
			h.cut(id, "the two do not belong together")
		}
	case old != nil && !old.before(&agreed): // a request that crossed this one was answered since
	default:
		h.link(id, agreed, false, reply.Latest)
	}
}

// link adds or renews the edge to a peer that was met and agreed to it, and takes
// in the model it sent along. invited: the peer asked. The caller holds h.changing.
func (h *neighbourhood) link(id peer.ID, agreed terms, invited bool, latest []byte) {
	if err := h.gossip.Follow(id); err != nil {
		h.log.Warn("cannot follow a neighbour", "peer", id, "error", err)
		return
	}
	now := h.now()
	addrs := sortedAddrs(h.host.Peerstore().Addrs(id))
	h.mu.Lock()
	old := h.links[id]
	l := &link{terms: agreed, since: now, invited: invited, addrs: addrs, up: true, met: true, seen: now, renewed: now, asked: now}
	if old != nil {
		l.since, l.invited = old.since, old.invited
		l.doubt = old.doubt && l.by == h.host.ID() // the other end may hold what it answered before
		if len(addrs) == 0 {
			l.addrs = old.addrs
		}
	} else {
		h.contact(id).linked = now
		h.changes++
		h.pace.hurry()
	}
	h.links[id] = l
	delete(h.leaving, id)
	same := old != nil && old.weight == l.weight && old.known == l.known &&
		slices.EqualFunc(sortedAddrs(old.addrs), l.addrs, multiaddr.Multiaddr.Equal)
	edge := storage.Edge{
		Peer: id.String(), Weight: l.weight, Addrs: addrStrings(l.addrs),
		Known: l.known, Invited: l.invited, Since: l.since.Unix(),
	}
	h.mu.Unlock()
	if !same {
		h.update() // before the model, or the agent would drop it as a stranger's
	}
	if len(latest) > 0 {
		if _, err := h.gossip.Hear(id, latest); err != nil {
			h.log.Debug("neighbour's stored model dropped", "peer", id, "error", err)
		}
	}
	if same {
		return
	}
	if err := h.store.SaveEdge(edge); err != nil {
		h.log.Error("cannot remember an edge", "peer", id, "error", err)
	}
}

// replace gives up an edge for better ones, and will say so to its other end. The
// caller holds h.changing; "" is no edge.
func (h *neighbourhood) replace(name learner.ID) {
	id, err := peer.Decode(string(name))
	if err != nil {
		return
	}
	h.mu.Lock()
	l := h.links[id]
	if l != nil {
		h.leaving[id] = l.turn
	}
	h.mu.Unlock()
	if l != nil {
		h.cut(id, "there are better ones")
	}
}

// dropped takes in that the other end has given the edge up, unless the two have
// agreed on it again since.
func (h *neighbourhood) dropped(id peer.ID, turn uint64) {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	l := h.links[id]
	h.mu.Unlock()
	if l != nil && l.turn <= turn {
		h.cut(id, "the other end gave it up")
	}
}

// unlink gives an edge up.
func (h *neighbourhood) unlink(id peer.ID, reason string) {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.cut(id, reason)
}

// cut is unlink for a caller who holds h.changing.
func (h *neighbourhood) cut(id peer.ID, reason string) {
	h.log.Info("edge dropped", "peer", id, "reason", reason)
	now := h.now()
	h.mu.Lock()
	delete(h.links, id)
	h.changes++
	h.contact(id).after = now.Add(sulk)
	h.guests[id] = now
	h.pace.hurry()
	h.mu.Unlock()
	if err := h.gossip.Unfollow(id); err != nil {
		h.log.Error("cannot stop following a peer", "peer", id, "error", err)
	}
	if err := h.store.DeleteEdge(id.String()); err != nil {
		h.log.Error("cannot forget an edge", "peer", id, "error", err)
	}
	h.update()
}
