package peering

import (
	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// terms are what the two ends of an edge agreed on.
type terms struct {
	weight float64
	known  bool       // something was known of both ends
	turn   uint64     // of the agreement; 0: it is of an earlier run
	by     learner.ID // who answered
	own    graph.End
	theirs graph.End
}

// agree makes the terms that follow from a request and its answer, alike at both
// ends.
func agree(g learner.Graph, own, theirs graph.End, turn uint64, by learner.ID) terms {
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

// turn is that of the last agreement with a peer; 0 without an edge.
func (n *Neighbourhood) turn(id learner.ID) uint64 {
	if l := n.link(id); l != nil {
		return l.turn
	}
	return 0
}

// entry is what others are told of this node.
func (n *Neighbourhood) entry() graph.Entry { return graph.Entry{Peer: n.self, End: n.own} }

// answer is the other end's side of a request.
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

// meet notes that a peer's word of this node's past agrees with its own.
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
		if old != nil {
			n.cut(from, reply.Reason)
		}
		return
	}
	if n.early(old, from) {
		reply.Answer = Later // nobody makes this node write at will
		return
	}
	if old == nil {
		accepted, instead := graph.Accept(n.graph, links, from, agreed.weight)
		if !accepted {
			reply.Reason = "enough neighbours"
			return
		}
		n.replace(instead)
	}
	reply.Answer = Accepted
	// A peer that holds the edge already was asked for it by this node, which missed the
	// answer. Were each end to believe that the other one asked, neither would give the
	// edge up for better ones.
	n.join(from, agreed, q.Turn == 0)
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
	if old != nil && c.hoped.Peer != "" { // the two have asked each other
		old.invited = false
	}
	switch {
	case n.departure.Begun:
		n.takeLeave(id)
	case agreed.weight == 0 || !n.suits(id): // the other end computes otherwise, or lies
		if old != nil {
			n.cut(id, notTogether)
		}
	case old != nil && !old.before(&agreed): // a request that crossed this one was answered since
	default:
		n.join(id, agreed, false)
	}
}

// join adds or renews the edge to a peer that was met and agreed to it. invited: if it
// is a new one, the peer asked for it and this node did not.
func (n *Neighbourhood) join(id learner.ID, agreed terms, invited bool) {
	l := &link{
		peer: id, terms: agreed, since: n.now, invited: invited,
		connected: true, up: true, met: true, seen: n.now, renewed: n.now, asked: n.now,
	}
	old := n.link(id)
	if old != nil {
		l.since, l.invited = old.since, old.invited
		l.doubt = old.doubt && l.by == n.self // the other end may hold what it answered before
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

// changed notes that an edge came or went.
func (n *Neighbourhood) changed() {
	n.out.Changed = true
	n.edgeChanges++
	n.pace.hurry()
	n.wake()
}

// replace gives up an edge for better ones, and will say so to its other end; "" is no
// edge.
func (n *Neighbourhood) replace(id learner.ID) {
	if l := n.link(id); l != nil {
		n.farewells[id] = l.turn
		n.cut(id, "there are better ones")
	}
}

// cut ends an edge.
func (n *Neighbourhood) cut(id learner.ID, reason string) {
	i, found := n.find(id)
	if !found {
		return
	}
	n.links = append(n.links[:i:i], n.links[i+1:]...)
	n.contact(id).after = n.now + retryDelay
	n.visits[id] = n.now
	n.changed()
	n.out.Drops = append(n.out.Drops, Drop{id, reason})
}
