// Package crowd divides what a node offers to strangers among the networks that they
// come from: a number of places, or an amount of work in a time. Identities cost
// nothing, but addresses do. So many identities of one network take places only from
// each other, and a newcomer from another network finds a place. It is how Bitcoin Core
// chooses whom to disconnect (after Heilman, Kendler, Zohar, Goldberg: Eclipse Attacks
// on Bitcoin's Peer-to-Peer Network, 2015). Nothing is refused while there is enough
// for all, so many nodes behind one router, or on one machine, share what there is.
package crowd

import (
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Of returns the address with which a multiaddress begins, or that of the relay if it
// leads over one. It is not valid if there is none.
func Of(a multiaddr.Multiaddr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	ip, err := manet.ToIP(a)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

// From returns the address from which a peer is connected: by its last connection, if it has
// several. It is not valid if there is none.
func From(n network.Network, p peer.ID) (from netip.Addr) {
	for _, c := range n.ConnsToPeer(p) {
		from = Of(c.RemoteMultiaddr())
	}
	return from
}

// levels are the networks that contain an address, the widest first. The narrowest is
// what one customer of a provider has: an IPv4 address, or 2^64 IPv6 addresses.
type levels [3]netip.Prefix

func levelsOf(a netip.Addr) (l levels) {
	bits := [len(l)]int{16, 24, 32}
	if a.Is6() {
		bits = [len(l)]int{32, 48, 64}
	}
	for i, b := range bits {
		l[i], _ = a.WithZone("").Prefix(b) // the zero prefix if the address is not valid
	}
	return l
}

// Widest is the widest network by which addresses are distinguished: a /16 of IPv4, a
// /32 of IPv6; the zero prefix if the address is not valid.
func Widest(a netip.Addr) netip.Prefix { return levelsOf(a)[0] }

// Narrowest is what one customer of a provider has: an address of IPv4, a /64 of IPv6; the
// zero prefix if the address is not valid.
func Narrowest(a netip.Addr) netip.Prefix { return levelsOf(a)[len(levels{})-1] }

// OneCustomer reports whether two addresses may belong to one customer of a provider:
// the same IPv4 address, or two of the same /64 of IPv6. It is false if one is not
// valid.
func OneCustomer(a, b netip.Addr) bool {
	narrowest := Narrowest(a)
	return narrowest.IsValid() && narrowest == Narrowest(b)
}

// Places records who holds one of a bounded number of places. It is not safe for
// concurrent use.
type Places[K comparable] struct {
	most    int
	holders map[K]levels
	counts  map[netip.Prefix]int
}

// NewPlaces returns most empty places.
func NewPlaces[K comparable](most int) *Places[K] {
	return &Places[K]{most: most, holders: make(map[K]levels), counts: make(map[netip.Prefix]int)}
}

// Enter gives a place to k, who must be new. If there are too few, others have to leave
// theirs, and are returned: one from the most crowded address in the most crowded
// network, drawn at random among equals, which may be k itself. Holders for which spare
// returns true keep their places, even if there are too many then; if spare is nil,
// nobody is spared.
func (p *Places[K]) Enter(k K, from netip.Addr, spare func(K) bool) (leave []K) {
	p.Leave(k)
	networks := levelsOf(from)
	p.holders[k] = networks
	for _, n := range networks {
		p.counts[n]++
	}
	for len(p.holders) > p.most {
		out, found := p.Evict(spare)
		if !found {
			break
		}
		leave = append(leave, out)
	}
	return leave
}

// Evict takes a place from one of those who are not spared, as Enter does, also if there
// are enough. It finds nobody if all are spared.
func (p *Places[K]) Evict(spare func(K) bool) (out K, found bool) {
	if out, found = p.crowding(spare); found {
		p.Leave(out)
	}
	return out, found
}

// Leave gives the place of k back, if it has one.
func (p *Places[K]) Leave(k K) {
	networks, ok := p.holders[k]
	if !ok {
		return
	}
	delete(p.holders, k)
	for _, n := range networks {
		if p.counts[n]--; p.counts[n] == 0 {
			delete(p.counts, n)
		}
	}
}

// Has reports whether k holds a place.
func (p *Places[K]) Has(k K) bool {
	_, has := p.holders[k]
	return has
}

// Len is how many places are taken.
func (p *Places[K]) Len() int { return len(p.holders) }

// crowding draws one of those who share their networks with the most others.
func (p *Places[K]) crowding(spare func(K) bool) (out K, found bool) {
	var worst [len(levels{})]int
	equals := 0
	for k, networks := range p.holders {
		if spare != nil && spare(k) {
			continue
		}
		var others [len(levels{})]int
		for i, n := range networks {
			others[i] = p.counts[n]
		}
		switch c := slices.Compare(others[:], worst[:]); {
		case c < 0:
			continue
		case c > 0:
			worst, equals = others, 0
		}
		if equals++; rand.IntN(equals) == 0 {
			out = k
		}
	}
	return out, equals > 0
}

// Rooms are Places of holders that take a while to leave. One that has lost its place counts
// until it is out, and while as many as there are places are on their way out, nobody
// enters. They are not safe for concurrent use.
type Rooms[K comparable] struct {
	places *Places[K]
	inside map[K]struct{} // those with a place, and those on their way out
}

// NewRooms returns empty rooms with most places.
func NewRooms[K comparable](most int) *Rooms[K] {
	return &Rooms[K]{places: NewPlaces[K](most), inside: make(map[K]struct{})}
}

// Most is how many places there are.
func (r *Rooms[K]) Most() int { return r.places.most }

// Enter is [Places.Enter] for k, who must be new. It reports whether k has a place, and who
// has lost one to it. Who enters is inside until Leave, with or without a place.
func (r *Rooms[K]) Enter(k K, from netip.Addr, spare func(K) bool) (stays bool, leave []K) {
	if len(r.inside) >= 2*r.places.most {
		return false, nil
	}
	r.inside[k] = struct{}{}
	leave = r.places.Enter(k, from, spare)
	if i := slices.Index(leave, k); i >= 0 {
		return false, slices.Delete(leave, i, i+1)
	}
	return true, leave
}

// Leave says that k is out. It does nothing if k was not inside.
func (r *Rooms[K]) Leave(k K) {
	r.places.Leave(k)
	delete(r.inside, k)
}

// Has reports whether k is inside.
func (r *Rooms[K]) Has(k K) bool {
	_, has := r.inside[k]
	return has
}
