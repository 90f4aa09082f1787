package peering

import (
	"time"

	"p2pnode/learner/graph"
)

const (
	// linger is how long the connection to a peer that is not a neighbour stays open
	// after a request: the next request may be for an edge.
	linger = 2 * time.Second
	// exchangePause is the shortest time between two exchanges that one peer gets.
	exchangePause = lookSoon / 4
	// believePause is the shortest time between two exchanges with one peer of which
	// the entries are taken in. Each may replace some of the sample, and entries of
	// other peers should come in between.
	believePause = 10 * time.Second
)

// pace says when to exchange entries and to look for better neighbours: often after
// a change or after a nearer peer was found, then with a pause that doubles each time.
type pace struct {
	next  time.Duration
	pause time.Duration
}

// hurry makes the next step due at once and the pauses short again.
func (p *pace) hurry() { *p = pace{} }

// slow makes the pauses as long as they get.
func (p *pace) slow(longest time.Duration) { p.pause = longest }

// hurry makes the next exchange due at once, unless it would not help to know more peers.
func (n *Neighbourhood) hurry() {
	if !n.knowsEnough() {
		n.pace.hurry()
	}
}

// due reports whether the next step is due, and schedules the one after it at a random
// time around the pause, so that nodes do not keep in step.
func (p *pace) due(now, longest time.Duration, random float64) bool {
	if now < p.next {
		return false
	}
	p.pause = min(max(2*p.pause, lookSoon), longest)
	p.next = now + time.Duration((0.5+random)*float64(p.pause))
	return true
}

// callPartner begins an exchange with the peer that the view proposes.
func (n *Neighbourhood) callPartner() {
	n.owing = false
	to, offer, ok := n.view.Partner()
	if !ok {
		n.out.Alone = true
		return
	}
	switch {
	case !n.member(to.Peer): // another peer told of it
		n.view.Remove(to.Peer)
	default:
		n.exchangeWith(to, offer)
	}
}

// exchangeWith begins an exchange with a peer, if no request to it is under way.
func (n *Neighbourhood) exchangeWith(to graph.Entry, offer []graph.Entry) {
	if n.calls[to.Peer] == nil {
		n.request(&call{Call: Call{to, Request{Kind: Exchange, Known: offer}}})
	}
}

// exchanged takes in the entries of an exchange partner.
func (n *Neighbourhood) exchanged(reply Reply) {
	entries := append([]graph.Entry{reply.Own}, reply.Known...)
	n.keep(entries...)
	if n.view.Merge(entries) {
		n.hurry()
	}
}

// learn takes in what a peer says of itself.
func (n *Neighbourhood) learn(own graph.Entry, hidden bool) {
	if !hidden {
		n.keep(own)
		n.view.Hear(own)
	}
}

// exchange answers a request for an exchange: it takes in the peer's entries and
// returns this node's.
func (n *Neighbourhood) exchange(q Request) []graph.Entry {
	c := n.contact(q.Own.Peer)
	if n.now-c.exchanged < exchangePause {
		return nil // a peer cannot fill this node's view as fast as it likes
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

// part ends the connections that were made for a request and are no longer needed.
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
