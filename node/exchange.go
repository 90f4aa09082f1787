package node

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/learner/graph"
)

const (
	// linger is how long the connection to a peer that is no neighbour stays open
	// after a request: it may be asked for an edge next.
	linger = 2 * time.Second
	// exchangePause is the shortest time between two exchanges that one peer gets.
	exchangePause = seekEvery / 4
	// believePause is the shortest time between two whose entries are taken in: each
	// may replace some of the sample, and others are to come between.
	believePause = 10 * time.Second
)

// pace says when to exchange entries and to look for better neighbours: often
// after something has changed or somebody nearer was found, then twice as seldom each time.
type pace struct {
	next  time.Time
	pause time.Duration
}

// hurry begins anew.
func (p *pace) hurry() { *p = pace{} }

// due reports whether it is time, and sets the next one: at a random time around the
// pause, so that nodes do not go on in step.
func (p *pace) due(now time.Time, longest time.Duration, random float64) bool {
	if now.Before(p.next) {
		return false
	}
	p.pause = min(max(2*p.pause, seekEvery), longest)
	p.next = now.Add(time.Duration((0.5 + random) * float64(p.pause)))
	return true
}

// partner is an errand to whom the view says. The caller holds h.mu.
func (h *neighbourhood) partner() (e errand, ok bool) {
	if h.view.Len() == 0 {
		for _, p := range h.origins() {
			h.sight(p)
		}
	}
	to, offer, ok := h.view.Partner()
	if !ok {
		return errand{}, false
	}
	info, err := dialable(to)
	if _, busy := h.asking[info.ID]; busy || err != nil {
		return errand{}, false
	}
	return errand{to: info, kind: gossip.EdgeExchange, known: toWire(offer)}, true
}

// exchanged takes in what a partner said.
func (h *neighbourhood) exchanged(reply gossip.EdgeReply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	entries := fromWire(append([]gossip.Entry{reply.Own}, reply.Known...)...)
	h.keep(entries...)
	if h.view.Merge(entries) {
		h.pace.hurry()
	}
}

// learn takes in what a peer says of itself. The caller holds h.mu.
func (h *neighbourhood) learn(own gossip.Entry) {
	if len(gossip.Addrs(own.Passport)) == 0 {
		return // nobody could reach it
	}
	e := fromWire(own)
	h.keep(e...)
	h.view.Add(e...)
}

// exchange is the other end's side: what this node knows for what the peer knows.
func (h *neighbourhood) exchange(from peer.ID, q gossip.EdgeRequest) []gossip.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	c := h.contact(from)
	if now.Sub(c.exchanged) < exchangePause {
		return nil // nobody fills this node's view at will
	}
	c.exchanged = now
	var entries []graph.Entry
	if now.Sub(c.believed) >= believePause {
		c.believed = now
		entries = fromWire(q.Known...)
	}
	h.keep(entries...)
	return toWire(h.view.Answer(fromWire(q.Own)[0], entries))
}

// visit makes a request, on a connection of its own if there is none.
func (h *neighbourhood) visit(ctx context.Context, to peer.AddrInfo, q gossip.EdgeRequest) (gossip.EdgeReply, error) {
	if !h.connected(to.ID) {
		if err := discovery.Dial(ctx, h.host, to); err != nil {
			return gossip.EdgeReply{}, err
		}
		h.mu.Lock()
		h.guests[to.ID] = h.now()
		h.mu.Unlock()
	}
	return h.gossip.Ask(ctx, to.ID, q)
}

// part closes the connections that this node made for a request and needs no more.
// A few stay: those of neighbours, and of whoever else wants the peer.
func (h *neighbourhood) part(now time.Time) {
	var leave []peer.ID
	h.mu.Lock()
	for id, since := range h.guests {
		_, asking := h.asking[id]
		if now.Sub(since) < linger || asking {
			continue
		}
		delete(h.guests, id)
		if h.links[id] == nil && !h.host.ConnManager().IsProtected(id, "") {
			leave = append(leave, id)
		}
	}
	h.mu.Unlock()
	for _, id := range leave {
		_ = h.host.Network().ClosePeer(id)
	}
}
