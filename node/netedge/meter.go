package netedge

import (
	"sync/atomic"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"p2pnode/discovery/reach"
)

// Meter counts what a host does.
type Meter struct {
	Traffic *reach.Traffic
	// Libp2p is an option that makes libp2p count by itself; nil: it does not count. It
	// may be changed between two hosts.
	Libp2p libp2p.Option

	refused refused
}

// NewMeter returns a meter at zero.
func NewMeter() *Meter { return &Meter{Traffic: new(reach.Traffic)} }

// options returns the options with which a host counts.
func (m *Meter) options() []libp2p.Option {
	counting := m.Libp2p
	if counting == nil {
		counting = libp2p.DisableMetrics()
	}
	return []libp2p.Option{libp2p.BandwidthReporter(m.Traffic), counting}
}

// Refused counts what a host refused because it had reached a limit.
type Refused struct{ Connections, Streams, Memory uint64 }

// Refused returns the counts as they are now.
func (m *Meter) Refused() Refused {
	r := &m.refused
	return Refused{r.connections.Load(), r.streams.Load(), r.memory.Load()}
}

// refused receives from libp2p's resource manager what it allows and what it blocks.
type refused struct{ connections, streams, memory atomic.Uint64 }

// BlockConn implements [rcmgr.MetricsReporter]. It counts a refused connection.
func (r *refused) BlockConn(network.Direction, bool) { r.connections.Add(1) }

// BlockPeer implements [rcmgr.MetricsReporter]. It counts a refused connection.
func (r *refused) BlockPeer(peer.ID) { r.connections.Add(1) }

// BlockStream implements [rcmgr.MetricsReporter]. It counts a refused stream.
func (r *refused) BlockStream(peer.ID, network.Direction) { r.streams.Add(1) }

// BlockProtocol implements [rcmgr.MetricsReporter]. It counts a refused stream.
func (r *refused) BlockProtocol(protocol.ID) { r.streams.Add(1) }

// BlockProtocolPeer implements [rcmgr.MetricsReporter]. It counts a refused stream.
func (r *refused) BlockProtocolPeer(protocol.ID, peer.ID) { r.streams.Add(1) }

// BlockService implements [rcmgr.MetricsReporter]. It counts a refused stream.
func (r *refused) BlockService(string) { r.streams.Add(1) }

// BlockServicePeer implements [rcmgr.MetricsReporter]. It counts a refused stream.
func (r *refused) BlockServicePeer(string, peer.ID) { r.streams.Add(1) }

// BlockMemory implements [rcmgr.MetricsReporter]. It counts a refused reservation of memory.
func (r *refused) BlockMemory(int) { r.memory.Add(1) }

// AllowConn implements [rcmgr.MetricsReporter] and does nothing.
func (*refused) AllowConn(network.Direction, bool) {}

// AllowPeer implements [rcmgr.MetricsReporter] and does nothing.
func (*refused) AllowPeer(peer.ID) {}

// AllowStream implements [rcmgr.MetricsReporter] and does nothing.
func (*refused) AllowStream(peer.ID, network.Direction) {}

// AllowProtocol implements [rcmgr.MetricsReporter] and does nothing.
func (*refused) AllowProtocol(protocol.ID) {}

// AllowService implements [rcmgr.MetricsReporter] and does nothing.
func (*refused) AllowService(string) {}

// AllowMemory implements [rcmgr.MetricsReporter] and does nothing.
func (*refused) AllowMemory(int) {}
