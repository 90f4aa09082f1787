package node

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/peering"
)

// publicVector returns the length of the public vector of a node of the task: its declared
// profile or its estimate.
func publicVector(t *learner.Task) int {
	switch t.Graph.Rule {
	case "profile":
		return t.Graph.Profile
	case "released":
		return t.EstimateDimension()
	}
	return 0
}

func requestFromWire(from peer.ID, q gossip.EdgeRequest) peering.Asked {
	q.Own.Peer = from
	return peering.Asked{Request: peering.Request{
		Kind: peering.Kind(q.Kind), Own: fromWire(q.Own)[0], Hidden: hidden(q.Own), Known: fromWire(q.Known...), Turn: q.Turn,
	}}
}

func replyFromWire(r gossip.EdgeReply) peering.Reply {
	return peering.Reply{
		Answer: peering.Answer(r.Answer), Reason: r.Reason, Own: fromWire(r.Own)[0], Hidden: hidden(r.Own), Known: fromWire(r.Known...), Turn: r.Turn,
	}
}

// hidden reports whether an entry names no address at which its node could be reached.
func hidden(e gossip.Entry) bool { return len(gossip.Addrs(e.Passport)) == 0 }

// seen is the sighting of a peer of which only addresses are known.
func seen(info peer.AddrInfo) peering.Seen {
	return peering.Seen{Peer: graph.Entry{Peer: gossip.ID(info.ID), Passport: gossip.NewPassport(info.Addrs)}}
}

func fromWire(list ...gossip.Entry) []graph.Entry {
	out := make([]graph.Entry, len(list))
	for i, e := range list {
		end := graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std}
		out[i] = graph.Entry{Peer: gossip.ID(e.Peer), End: end, Age: e.Age, Passport: e.Passport}
	}
	return out
}

// toWire leaves out entries whose peer ID is not valid. There are none, because all came
// through fromWire or seen.
func toWire(list []graph.Entry) []gossip.Entry {
	out := make([]gossip.Entry, 0, min(len(list), gossip.MaxKnown))
	for _, e := range list[:min(len(list), gossip.MaxKnown)] {
		if id, err := peer.Decode(string(e.Peer)); err == nil {
			out = append(out, gossip.Entry{Peer: id, Age: e.Age, Round: e.Round, Std: e.Std, Vector: e.Vector, Passport: e.Passport})
		}
	}
	return out
}

// dialable returns the addresses of the node of an entry.
func dialable(e graph.Entry) (peer.AddrInfo, error) {
	id, err := peer.Decode(string(e.Peer))
	return peer.AddrInfo{ID: id, Addrs: gossip.Addrs(e.Passport)}, err
}
