package peering

import (
	"slices"

	"p2pnode/learner"
)

// Departure is a node's taking leave of its neighbours, for good.
type Departure struct {
	Begun      bool
	Neighbours int  // that it had
	Told       int  // of them
	Over       bool // nobody is left to be told
}

// Departure is what has come of [Leave] so far.
func (n *Neighbourhood) Departure() Departure { return n.departure }

// depart gives up all edges.
func (n *Neighbourhood) depart() {
	if n.departure.Begun {
		return
	}
	n.departure.Begun = true
	for _, l := range slices.Clone(n.links) {
		n.takeLeave(l.peer)
		n.cut(l.peer, "this node leaves")
	}
	n.departed()
}

// takeLeave has a peer told that there is no edge, whatever was agreed on before.
func (n *Neighbourhood) takeLeave(id learner.ID) {
	if n.farewells[id] != FinalTurn {
		n.farewells[id] = FinalTurn
		n.departure.Neighbours++
	}
	n.wake()
}

// departed ends the departure once nobody is left to be told, nor may still agree to
// an edge.
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
