package metrics

import (
	"p2pnode/gossip"
	"p2pnode/node"
)

func messages() []metric {
	return []metric{
		counter("gossip_messages_published_total", "Models that this node sent out, once each.",
			func(s *node.Stats) float64 { return float64(s.Status.Traffic.Published) }),
		counter("gossip_messages_expected_total", "Models that this node sent out, times the neighbours that listened: what all others together should deliver of it.",
			func(s *node.Stats) float64 { return float64(s.Status.Traffic.Expected) }),
		counter("gossip_messages_delivered_total", "Models of neighbours that arrived and were taken.",
			func(s *node.Stats) float64 { return float64(s.Status.Traffic.Delivered) }),
		refused("gossip_messages_rejected_total", "Messages that no honest node would have sent.", gossip.Rejected),
		refused("gossip_messages_ignored_total", "Messages that were stale or not for this node.", gossip.Ignored),
		refused("gossip_messages_dropped_total", "Messages that were lost before they were looked at, or before they were sent.", gossip.Dropped),
		counter("gossip_direct_messages_sent_total", "Messages to one neighbour.",
			func(s *node.Stats) float64 { return float64(s.Status.Traffic.Sent) }),
		counter("gossip_direct_messages_received_total", "Messages from one neighbour to this node that were taken.",
			func(s *node.Stats) float64 { return float64(s.Status.Traffic.Taken) }),
		gauge("gossip_refused_peers", "Peers that this node does not listen to for a while, because of what they sent.",
			func(s *node.Stats) float64 { return float64(s.RefusedPeers) }),
	}
}

func refused(name, help string, o gossip.Outcome) metric {
	return counters(name, help, func(s *node.Stats, add sample) {
		for r, n := range s.Gossip {
			if r.Outcome() == o {
				add(float64(n), r.String())
			}
		}
	}, "reason")
}
