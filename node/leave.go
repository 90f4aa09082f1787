package node

import (
	"context"
	"maps"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
)

// Farewell is what came of a [Node.Leave].
type Farewell struct {
	Running    bool `json:"running"`    // the node took part in the network
	Neighbours int  `json:"neighbours"` // that it had
	Told       int  `json:"told"`       // of them; the others notice within an hour
}

// Leave tells every neighbour that its edge ends, so that they stop listening and
// look for others at once, and forgets the edges. Until the run ends the node has no
// neighbours, asks nobody and releases nothing. It returns when all have answered, or
// when ctx ends: neighbours that cannot be reached take their time. A second call waits
// for the first one's answers.
//
// What was released stays public: whoever heard it keeps it.
//
// Of a node that is not running nobody is told.
func (n *Node) Leave(ctx context.Context) (Farewell, error) {
	s := n.current()
	if s == nil {
		edges, err := n.store.Edges()
		return Farewell{Neighbours: len(edges)}, err
	}
	select {
	case <-s.hood.depart():
	case <-s.ended:
	case <-ctx.Done():
	}
	return s.hood.farewell(), nil
}

// departure is a node's taking leave of its neighbours, for good.
type departure struct {
	Farewell
	over chan struct{} // closed when nobody is left to be told
}

// farewell is what has come of the departure so far.
func (h *neighbourhood) farewell() Farewell {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.departure.Farewell
}

// depart gives up all edges, and returns what is closed when run has told their other
// ends.
func (h *neighbourhood) depart() (over <-chan struct{}) {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	if h.departure != nil {
		h.mu.Unlock()
		return h.departure.over
	}
	h.departure = &departure{Farewell: Farewell{Running: true}, over: make(chan struct{})}
	links := slices.Collect(maps.Keys(h.links))
	for _, id := range links {
		h.forGood(id)
	}
	h.departed()
	h.mu.Unlock()
	for _, id := range links {
		h.cut(id, "this node leaves")
	}
	return h.departure.over
}

// forGood has a peer told that there is no edge, whatever was agreed on before. The
// caller holds h.mu.
func (h *neighbourhood) forGood(id peer.ID) {
	if h.leaving[id] != gossip.MaxTurn {
		h.leaving[id] = gossip.MaxTurn
		h.departure.Neighbours++
	}
	h.wake()
}

// departed ends the departure once nobody is left to be told, nor may still agree to an
// edge. The caller holds h.mu.
func (h *neighbourhood) departed() {
	if h.departure == nil || len(h.leaving) > 0 {
		return
	}
	for _, e := range h.asking {
		if e.kind != gossip.EdgeExchange {
			return
		}
	}
	select {
	case <-h.departure.over: // before
	default:
		close(h.departure.over)
	}
}

// told notes that the other end of an edge knows that it has ended.
func (h *neighbourhood) told(turn uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if turn == gossip.MaxTurn {
		h.departure.Told++
	}
}
