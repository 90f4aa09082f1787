package node

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/metrics"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/x/rate"

	"p2pnode/discovery"
)

// highWater bounds the connections of one address, and of a node that answers for
// the hash table.
const highWater = 256

// newHost assembles a libp2p host: TCP, Noise, Yamux. The node speaks to a few
// neighbours at a time, so the other transports would only cost memory.
func newHost(key crypto.PrivKey, listen []string, around *surroundings, p power, closed private, traffic metrics.Reporter) (host.Host, error) {
	// The default limits allow 8 connections from one address, and one new one
	// in 5 s, which starves nodes behind one router.
	limits := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&limits)
	resources, err := rcmgr.NewResourceManager(
		rcmgr.NewFixedLimiter(limits.AutoScale()),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: highWater}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: highWater}}),
		rcmgr.WithConnRateLimiters(connectionRate()),
		rcmgr.WithMetricsDisabled())
	if err != nil {
		return nil, fmt.Errorf("node: resource manager: %w", err)
	}
	conns, err := connmgr.NewConnManager(p.spare, p.connections, connmgr.WithGracePeriod(spareFor))
	if err != nil {
		return nil, fmt.Errorf("node: connection manager: %w", err)
	}
	local, err := around.options()
	if err != nil {
		return nil, err
	}
	gater := discovery.NewDuplicates(closed.gater())
	h, err := libp2p.New(append(append(local, closed.options()...),
		libp2p.Identity(key),
		libp2p.ListenAddrStrings(listen...),
		// With SO_REUSEPORT two nodes could listen on one port, and the system
		// would give each the other's callers. Only hole punching needs it.
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport()),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, p.muxer()),
		libp2p.ResourceManager(resources),
		libp2p.ConnectionManager(conns),
		libp2p.ConnectionGater(gater),
		libp2p.BandwidthReporter(traffic),
		libp2p.UserAgent("p2pnode"),
		libp2p.DisableRelay(),
		// The observer of our own address leaves its event subscription unread
		// when the host closes (go-libp2p v0.51), and then a late identify
		// blocks Close for ever.
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.DisableMetrics(),
	)...)
	if err != nil {
		return nil, fmt.Errorf("node: start the libp2p host on %v: %w; if an address is taken, change the key \"listen\" of %s", listen, err, configFile)
	}
	around.inhabit(h)
	gater.Guard(h.Network())
	return h, nil
}

// connectionRate bounds new connections from one address; loopback is free.
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
