package netedge

import (
	"github.com/libp2p/go-libp2p"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"

	"p2pnode/discovery/reach"
)

const (
	// streamsEach is how many streams a connection may have, on average over all
	// connections. Two streams of gossipsub last; the others are requests.
	streamsEach = 16
	// memoryEach is how many bytes the streams of a connection may hold unread, on
	// average: four windows of Yamux.
	memoryEach = 1 << 20
)

// limits returns how much a host accepts before it refuses more. It is the sum of two
// parts: what libp2p considers right for the machine's memory, which is about seventy
// calling peers for each gigabyte, and what the connections of p need, all of which may
// be made at once while as many as leavingMore are on their way out. The limits for a
// single peer stay as they are.
func (p Power) limits() rcmgr.ConcreteLimitConfig {
	l := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&l)
	for _, b := range []*rcmgr.BaseLimit{&l.SystemBaseLimit, &l.TransientBaseLimit} {
		b.Conns += p.connections + leavingMore
		b.ConnsInbound += p.connections + leavingMore
		b.FD += p.connections
		b.Memory += int64(p.connections) * memoryEach
		widen(b, streamsEach*p.connections)
	}
	widen(&l.TransientBaseLimit, 4*p.openings()) // strangers share it twice ([fair]), and each keeps its part
	widen(&l.ProtocolBaseLimit, streamsEach*p.connections)
	// Every new peer identifies itself to this host, and this host to it.
	known := l.ServiceLimits[identify.ServiceName]
	widen(&known.BaseLimit, 2*p.connections)
	l.AddServiceLimit(identify.ServiceName, known.BaseLimit, known.BaseLimitIncrease)
	known = l.ProtocolLimits[identify.ID]
	widen(&known.BaseLimit, 2*p.connections)
	l.AddProtocolLimit(identify.ID, known.BaseLimit, known.BaseLimitIncrease)
	l.AddProtocolLimit(identify.IDPush, known.BaseLimit, known.BaseLimitIncrease)
	// A relayed connection has a stream at each end, and as many are on their way out.
	known = l.ServiceLimits[relay.ServiceName]
	widen(&known.BaseLimit, 4*reach.MostCircuits)
	l.AddServiceLimit(relay.ServiceName, known.BaseLimit, known.BaseLimitIncrease)
	known = l.ServicePeerLimits[relay.ServiceName]
	widen(&known.BaseLimit, 4*reach.CircuitsEach)
	l.AddServicePeerLimit(relay.ServiceName, known.BaseLimit, known.BaseLimitIncrease)
	return l.AutoScale()
}

// widen adds room for a number of streams, opened by either end.
func widen(b *rcmgr.BaseLimit, streams int) {
	b.Streams += streams
	b.StreamsInbound += streams
	b.StreamsOutbound += streams
}
