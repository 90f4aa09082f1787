package peering

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// maxContacts bounds the peers whose last requests are remembered.
const maxContacts = 512

// contact is what came of the last requests to and from a peer.
type contact struct {
	retryAt   time.Duration // the earliest time to ask it for an edge
	failures  int           // requests in a row that got no answer
	exchanged time.Duration // when it last asked for an exchange and got one
	believed  time.Duration // when this node last took in the entries it brought
	linked    time.Duration // when an edge to it was last made
	used      time.Duration // when this contact was last read
}

type contacts map[learner.ID]*contact

// contact returns what is remembered of one peer's requests. When there are too many
// contacts, it forgets the least recently used.
func (n *Neighbourhood) contact(id learner.ID) *contact {
	c := n.contacts[id]
	if c == nil {
		if len(n.contacts) >= maxContacts {
			delete(n.contacts, n.contacts.oldest())
		}
		c = &contact{exchanged: longAgo, believed: longAgo, linked: longAgo}
		n.contacts[id] = c
	}
	c.used = n.now
	return c
}

func (c contacts) oldest() learner.ID {
	return slices.MinFunc(slices.Collect(maps.Keys(c)), func(a, b learner.ID) int {
		return cmp.Or(cmp.Compare(c[a].used, c[b].used), cmp.Compare(a, b))
	})
}

// member reports whether a peer may take part.
func (n *Neighbourhood) member(id learner.ID) bool {
	return (n.members == nil || n.members[id]) && !n.refused[id]
}

// suits reports whether a peer may be a neighbour at all. It checks the list of
// members, the owner's list and, in learner polar, the roles: an edge between two
// clients would be of no use.
func (n *Neighbourhood) suits(id learner.ID) bool {
	if !n.member(id) || n.only != nil && !n.only[id] {
		return false
	}
	return n.servers == nil || n.servers[id] || n.servers[n.self]
}

// isNamed reports whether the owner or the task names the peer. Such peers are few
// and are kept beside the view, which is a random sample.
func (n *Neighbourhood) isNamed(id learner.ID) bool { return n.only[id] || n.servers[id] }

// sight remembers a peer that was seen.
func (n *Neighbourhood) sight(e graph.Entry) {
	n.keep(e)
	n.view.Add(e)
}

// stranger reports whether nobody vouches for a peer: the owner, the task, a list of
// members, or the key of the network.
func (n *Neighbourhood) stranger(id learner.ID) bool {
	return !n.closed && n.members == nil && n.servers == nil && !n.only[id]
}

// keep remembers the entries of named peers.
func (n *Neighbourhood) keep(entries ...graph.Entry) {
	for _, e := range entries {
		if e.Peer == n.self || !n.isNamed(e.Peer) {
			continue
		}
		if old, known := n.named[e.Peer]; !known || old.Vector == nil || e.Vector != nil && e.Round >= old.Round {
			n.named[e.Peer] = e
		}
	}
}

// askable reports whether a peer may be asked for an edge now.
func (n *Neighbourhood) askable(id learner.ID) bool {
	c := n.contacts[id]
	return id != "" && n.link(id) == nil && n.calls[id] == nil && n.suits(id) && (c == nil || n.now >= c.retryAt)
}

// candidates lists the peers that could become neighbours: all named peers, the one that
// another peer named when it refused, then up to count others, the most similar first.
func (n *Neighbourhood) candidates(count int) []graph.Entry {
	var out []graph.Entry
	for _, id := range sortedKeys(n.named) {
		if n.askable(id) {
			out = append(out, n.named[id])
		}
	}
	unnamed := func(id learner.ID) bool { return !n.isNamed(id) && n.askable(id) }
	referred := n.referral.Peer
	if unnamed(referred) {
		out = append(out, n.referral)
	}
	return append(out, n.view.Best(count, func(id learner.ID) bool { return id != referred && unnamed(id) })...)
}
