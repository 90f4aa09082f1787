package netedge

import (
	"time"

	"p2pnode/node/datadir"

	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
)

// Power is what a node does while it has nothing to say, and what it keeps for it.
type Power struct {
	// silence is how long a connection may say nothing before it is asked for a
	// sign of life, and answer how long that may take: a peer that vanishes is
	// noticed after both. Either end asks, whoever loses patience first, and
	// whatever arrives counts; so an idle connection costs one small exchange in
	// each silence.
	silence, answer time.Duration
	Heartbeat       time.Duration // of gossipsub
	Look            time.Duration // between looks at neighbours that give no cause
	// renew is how old an edge becomes before it is asked for again, which heals one
	// known at one end only, and the longest time between two exchanges.
	Renew time.Duration
	// connections is how many there may be before those that are no neighbours'
	// are trimmed to spare.
	connections, spare int
}

// highWater bounds the connections of one address, and of a node that answers for
// the hash table.
const highWater = 256

// spareFor is how long a new connection is safe from being trimmed: what it was
// made for takes less.
const spareFor = 10 * time.Second

// PowerOf is what the configuration of a node says whose graph has that degree.
func PowerOf(c *datadir.Config, degree int) Power {
	p := Power{
		silence: 6 * time.Second, answer: 6 * time.Second,
		Heartbeat: time.Second, Look: 5 * time.Second, Renew: time.Minute,
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

// muxer is Yamux that notices dead peers by itself: its pings are frames, where
// those of the ping protocol are streams. The round trip time, measured every
// half a minute otherwise, only matters for windows that no model fills.
func (p Power) muxer() *yamux.Transport {
	m := *yamux.DefaultTransport
	m.KeepAliveInterval, m.ConnectionWriteTimeout = p.silence, p.answer
	m.MeasureRTTInterval = time.Hour
	return &m
}
