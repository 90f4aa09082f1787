package node

import (
	"context"
	"strings"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"

	"p2pnode/discovery/reach"
	"p2pnode/gossip"
	"p2pnode/internal/durable"
	"p2pnode/node/api"
	"p2pnode/node/netedge"
	"p2pnode/storage"
)

// Stats holds the numbers of a node for those who watch it from outside. They say how it
// is doing and what it has spent. They say nothing of what records hold or how well a
// model predicts them: Status is without Personal. Counts begin at [Open], and those of
// models, messages and releases at each [Node.Run] or end of a pause.
type Stats struct {
	Status api.Status // with all of its private sums
	Fits   FitStats
	// Released counts releases, and Refused those for which no budget was left.
	Released, Refused uint64
	Unprotected       int                      // releases without a guarantee since the data directory was made
	Gossip            map[gossip.Reason]uint64 // messages that were not accepted or could not be sent
	RefusedPeers      int                      // peers whose messages are ignored for a while
	Connections       map[Connection]int
	Limits            netedge.Refused
	Reach             reach.Verdict
	ClockBehind       float64          // seconds; 0: not noticeably
	Protocols         map[string]Bytes // by the name of the protocol, without the network's name
	Storage           storage.Stats
	DiskFree          int64 // bytes; -1: unknown
}

// Connection is a kind of connection.
type Connection struct{ Inbound, Relayed bool }

// Bytes counts bytes that were received and sent.
type Bytes struct{ In, Out uint64 }

// Stats returns the present numbers. It fits no model and reads no record; it waits at
// most for a write to the disk.
func (n *Node) Stats(ctx context.Context) (Stats, error) {
	status, err := n.Progress(ctx)
	if err != nil {
		return Stats{}, err
	}
	if status.Sums, err = n.describeSums(false); err != nil {
		return Stats{}, err
	}
	s := Stats{
		Status: status, Fits: n.fits.stats(), Unprotected: n.ledger.Unprotected(), Reach: reach.Unknown,
		Limits: n.meter.Refused(), Protocols: make(map[string]Bytes), DiskFree: durable.Free(n.dir),
	}
	for p, b := range n.meter.Traffic.GetBandwidthByProtocol() {
		s.Protocols[strings.Replace(string(p), "/"+n.network, "", 1)] = Bytes{uint64(b.TotalIn), uint64(b.TotalOut)}
	}
	if session := n.current(); session != nil {
		s.describe(session)
	}
	s.Storage, err = n.store.Stats()
	return s, err
}

// describe adds what only a running node knows.
func (s *Stats) describe(running *session) {
	s.Released, s.Refused = running.loop.door.released.Load(), running.loop.door.refused.Load()
	s.Gossip = running.gossip.Reasons()
	for _, h := range running.gossip.Held() {
		if h.Refused {
			s.RefusedPeers++
		}
	}
	s.Connections = make(map[Connection]int)
	for _, c := range running.host.Network().Conns() {
		s.Connections[Connection{c.Stat().Direction == network.DirInbound, reach.IsRelayed(c.RemoteMultiaddr())}]++
	}
	report := running.reach.Report()
	s.Reach, s.ClockBehind = report.Verdict(), report.ClockBehind
}

// CountWith makes libp2p count in the next run, with an option such as
// [libp2p.PrometheusRegisterer]. Otherwise libp2p does not count.
func (n *Node) CountWith(o libp2p.Option) { n.meter.Libp2p = o }
