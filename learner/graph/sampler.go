package graph

import "p2pnode/learner"

// samplers are a sample of all the peers that a view has ever heard of, in which being
// heard of often gains nothing (Brahms: Bortnikov, Gurevich, Keidar, Kliot, Shraer
// 2009). Each place draws a secret random order of all parts of the network and of all
// peers, and holds the first peer in that order that it has heard of, however often.
// The part of the network comes first in the order, so ten thousand peers of one part
// are as likely to be held as the single peer of another.
type samplers []sampler

type sampler struct {
	Entry
	net, peer uint64 // the secrets that define the order
	held      bool
	since     uint32 // the turn since which it holds the peer
}

// change is how many places may change hands in the second half of the time for which a
// place has held its peer. A crowd that comes later therefore needs, for each such
// number of places, as long as the others have been known. It is one in four, and at
// least one.
func (s samplers) change() int { return max(1, len(s)/4) }

// hear shows a peer to all places at the given turn. It also updates what is known of a
// held peer.
func (s samplers) hear(e Entry, turn uint32) {
	net, peer := digest(e.Net), digest(string(e.Peer))
	for i := range s {
		p := &s[i]
		switch {
		case p.held && p.Peer == e.Peer:
			p.update(e)
		case !p.held || p.before(net, peer) && s.yields(p.since, turn):
			p.Entry, p.held, p.since = e, true, turn
		}
	}
}

// before reports whether a peer comes before the held one in the order.
func (p *sampler) before(net, peer uint64) bool {
	a, b := mixed(net^p.net), mixed(digest(p.Net)^p.net)
	return a < b || a == b && mixed(peer^p.peer) < mixed(digest(string(p.Peer))^p.peer)
}

// yields reports whether a place that has held its peer since a turn may take another
// one.
func (s samplers) yields(since, turn uint32) bool {
	young := 0
	for i := range s {
		if s[i].held && turn-s[i].since < (turn-since+1)/2 {
			young++
		}
	}
	return young < s.change()
}

// grow makes every entry older and removes those that are too old.
func (s samplers) grow(maxAge uint32) {
	for i := range s {
		if s[i].Age++; s[i].Age > maxAge {
			s[i].held = false
		}
	}
}

// remove removes a peer.
func (s samplers) remove(id learner.ID) {
	for i := range s {
		if s[i].held && s[i].Peer == id {
			s[i].held = false
		}
	}
}

// first is 0 for a held peer and 1 for others, for sorting.
func (s samplers) first(id learner.ID) int {
	for i := range s {
		if s[i].held && s[i].Peer == id {
			return 0
		}
	}
	return 1
}

// relocate frees the places of a peer that is in another part of the network than it
// said.
func (s samplers) relocate(e Entry) {
	for i := range s {
		if s[i].held && s[i].Peer == e.Peer && s[i].Net != e.Net {
			s[i].held = false
		}
	}
}

// digest is FNV-1a (Fowler, Noll, Vo) of a name. It need not be secret.
func digest(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mixed is the permutation of SplitMix64 (Steele, Lea, Flood 2014).
func mixed(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
