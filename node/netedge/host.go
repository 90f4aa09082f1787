// Package netedge connects a node, or a relay, to the network: it makes the libp2p host,
// sets how much it does while idle, follows the machine's network, and remembers the peers
// that it met. It knows nothing of models and records.
package netedge

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/x/rate"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/node/datadir"
)

// dialTimeout bounds one dial, handshakes included.
const dialTimeout = 15 * time.Second

// NewHost assembles a libp2p host with Noise and Yamux. r brings the transports and makes
// the host reachable; m counts what it does.
func NewHost(key crypto.PrivKey, r *reach.Reach, around *Surroundings, p Power, closed datadir.Private, m *Meter) (host.Host, *Entrance, error) {
	// The default limits allow 8 connections from one address, and one new connection in
	// 5 s. That is too little for several nodes behind one router.
	limits, err := rcmgr.NewResourceManager(
		rcmgr.NewFixedLimiter(p.limits()),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: highWater}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: highWater}}),
		rcmgr.WithConnRateLimiters(connectionRate()),
		rcmgr.WithMetrics(&m.refused),
		rcmgr.WithMetricsDisabled())
	if err != nil {
		return nil, nil, fmt.Errorf("node: resource manager: %w", err)
	}
	conns, err := connmgr.NewConnManager(p.spare, p.connections, connmgr.WithGracePeriod(spareFor))
	if err != nil {
		return nil, nil, fmt.Errorf("node: connection manager: %w", err)
	}
	local, err := around.options()
	if err != nil {
		return nil, nil, err
	}
	gater := discovery.NewDuplicates(closed.Gater())
	entrance := newEntrance(p, gater)
	known, err := discovery.NewPeerstore()
	if err != nil {
		return nil, nil, err
	}
	h, err := libp2p.New(append(slices.Concat(local, closed.Options(), r.Options(reach.Patience{Silence: p.silence, Answer: p.answer}, entrance.quicConn, entrance.ignores), m.options()),
		libp2p.Identity(key),
		libp2p.Peerstore(known),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, introductions{p.muxer(max(p.silence, p.hung)), p.muxer(p.silence), entrance}),
		libp2p.ResourceManager(&resources{limits, entrance, &m.refused}),
		libp2p.ConnectionManager(conns),
		libp2p.ConnectionGater(entrance),
		libp2p.UserAgent("p2pnode"),
		libp2p.Ping(false), // see pong
		// A peer nearby may be slow because it is busy; the default of 5 s is too short
		// for it.
		libp2p.SwarmOpts(swarm.WithDialTimeoutLocal(dialTimeout), swarm.WithDialRanker(tcpFirst)),
	)...)
	if err != nil {
		return nil, nil, fmt.Errorf("node: the node cannot listen for others: %w; if an address is taken, stop the program that has it, or choose another port (key listen)", err)
	}
	h.SetStreamHandler(ping.ID, pong)
	around.inhabit(h)
	gater.Guard(h.Network())
	entrance.guard(h)
	return h, entrance, nil
}

// connectionRate bounds new connections from one address. Loopback has no bound.
func connectionRate() *rate.Limiter {
	each := rate.Limit{RPS: 4, Burst: highWater}
	return &rate.Limiter{
		NetworkPrefixLimits: []rate.PrefixLimit{
			{Prefix: netip.MustParsePrefix("127.0.0.0/8")},
			{Prefix: netip.MustParsePrefix("::1/128")},
		},
		SubnetRateLimiter: rate.SubnetLimiter{
			IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: each}},
			IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 56, Limit: each}},
			GracePeriod:      time.Minute,
		},
	}
}
