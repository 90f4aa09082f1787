package netedge

import (
	"sync/atomic"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Meter counts what a host does.
type Meter struct {
	Traffic *metrics.BandwidthCounter
	// Libp2p is how libp2p counts by itself; nil: it does not. It may be changed between
	// two hosts.
	Libp2p libp2p.Option

	refused refused
}

// NewMeter returns a meter at zero.
func NewMeter() *Meter { return &Meter{Traffic: metrics.NewBandwidthCounter()} }

// options are what a host needs to count.
func (m *Meter) options() []libp2p.Option {
	counting := m.Libp2p
	if counting == nil {
		counting = libp2p.DisableMetrics()
	}
	return []libp2p.Option{libp2p.BandwidthReporter(m.Traffic), counting}
}

// Refused counts what a host did not take on because it had reached a limit.
type Refused struct{ Connections, Streams, Memory uint64 }

// Refused returns the counts as they are now.
func (m *Meter) Refused() Refused {
	r := &m.refused
	return Refused{r.connections.Load(), r.streams.Load(), r.memory.Load()}
}

// refused is told by libp2p's resource manager what it allows and what it blocks.
type refused struct{ connections, streams, memory atomic.Uint64 }

func (r *refused) BlockConn(network.Direction, bool)      { r.connections.Add(1) }
func (r *refused) BlockPeer(peer.ID)                      { r.connections.Add(1) }
func (r *refused) BlockStream(peer.ID, network.Direction) { r.streams.Add(1) }
func (r *refused) BlockProtocol(protocol.ID)              { r.streams.Add(1) }
func (r *refused) BlockProtocolPeer(protocol.ID, peer.ID) { r.streams.Add(1) }
func (r *refused) BlockService(string)                    { r.streams.Add(1) }
func (r *refused) BlockServicePeer(string, peer.ID)       { r.streams.Add(1) }
func (r *refused) BlockMemory(int)                        { r.memory.Add(1) }

// What is allowed is of no interest here.

func (*refused) AllowConn(network.Direction, bool)      {}
func (*refused) AllowPeer(peer.ID)                      {}
func (*refused) AllowStream(peer.ID, network.Direction) {}
func (*refused) AllowProtocol(protocol.ID)              {}
func (*refused) AllowService(string)                    {}
func (*refused) AllowMemory(int)                        {}
