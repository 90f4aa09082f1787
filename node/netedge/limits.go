package netedge

import (
	"github.com/libp2p/go-libp2p"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
)

const (
	// streamsEach is how many streams a connection may have, on average over all: two of
	// gossipsub last, the others are requests.
	streamsEach = 16
	// memoryEach is what the streams of a connection may keep unread, in bytes, on average:
	// four windows of Yamux.
	memoryEach = 1 << 20
)

// limits is what a host takes on before it refuses more: what libp2p thinks right for the
// memory of the machine, which is some seventy peers that call for each gigabyte, and as
// much as the connections of p need, which may all be made at once. What one peer may use
// is not touched.
func (p Power) limits() rcmgr.ConcreteLimitConfig {
	l := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&l)
	for _, b := range []*rcmgr.BaseLimit{&l.SystemBaseLimit, &l.TransientBaseLimit} {
		b.Conns += p.connections
		b.ConnsInbound += p.connections
		b.FD += p.connections
		b.Memory += int64(p.connections) * memoryEach
		widen(b, streamsEach*p.connections)
	}
	widen(&l.TransientBaseLimit, 2*p.openings()) // twice what is shared, and each keeps its part
	widen(&l.ProtocolBaseLimit, streamsEach*p.connections)
	// Every new peer identifies itself, and this host to it.
	known := l.ServiceLimits[identify.ServiceName]
	widen(&known.BaseLimit, 2*p.connections)
	l.AddServiceLimit(identify.ServiceName, known.BaseLimit, known.BaseLimitIncrease)
	known = l.ProtocolLimits[identify.ID]
	widen(&known.BaseLimit, 2*p.connections)
	l.AddProtocolLimit(identify.ID, known.BaseLimit, known.BaseLimitIncrease)
	l.AddProtocolLimit(identify.IDPush, known.BaseLimit, known.BaseLimitIncrease)
	return l.AutoScale()
}

// widen adds room for so many streams, opened by either end.
func widen(b *rcmgr.BaseLimit, streams int) {
	b.Streams += streams
	b.StreamsInbound += streams
	b.StreamsOutbound += streams
}
