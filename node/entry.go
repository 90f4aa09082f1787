package node

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// publicVector is the length of what is publicly known of a node of the task: of its
// declared profile or its estimate.
func publicVector(t *learner.Task) int {
	switch t.Graph.Rule {
	case "profile":
		return t.Graph.Profile
	case "released":
		return t.Dimension()
	}
	return 0
}

// ownEntry is what others are told of this node: what it has declared or
// published.
func (h *neighbourhood) ownEntry() (gossip.Entry, error) {
	h.mu.Lock()
	e := gossip.Entry{Peer: h.host.ID(), Round: h.end.Round, Std: h.end.Std, Vector: h.end.Vector}
	h.mu.Unlock()
	var err error
	e.Passport, err = h.signer.Passport(e, sortedAddrs(h.host.Addrs()))
	return e, err
}

// endOf is one end of an edge.
func endOf(e gossip.Entry) graph.End { return graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std} }

func fromWire(list ...gossip.Entry) []graph.Entry {
	out := make([]graph.Entry, len(list))
	for i, e := range list {
		out[i] = graph.Entry{Peer: gossip.ID(e.Peer), End: endOf(e), Age: e.Age, Passport: e.Passport}
	}
	return out
}

// toWire leaves out entries of peers whose names are none; there are none such, for
// all came through fromWire or found.
func toWire(list []graph.Entry) []gossip.Entry {
	out := make([]gossip.Entry, 0, min(len(list), gossip.MaxKnown))
	for _, e := range list[:min(len(list), gossip.MaxKnown)] {
		if id, err := peer.Decode(string(e.Peer)); err == nil {
			out = append(out, gossip.Entry{Peer: id, Age: e.Age, Round: e.Round, Std: e.Std, Vector: e.Vector, Passport: e.Passport})
		}
	}
	return out
}

// dialable is where to reach the node of an entry.
func dialable(e graph.Entry) (peer.AddrInfo, error) {
	id, err := peer.Decode(string(e.Peer))
	return peer.AddrInfo{ID: id, Addrs: gossip.Addrs(e.Passport)}, err
}
