package peering

import "time"

// Listener is a neighbour that would hear a release.
type Listener struct {
	// Known says that the owner knows it, or that her network does: a member, one that she
	// named, one on her local network.
	Known   bool
	Age     time.Duration // of the edge to it
	Network string        // where its address is from; "": not known
}

// Audience is who must listen before a node spends anything. One whom the owner knows is
// enough. Strangers are so many of them, each of a network of its own, and neighbours for so
// long: identities cost nothing, addresses and time do. The zero Audience is anybody.
type Audience struct {
	Count int
	Age   time.Duration
}

// Enough reports whether they are, and how many of the strangers count.
func (a Audience) Enough(listeners []Listener) (enough bool, count int) {
	networks := map[string]bool{}
	for _, l := range listeners {
		if l.Known {
			return true, 0
		}
		if l.Age >= a.Age && l.Network != "" {
			networks[l.Network] = true
		}
	}
	if a.Count == 0 {
		return len(listeners) > 0, len(listeners)
	}
	return len(networks) >= a.Count, len(networks)
}
