package netedge

import (
	"time"

	"p2pnode/node/datadir"

	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
)

// Power says how often a node acts while it has nothing to send, and how many connections
// it keeps.
type Power struct {
	// silence is how long a connection may be silent before one of its ends asks the other
	// for a sign of life, and answer is how long the reply may take: a peer that vanished
	// is noticed after both.
	silence, answer time.Duration
	// hung is how long a connection over TCP may be silent before Yamux sends a ping, if
	// that is longer than silence. That a peer has vanished the system has noticed by then
	// ([reach.Patience]), but not that its program hangs, or that something on the way
	// answers for it.
	hung      time.Duration
	Heartbeat time.Duration // how often gossipsub does its regular work
	Look      time.Duration // how often the neighbours are checked while nothing happens
	Renew     time.Duration // see [peering.Config]
	// connections is how many connections there may be. Beyond that, connections to peers
	// other than neighbours are closed until spare are left.
	connections, spare int
	neighbours         int // how many neighbours there may be
	served             int // how many others connect at once because this node serves them
}

// highWater bounds the connections of one address, and of a node that answers for
// the hash table.
const highWater = 256

// spareFor is how long a new connection is not trimmed. Its first use comes sooner.
const spareFor = 10 * time.Second

// PowerOf returns the power that a configuration asks for, in a graph of this degree.
func PowerOf(c *datadir.Config, degree int) Power {
	p := Power{
		silence: 6 * time.Second, answer: 6 * time.Second, hung: 2 * time.Minute,
		Heartbeat: 2500 * time.Millisecond, Look: 5 * time.Second, Renew: time.Minute,
		connections: 2*degree + 12, spare: 8, neighbours: 2 * degree,
	}
	if c.DHT == "server" { // other nodes send it their questions
		p.connections, p.spare = highWater, highWater/2
	}
	if c.Power == datadir.PowerLow {
		p.silence, p.answer = time.Minute, 10*time.Second
		p.Heartbeat, p.Look, p.Renew = 10*time.Second, 10*time.Second, 5*time.Minute
		p.connections, p.spare = degree+4, 2
	}
	return p
}

// mostAtOnce bounds the connections of a host that exists to be connected to.
const mostAtOnce = 4096

// Serving returns the power of a node to which that many others connect at once, as all
// contributors of a private sum do to a member of its committee.
func (p Power) Serving(others int) Power {
	others = min(others, mostAtOnce)
	p.connections += others
	p.spare += others / 2
	p.served += others
	return p
}

// muxer returns a Yamux that asks for a sign of life after this silence. Its pings are
// frames, while each ping of the ping protocol takes a stream. The end that has waited
// longer sends the ping, and any arriving bytes count as a sign of life. It hardly measures
// the round trip time, by default twice a minute, because that only matters for windows that
// no model fills.
func (p Power) muxer(silence time.Duration) *yamux.Transport {
	m := *yamux.DefaultTransport
	m.KeepAliveInterval, m.ConnectionWriteTimeout = silence, p.answer
	m.MeasureRTTInterval = time.Hour
	return &m
}
