package peering

import (
	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// terms is what the two ends of an edge have agreed on.
type terms struct {
	weight float64
	known  bool       // something was known of both ends
	turn   uint64     // of the agreement; 0: made in an earlier run
	by     learner.ID // the end that answered
	own    graph.End
	theirs graph.End
}

// agree computes the terms that follow from a request and its answer. Both ends
// compute the same.
func agree(g learner.Graph, own, theirs graph.End, turn uint64, by learner.ID) terms {
	return terms{
		weight: graph.Weight(g, own, theirs),
		known:  graph.Known(g, own, theirs),
		turn:   turn, by: by, own: own, theirs: theirs,
	}
}

// before reports whether u replaces t. Requests that cross make two agreements with
// the same turn, each answered by the other end. Both ends see both and keep the
// same one.
func (t *terms) before(u *terms) bool {
	return t.turn < u.turn || t.turn == u.turn && t.by < u.by
}

// turn returns the turn of the last agreement with a peer, and 0 without an edge.
func (n *Neighbourhood) turn(id learner.ID) uint64 {
	if l := n.link(id); l != nil {
		return l.turn
	}
	return 0
}

// entry returns what this node tells others of itself.
func (n *Neighbourhood) entry() graph.Entry { return graph.Entry{Peer: n.self, End: n.own} }

// answer answers a peer's request.
func (n *Neighbourhood) answer(q Request) {
	from := q.Own.Peer
	n.meet(from)
	reply := &Reply{Own: n.entry()}
	n.out.Reply = reply
	switch q.Kind {
	case Exchange:
		reply.Known = n.exchange(q)
	case Farewell:
		if l := n.link(from); l != nil && l.turn <= q.Turn { // or the two have agreed on it again since
			n.cut(from, "the other end gave it up")
		}
	default:
		n.decide(q, reply)
	}
}

// meet notes that a peer has been heard in this run, and that what it holds of this
// node agrees with what this node knows.
func (n *Neighbourhood) meet(id learner.ID) {
	if l := n.link(id); l != nil && !l.met {
		l.met, n.out.Changed = true, true
	}
}

// decide answers a request for an edge, or for its renewal.
func (n *Neighbourhood) decide(q Request, reply *Reply) {
	from := q.Own.Peer
	n.learn(q.Own, q.Hidden)
	if n.departure.Begun {
		reply.Reason = "this node leaves"
		return
	}
	old, links := n.link(from), n.graphLinks()
	reply.Turn = max(q.Turn, n.turn(from)) + 1
	agreed := agree(n.graph, n.own, q.Own.End, reply.Turn, n.self)
	if agreed.weight == 0 || !n.suits(from) {
		reply.Reason = notTogether
		n.cut(from, reply.Reason)
		return
	}
	if n.early(old, from) {
		reply.Answer = Later // a peer cannot make this node write to disk at will
		return
	}
	asker := graph.Link{
		Peer: from, Weight: agreed.weight, Known: agreed.known, Stranger: n.stranger(from), Net: q.Own.Net,
	}
	accepted, instead := graph.Accept(n.graph, links, asker, n.open()) // a neighbour has its place
	if !accepted {
		reply.Reason = "enough neighbours"
		n.refer(q, reply)
		return
	}
	n.replace(instead)
	reply.Answer = Accepted
	// If the peer already holds the edge, this node asked for it and missed the answer.
	// The edge is then not marked as invited: if each end believed that the other one
	// asked, neither would give the edge up for better ones.
	n.join(from, agreed, q.Turn == 0)
	n.link(from).net = q.Own.Net
}

// refer brings those together who ask in vain: it names the one that asked before, and
// remembers this one for the next.
func (n *Neighbourhood) refer(q Request, reply *Reply) {
	if n.seeker.Peer != "" && n.seeker.Peer != q.Own.Peer {
		reply.Known = []graph.Entry{n.seeker}
	}
	if !q.Hidden {
		n.seeker = q.Own
	}
}

const notTogether = "the two do not belong together"

// early reports whether a request for an edge comes too soon after the last agreement.
func (n *Neighbourhood) early(old *link, from learner.ID) bool {
	if old != nil {
		return n.now-old.renewed < lookSoon
	}
	return n.now-n.contact(from).linked < retryDelay
}

// accepted takes in the answer that makes or renews an edge.
func (n *Neighbourhood) accepted(c *call, reply Reply) {
	id := c.To.Peer
	agreed := agree(n.graph, c.Own.End, reply.Own.End, reply.Turn, id)
	old := n.link(id)
	if old != nil && c.pending.Peer != "" { // the two have asked each other
		old.invited = false
	}
	switch {
	case n.departure.Begun:
		n.takeLeave(id)
	case agreed.weight == 0 || !n.suits(id): // the other end computes otherwise, or lies
		n.cut(id, notTogether)
	case old != nil && !old.before(&agreed): // a request that crossed this one was answered since
	default:
		n.join(id, agreed, false)
		n.link(id).net = reply.Own.Net
	}
}

// join adds or renews the edge to a peer that has agreed to it. invited says of a new
// edge that the peer asked for it and this node did not.
func (n *Neighbourhood) join(id learner.ID, agreed terms, invited bool) {
	l := &link{
		peer: id, terms: agreed, since: n.now, invited: invited,
		connected: true, up: true, met: true, back: n.now, seen: n.now, renewed: n.now, asked: n.now,
	}
	old := n.link(id)
	if old != nil {
		l.since, l.invited = old.since, old.invited
		if old.up {
			l.back = old.back
		}
		l.doubt = old.doubt && l.by == n.self // the other end may still hold its own earlier answer
		if old.weight != l.weight || old.known != l.known {
			n.out.Changed = true
			n.wake()
		}
	} else {
		n.contact(id).linked = n.now
		n.changed()
	}
	n.add(l)
	delete(n.farewells, id)
	n.out.Keeps = append(n.out.Keeps, l.edge())
}

// changed notes that an edge was added or removed.
func (n *Neighbourhood) changed() {
	n.out.Changed = true
	n.edgeChanges++
	n.hurry()
	n.wake()
}

// replace gives up an edge for better ones, and will tell its other end. If there is
// no edge to id, or id is "", it does nothing.
func (n *Neighbourhood) replace(id learner.ID) {
	if l := n.link(id); l != nil {
		n.farewells[id] = l.turn
		n.cut(id, "there are better ones")
	}
}

// cut ends an edge, if there is one.
func (n *Neighbourhood) cut(id learner.ID, reason string) {
	i, found := n.find(id)
	if !found {
		return
	}
	n.links = append(n.links[:i:i], n.links[i+1:]...)
	n.contact(id).retryAt = n.now + retryDelay
	n.visits[id] = n.now
	n.changed()
	n.out.Drops = append(n.out.Drops, Drop{id, reason})
}
