package metrics

import (
	"time"

	"p2pnode/discovery/reach"
	"p2pnode/node"
	"p2pnode/node/api"
)

func network() []metric {
	return []metric{
		counters("network_received_bytes_total", "Bytes read from streams, by protocol.",
			func(s *node.Stats, add sample) {
				for name, b := range s.Protocols {
					add(float64(b.In), protocol(name))
				}
			}, "protocol"),
		counters("network_sent_bytes_total", "Bytes written to streams, by protocol.",
			func(s *node.Stats, add sample) {
				for name, b := range s.Protocols {
					add(float64(b.Out), protocol(name))
				}
			}, "protocol"),
		gauges("network_connections", "Connections, by who called and whether they go through a relay.", connections, "direction", "relayed"),
		gauge("network_candidates", "Peers that this node knows and that are no neighbours.",
			func(s *node.Stats) float64 { return float64(s.Status.Candidates) }),
		counters("network_limit_refusals_total", "What was refused because this node had reached a limit of its own.",
			func(s *node.Stats, add sample) {
				add(float64(s.Limits.Connections), "connections")
				add(float64(s.Limits.Streams), "streams")
				add(float64(s.Limits.Memory), "memory")
			}, "resource"),
		gauges("network_reach", "1 for how others reach this node, as far as it is known, 0 for the rest. Local: only others on its local network have called it.",
			func(s *node.Stats, add sample) {
				for _, v := range []reach.Verdict{reach.Reachable, reach.Relayed, reach.Local, reach.Unreachable, reach.Unknown} {
					add(number(s.Reach == v), string(v))
				}
			}, "verdict"),
		gauge("network_clock_behind_seconds", "How far this machine's clock is behind most peers; 0: not noticeably.",
			func(s *node.Stats) float64 { return s.ClockBehind }),
		gauge("network_members", "Members on the list of the private network.",
			func(s *node.Stats) float64 { return float64(private(s).Members) }),
		gauges("network_member_refusals", "Connections of the last hour refused for the lack of membership, by this node or by others.",
			func(s *node.Stats, add sample) {
				add(times(private(s).TurnedAway), "this_node")
				add(times(private(s).RefusedBy), "others")
			}, "by"),
		moment("network_membership_expiry_timestamp_seconds", "When this node's membership of the private network ends; 0: never.", expiry),
	}
}

// protocol returns the label for a protocol. The bytes that two ends exchange before they
// have agreed on a protocol have no name.
func protocol(name string) string {
	if name == "" {
		return "negotiation"
	}
	return name
}

func connections(s *node.Stats, add sample) {
	for _, inbound := range []bool{false, true} {
		for _, relayed := range []bool{false, true} {
			direction := "outbound"
			if inbound {
				direction = "inbound"
			}
			add(float64(s.Connections[node.Connection{Inbound: inbound, Relayed: relayed}]), direction, text(relayed))
		}
	}
}

// private returns the private network; without one it returns an empty one.
func private(s *node.Stats) *api.Private {
	if s.Status.Private == nil {
		return new(api.Private)
	}
	return s.Status.Private
}

func times(list []api.Refusal) (n float64) {
	for _, r := range list {
		n += float64(r.Times)
	}
	return n
}

func expiry(s *node.Stats) time.Time {
	if p := private(s); p.Expires != nil {
		return *p.Expires
	}
	return time.Time{}
}
