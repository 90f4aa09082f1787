package node

import (
	"net/netip"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/internal/crowd"
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

// requestFromWire converts a request. It replaces the part of the network that the entry
// claims by the one from which the peer speaks, which is a fact.
func requestFromWire(from peer.ID, net string, q gossip.EdgeRequest) peering.Asked {
	q.Own.Peer = from
	own := fromWire(q.Own)[0]
	own.Net = net
	return peering.Asked{Request: peering.Request{
		Kind: peering.Kind(q.Kind), Own: own, Hidden: hidden(q.Own), Known: fromWire(q.Known...), Turn: q.Turn,
	}}
}

func replyFromWire(net string, r gossip.EdgeReply) peering.Reply {
	own := fromWire(r.Own)[0]
	own.Net = net
	return peering.Reply{
		Answer: peering.Answer(r.Answer), Reason: r.Reason, Own: own, Hidden: hidden(r.Own), Known: fromWire(r.Known...), Turn: r.Turn,
	}
}

// netOf names the widest network of [crowd] in which the first public address lies, or the
// relay through which it leads. Other addresses have no name: those of this machine, of a
// local network, and of a network behind a router.
func netOf(addrs ...multiaddr.Multiaddr) string {
	for _, a := range addrs {
		ip := crowd.Of(a)
		if !ip.IsGlobalUnicast() || ip.IsPrivate() || behindProvider.Contains(ip) {
			continue
		}
		return crowd.Widest(ip).String()
	}
	return ""
}

// behindProvider is the range of addresses for customers behind a provider's router (RFC 6598).
var behindProvider = netip.MustParsePrefix("100.64.0.0/10")

// hidden reports whether an entry names no address at which its node could be reached.
func hidden(e gossip.Entry) bool { return len(gossip.Addrs(e.Passport)) == 0 }

// seen returns the input for a peer of which only the addresses are known.
func seen(info peer.AddrInfo) peering.Seen {
	return peering.Seen{Peer: graph.Entry{
		Peer: gossip.ID(info.ID), Net: netOf(info.Addrs...), Passport: gossip.NewPassport(info.Addrs),
	}}
}

func fromWire(list ...gossip.Entry) []graph.Entry {
	out := make([]graph.Entry, len(list))
	for i, e := range list {
		end := graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std}
		out[i] = graph.Entry{
			Peer: gossip.ID(e.Peer), End: end, Age: e.Age, Net: netOf(gossip.Addrs(e.Passport)...), Passport: e.Passport,
		}
	}
	return out
}

// toWire leaves out what is more than a message takes, and entries whose peer ID is invalid. Of
// those there are none, because all entries came through fromWire or seen.
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
