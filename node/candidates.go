package node

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
)

// maxCandidates bounds the peers a node remembers beside its neighbours.
const maxCandidates = 512

// candidate is a peer of this task that is no neighbour yet.
type candidate struct {
	addrs    []multiaddr.Multiaddr
	seen     time.Time
	weight   float64   // 0 before its profile is known
	after    time.Time // not to be asked before
	failures int       // requests in a row that got no answer
}

// suits reports whether a peer may be a neighbour at all: by the members' and the
// owner's list and,
// in learner polar, by the roles, where clients have nothing to say to each other.
func (h *neighbourhood) suits(id peer.ID) bool {
	if !h.private.member(id) || h.only != nil && !h.only[id] {
		return false
	}
	return h.task.Learner != "polar" || isServer(h.task, gossip.ID(id)) || isServer(h.task, gossip.ID(h.host.ID()))
}

// found takes note of a peer of this task.
func (h *neighbourhood) found(info peer.AddrInfo) { h.note(info, time.Now()) }

// note keeps a candidate; when there are too many, one that declined or failed
// makes room.
func (h *neighbourhood) note(info peer.AddrInfo, seen time.Time) {
	if info.ID == h.host.ID() || len(info.Addrs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[info.ID]; l != nil {
		l.addrs = info.Addrs
	} else if c := h.candidates[info.ID]; c != nil {
		c.addrs, c.seen = info.Addrs, seen
	} else if len(h.candidates) < maxCandidates || h.makeRoom(time.Now()) {
		h.candidates[info.ID] = &candidate{addrs: info.Addrs, seen: seen}
	}
}

// makeRoom forgets some candidate that is not to be asked now, if there is one.
// The caller holds h.mu.
func (h *neighbourhood) makeRoom(now time.Time) bool {
	for id, c := range h.candidates {
		if now.Before(c.after) {
			delete(h.candidates, id)
			return true
		}
	}
	return false
}

// enough reports whether the search for peers can slow down.
func (h *neighbourhood) enough() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.links)+len(h.candidates) >= 4*h.task.Graph.Degree
}

// settle notes what came of a request that made no edge. A candidate that
// never answers is forgotten; discovery will name it again if it comes back.
func (h *neighbourhood) settle(e errand, weight float64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.candidates[e.to.ID]
	if c == nil {
		return
	}
	if err != nil {
		c.failures++
	} else {
		c.failures, c.seen = 0, time.Now()
	}
	switch {
	case c.failures == patience:
		delete(h.candidates, e.to.ID)
	case err == nil && e.kind == gossip.EdgeHello && weight > 0:
		c.weight = weight
	case err == nil && e.kind == gossip.EdgeHello:
		c.after = time.Now().Add(deadAfter) // too different
	default:
		c.after = time.Now().Add(sulk)
	}
}
