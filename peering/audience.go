package peering

import (
	"iter"
	"time"
)

// Listener is a neighbour that would hear a release.
type Listener struct {
	// Known means that the owner or the owner's network knows the peer: it is a member,
	// the owner named it, or it is on the owner's local network.
	Known   bool
	Age     time.Duration // age of the edge to it
	Network string        // the network of its address; "": not known
}

// Audience says who must listen before a node spends anything. One peer that the owner
// knows is enough. Otherwise it takes a number of strangers, each from a different
// network, that have been neighbours for some time: identities cost nothing, addresses
// and time do. The zero Audience accepts anybody.
type Audience struct {
	Count int
	Age   time.Duration
}

// Enough reports whether these listeners are enough, and how many of the strangers
// count. It asks for no more of them after one that is known.
func (a Audience) Enough(listeners iter.Seq[Listener]) (enough bool, count int) {
	all, networks := 0, map[string]bool{}
	for l := range listeners {
		if l.Known {
			return true, 0
		}
		all++
		if l.Age >= a.Age && l.Network != "" {
			networks[l.Network] = true
		}
	}
	if a.Count == 0 {
		return all > 0, all
	}
	return len(networks) >= a.Count, len(networks)
}
