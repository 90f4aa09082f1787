package peering

import (
	"slices"

	"p2pnode/learner"
)

// Departure is the progress of a node that leaves its neighbours for good.
type Departure struct {
	Begun      bool
	Neighbours int  // how many it had
	Told       int  // how many of them have been told
	Over       bool // nobody is left to tell
}

// Departure returns the progress of [Leave] so far.
func (n *Neighbourhood) Departure() Departure { return n.departure }

// depart gives up all edges, and makes none any more.
func (n *Neighbourhood) depart() {
	n.departure.Begun = true
	for _, l := range slices.Clone(n.links) {
		n.takeLeave(l.peer)
		n.cut(l.peer, "this node leaves")
	}
	n.departed()
}

// takeLeave arranges that a peer is told that there is no edge any more, no matter
// what was agreed on before.
func (n *Neighbourhood) takeLeave(id learner.ID) {
	if n.farewells[id] != finalTurn {
		n.farewells[id] = finalTurn
		n.departure.Neighbours++
	}
	n.wake()
}

// departed ends the departure once nobody is left to tell and no request is under way
// that could still make an edge.
func (n *Neighbourhood) departed() {
	if !n.departure.Begun || len(n.farewells) > 0 {
		return
	}
	for _, c := range n.calls {
		if c.Kind != Exchange {
			return
		}
	}
	n.departure.Over = true
}
