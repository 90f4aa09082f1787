package peering

import (
	"time"

	"p2pnode/learner/graph"
)

const (
	// linger is how long the connection to a peer that is no neighbour stays open
	// after a request: it may be asked for an edge next.
	linger = 2 * time.Second
	// exchangePause is the shortest time between two exchanges that one peer gets.
	exchangePause = lookSoon / 4
	// believePause is the shortest time between two whose entries are taken in: each
	// may replace some of the sample, and others are to come between.
	believePause = 10 * time.Second
)

// pace says when to exchange entries and to look for better neighbours: often
// after something has changed or somebody nearer was found, then twice as seldom each
// time.
type pace struct {
	next  time.Duration
	pause time.Duration
}

// hurry begins anew.
func (p *pace) hurry() { *p = pace{} }

// due reports whether it is time, and sets the next one: at a random time around the
// pause, so that nodes do not go on in step.
func (p *pace) due(now, longest time.Duration, random float64) bool {
	if now < p.next {
		return false
	}
	p.pause = min(max(2*p.pause, lookSoon), longest)
	p.next = now + time.Duration((0.5+random)*float64(p.pause))
	return true
}

// callPartner begins an exchange with the peer that the view says.
func (n *Neighbourhood) callPartner() {
	to, offer, ok := n.view.Partner()
	if !ok {
		n.out.Alone = true
		return
	}
	switch {
	case !n.member(to.Peer): // another peer told of it
		n.view.Remove(to.Peer)
	case n.calls[to.Peer] == nil:
		n.request(&call{Call: Call{to, Request{Kind: Exchange, Known: offer}}})
	}
}

// exchanged takes in what a partner said.
func (n *Neighbourhood) exchanged(reply Reply) {
	entries := append([]graph.Entry{reply.Own}, reply.Known...)
	n.keep(entries...)
	if n.view.Merge(entries) {
		n.pace.hurry()
	}
}

// learn takes in what a peer says of itself.
func (n *Neighbourhood) learn(own graph.Entry, hidden bool) {
	if !hidden {
		n.sight(own)
	}
}

// exchange is the other end's side: what this node knows for what the peer knows.
func (n *Neighbourhood) exchange(q Request) []graph.Entry {
	c := n.contact(q.Own.Peer)
	if n.now-c.exchanged < exchangePause {
		return nil // nobody fills this node's view at will
	}
	c.exchanged = n.now
	var entries []graph.Entry
	if n.now-c.believed >= believePause {
		c.believed = n.now
		entries = q.Known
	}
	n.keep(entries...)
	return n.view.Answer(q.Own, entries)
}

// part ends the connections that were made for a request and are needed no more.
func (n *Neighbourhood) part() {
	for _, id := range sortedKeys(n.visits) {
		if n.now-n.visits[id] < linger || n.calls[id] != nil {
			continue
		}
		delete(n.visits, id)
		if n.link(id) == nil {
			n.out.Parts = append(n.out.Parts, id)
		}
	}
}
