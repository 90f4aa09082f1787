package node

import (
	"context"

	"p2pnode/node/api"
	"p2pnode/peering"
)

// Leave tells every neighbour that its edge ends, so that they stop listening and look
// for others at once, and forgets the edges. Until the run ends the node has no
// neighbours, asks nobody and releases nothing. Leave returns when all neighbours have
// answered or ctx ends; for a neighbour that cannot be reached it waits until a timeout.
// A second call waits for the answers to the first.
//
// What was released stays public: the peers that received it keep it.
//
// If the node is not running, nobody is told.
func (n *Node) Leave(ctx context.Context) (api.Farewell, error) {
	known, err := n.describeSums(true)
	if err != nil {
		return api.Farewell{}, err
	}
	s := n.current()
	if s == nil {
		edges, err := n.store.Edges()
		return api.Farewell{Neighbours: len(edges), SumsWait: known.Await()}, err
	}
	s.hood.depart()
	select {
	case <-s.hood.left:
	case <-s.ended:
	case <-ctx.Done():
	}
	f := api.Farewell{Running: true, SumsWait: known.Await()}
	s.hood.look(func(m *peering.Neighbourhood) {
		d := m.Departure()
		f.Neighbours, f.Told = d.Neighbours, d.Told
	})
	return f, nil
}
