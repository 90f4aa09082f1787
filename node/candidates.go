package node

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// maxContacts bounds the peers whose last request is remembered.
const maxContacts = 512

// contact is what came of the last requests to and from a peer.
type contact struct {
	after     time.Time // not to be asked for an edge before
	failures  int       // requests in a row that got no answer
	exchanged time.Time // when it last asked for an exchange and got one
	believed  time.Time // when it last told of others and was listened to
	linked    time.Time // when an edge to it last came
}

// suits reports whether a peer may be a neighbour at all: by the members' and the
// owner's list and, in learner polar, by the roles, where clients have nothing to say
// to each other.
func (h *neighbourhood) suits(id peer.ID) bool {
	if !h.private.member(id) || h.only != nil && !h.only[id] {
		return false
	}
	return h.task.Learner != "polar" || isServer(h.task, gossip.ID(id)) || isServer(h.task, gossip.ID(h.host.ID()))
}

// named reports whether the owner or the task names the peer. Such peers are few,
// and are not left to the chance of the view.
func (h *neighbourhood) named(id peer.ID) bool {
	return h.only[id] || h.task.Learner == "polar" && isServer(h.task, gossip.ID(id))
}

// found takes note of a peer of this task that discovery has seen.
func (h *neighbourhood) found(info peer.AddrInfo) {
	if info.ID == h.host.ID() || len(info.Addrs) == 0 || !h.private.member(info.ID) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[info.ID]; l != nil {
		l.addrs = info.Addrs
	}
	h.sight(info)
	// The view keeps what the peer says of itself, with the addresses it named.
	h.host.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.AddressTTL)
}

// sight takes note of a peer of which only addresses are known. The caller holds
// h.mu.
func (h *neighbourhood) sight(info peer.AddrInfo) {
	e := graph.Entry{Peer: gossip.ID(info.ID), Passport: gossip.NewPassport(info.Addrs)}
	h.keep(e)
	h.view.Add(e)
}

// keep remembers the entries of named peers. The caller holds h.mu.
func (h *neighbourhood) keep(entries ...graph.Entry) {
	for _, e := range entries {
		id, err := peer.Decode(string(e.Peer))
		if err != nil || id == h.host.ID() || !h.named(id) {
			continue
		}
		if old, known := h.friends[id]; !known || old.Vector == nil || e.Vector != nil && e.Round >= old.Round {
			h.friends[id] = e
		}
	}
}

// candidates lists up to n peers that could become neighbours, those that were named
// first, then the most similar. The caller holds h.mu.
func (h *neighbourhood) candidates(n int, now time.Time) []graph.Entry {
	fit := func(id peer.ID) bool {
		c := h.contacts[id]
		_, asking := h.asking[id]
		return h.links[id] == nil && !asking && h.suits(id) && (c == nil || !now.Before(c.after))
	}
	var out []graph.Entry
	for id, e := range h.friends {
		if fit(id) {
			out = append(out, e)
		}
	}
	return append(out, h.view.Best(n, func(name learner.ID) bool {
		id, err := peer.Decode(string(name))
		return err == nil && !h.named(id) && fit(id)
	})...)
}

// others counts the peers it knows that are no neighbours.
func (h *neighbourhood) others() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.candidates(h.view.Len(), h.now()))
}

// turnover counts the edges that came or went.
func (h *neighbourhood) turnover() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes
}

// enough reports whether the search for peers can slow down.
func (h *neighbourhood) enough() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.only {
		if _, known := h.friends[id]; !known {
			return false
		}
	}
	return h.view.Len() >= 2*h.task.Graph.Degree
}

// contact is the memory of one peer's requests. The caller holds h.mu.
func (h *neighbourhood) contact(id peer.ID) *contact {
	c := h.contacts[id]
	if c != nil {
		return c
	}
	for old := range h.contacts {
		if len(h.contacts) < maxContacts {
			break
		}
		delete(h.contacts, old) // any
	}
	c = &contact{}
	h.contacts[id] = c
	return c
}

// answers notes that a peer answered, and what it says of itself.
func (h *neighbourhood) answers(id peer.ID, own gossip.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.learn(own)
	if c := h.contacts[id]; c != nil {
		c.failures = 0
	}
}

// lost notes that a peer did not answer. One that never does is forgotten; whoever
// sees it again names it again. The caller holds h.mu.
func (h *neighbourhood) lost(id peer.ID) {
	c := h.contact(id)
	c.failures++
	c.after = h.now().Add(sulk)
	if c.failures >= patience || h.view.Len() >= 2*h.task.Graph.Degree {
		h.view.Remove(gossip.ID(id))
	}
}
