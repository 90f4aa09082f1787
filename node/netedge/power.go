package netedge

import (
	"time"

	"p2pnode/node/datadir"

	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
)

// Power says how often a node acts while it has nothing to send, and how many connections
// it keeps.
type Power struct {
	// silence is how long a connection may be silent before an end sends a ping, and answer
	// how long the reply may take: a vanished peer is noticed after both. The end that has
	// waited longest pings, and any bytes that arrive count as a sign of life. So an idle
	// connection costs one small exchange in each silence.
	silence, answer time.Duration
	Heartbeat       time.Duration // of gossipsub
	Look            time.Duration // between looks at the neighbours while nothing happens
	// Renew is how old an edge becomes before the node asks for it again, which repairs an
	// edge that only one end knows. It is also the longest time between two exchanges.
	Renew time.Duration
	// connections is how many there may be before those to peers other than neighbours are
	// trimmed to spare.
	connections, spare int
}

// highWater bounds the connections of one address, and of a node that answers for
// the hash table.
const highWater = 256

// spareFor is how long a new connection is not trimmed. Its first use takes less.
const spareFor = 10 * time.Second

// PowerOf returns the power that a configuration asks for, with a graph of that degree.
func PowerOf(c *datadir.Config, degree int) Power {
	p := Power{
		silence: 6 * time.Second, answer: 6 * time.Second,
		Heartbeat: 2 * time.Second, Look: 5 * time.Second, Renew: time.Minute,
		connections: 2*degree + 12, spare: 8,
	}
	if c.DHT == "server" { // others come to ask
		p.connections, p.spare = highWater, highWater/2
	}
	if c.Power == datadir.PowerLow {
		p.silence, p.answer = time.Minute, 10*time.Second
		p.Heartbeat, p.Look, p.Renew = 10*time.Second, 10*time.Second, 5*time.Minute
		p.connections, p.spare = degree+4, 2
	}
	return p
}

// mostAtOnce bounds the connections of a host whose connections are its purpose.
const mostAtOnce = 4096

// Serving is the power of a node to which so many others come at once: a member of a
// committee, to which all contributors of a private sum do.
func (p Power) Serving(others int) Power {
	others = min(others, mostAtOnce)
	p.connections += others
	p.spare += others / 2
	return p
}

// muxer is Yamux that notices dead peers by itself: its pings are frames, where
// those of the ping protocol are streams. The round trip time, measured every
// half a minute otherwise, only matters for windows that no model fills.
func (p Power) muxer() *yamux.Transport {
	m := *yamux.DefaultTransport
	m.KeepAliveInterval, m.ConnectionWriteTimeout = p.silence, p.answer
	m.MeasureRTTInterval = time.Hour
	return &m
}
