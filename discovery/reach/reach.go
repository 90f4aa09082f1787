// Package reach makes a node reachable, and says how it is reached. A host that
// listens on more than loopback learns from others at what addresses they see it,
// has them dialled back (AutoNAT v2), asks the router for a port (UPnP),
// reserves a place at relays while nobody can call it directly (circuit relay v2),
// and replaces relayed connections by direct ones (hole punching). A host that
// listens on loopback only does none of that and costs nothing.
package reach

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/autorelay"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/observedaddrs"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Config says how a node wants to be reached.
type Config struct {
	// Listen are the multiaddresses to listen on. TCP is always spoken, QUIC and
	// WebSocket only if one of them is listened on.
	Listen []string
	// Found returns the addresses to tell others, given those that the host finds; nil
	// leaves them unchanged.
	Found func([]multiaddr.Multiaddr) []multiaddr.Multiaddr
	// Announce are addresses to tell others beside those the host finds.
	Announce []multiaddr.Multiaddr
	// Relays are asked first for a place. Peers that do not relay do no harm here, so
	// bootstrap peers belong here too.
	Relays []peer.AddrInfo
	// PortMap asks the router to forward the ports listened on.
	PortMap bool
	// Closed says that the host refuses strangers. Peers dial back for AutoNAT under an
	// unknown peer ID, so the host does not ask them to; otherwise every address would seem
	// to fail.
	Closed bool
}

// Reach is how one host is reached. Its methods are safe for concurrent use.
type Reach struct {
	config Config
	local  bool // listens on loopback only

	mu      sync.Mutex
	host    host.Host              // nil before Run
	router  *router                // nil unless PortMap
	seen    *observedaddrs.Manager // where others see this host; nil if local
	peers   map[peer.ID]*notes
	arrived chan peer.ID // peers with a new direct connection
}

// notes are on a peer while it is connected.
type notes struct {
	punched  bool           // its direct connection is a punched one
	called   bool           // it has called this node directly
	attempts attempts       // at hole punching
	ahead    *time.Duration // its clock of this one, at least; nil: it has not said
}

// note returns the notes on a peer; nil if it is not connected. The caller holds r.mu.
func (r *Reach) note(p peer.ID) *notes {
	if r.host == nil || r.host.Network().Connectedness(p) == network.NotConnected {
		return nil // notes on it are forgotten when it goes
	}
	if r.peers[p] == nil {
		r.peers[p] = &notes{attempts: attempts{next: time.Now().Add(firstAttempt), pause: firstAttempt}}
	}
	return r.peers[p]
}

// listenable are the addresses for which a host has a transport.
var listenable = regexp.MustCompile(`^(/ip4/[^/]+|(/ip6zone/[^/]+)?/ip6/[^/]+)(/tcp/\d+|/tcp/\d+/ws|/udp/\d+/quic-v1)$`)

// New checks the addresses of a configuration; an error names the wrong one.
func New(c Config) (*Reach, error) {
	r := &Reach{
		config:  c,
		local:   true,
		peers:   make(map[peer.ID]*notes),
		arrived: make(chan peer.ID, 64),
	}
	for _, text := range c.Listen {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return nil, NoAddress(text, "/ip4/0.0.0.0/tcp/4001", err)
		}
		if !listenable.MatchString(a.String()) {
			return nil, fmt.Errorf("%q cannot be listened on; write an address of this machine as /ip4/0.0.0.0/tcp/4001, /ip4/0.0.0.0/tcp/4001/ws or /ip4/0.0.0.0/udp/4001/quic-v1", text)
		}
		r.local = r.local && manet.IsIPLoopback(a)
	}
	return r, nil
}

// Options returns the options that the host needs, with the patience of its connections over
// TCP, and what is around those over QUIC. refuses is called for every packet with which a
// connection over QUIC begins. They include the host's [libp2p.AddrsFactory], of which it has
// only one.
func (r *Reach) Options(p Patience, overQUIC Around, refuses Refuses) []libp2p.Option {
	options := []libp2p.Option{
		libp2p.ListenAddrStrings(r.config.Listen...),
		libp2p.AddrsFactory(r.announce),
	}
	if r.listens("/quic-v1") {
		options = append(options, libp2p.Transport(newQUIC(overQUIC)), quicSockets(refuses))
	}
	if r.listens("/ws") {
		options = append(options, libp2p.Transport(newWebSocket))
	}
	if r.local {
		return append(options,
			libp2p.Transport(patiently(p, newLocalTransport)),
			libp2p.DisableRelay(),
			libp2p.DisableIdentifyAddressDiscovery())
	}
	options = append(options,
		libp2p.Transport(patiently(p, newPortTransport)),
		libp2p.DisableIdentifyAddressDiscovery(), r.observe(),
		libp2p.EnableRelay(),
		libp2p.EnableAutoRelayWithPeerSource(r.relays,
			autorelay.WithBootDelay(0), autorelay.WithMinCandidates(1), autorelay.WithNumRelays(wantedRelays),
			autorelay.WithBackoff(time.Minute), autorelay.WithMinInterval(askRelays)))
	if !r.config.Closed {
		options = append(options, libp2p.EnableAutoNATv2())
	}
	if r.config.PortMap {
		options = append(options, libp2p.NATManager(r.mapPorts))
	}
	return options
}

func (r *Reach) listens(protocol string) bool {
	return slices.ContainsFunc(r.config.Listen, func(a string) bool {
		return strings.HasSuffix(a, protocol) || strings.Contains(a, protocol+"/")
	})
}

func (r *Reach) announce(found []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	if r.config.Found != nil {
		found = r.config.Found(found)
	}
	found = slices.DeleteFunc(slices.Clone(found), func(a multiaddr.Multiaddr) bool {
		_, through := RelayOf(a)
		return IsRelayed(a) && !through // the listener for relayed connections itself
	})
	return append(append(found, r.unproven(found)...), r.config.Announce...)
}

// unproven returns the public addresses that libp2p leaves out beside those at relays. They
// may work although nobody has dialled back.
func (r *Reach) unproven(found []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	r.mu.Lock()
	h := r.host
	r.mu.Unlock()
	if !r.config.Closed || h == nil {
		return nil
	}
	own, _ := h.Network().InterfaceListenAddresses()
	return slices.DeleteFunc(append(slices.Clone(own), r.mappings()...), func(a multiaddr.Multiaddr) bool {
		return !manet.IsPublicAddr(a) || multiaddr.Contains(found, a)
	})
}

// Run looks for relays while the host cannot be called, and moves peers from
// relayed to direct connections, until ctx ends. It returns after everything it
// started has ended. The host's protocols should be known before.
func (r *Reach) Run(ctx context.Context, h host.Host) error {
	r.mu.Lock()
	r.host = h
	r.mu.Unlock()
	if r.local {
		<-ctx.Done()
		return nil
	}
	notify := &network.NotifyBundle{ConnectedF: r.connected, DisconnectedF: r.disconnected}
	h.Network().Notify(notify)
	defer h.Network().StopNotify(notify)
	news, err := h.EventBus().Subscribe([]any{new(event.EvtHostReachableAddrsChanged), new(event.EvtPeerIdentificationCompleted)},
		eventbus.Name("p2pnode reach"))
	if err != nil {
		return fmt.Errorf("reach: watch the addresses: %w", err)
	}
	defer news.Close()
	verdict, err := h.EventBus().Emitter(new(event.EvtLocalReachabilityChanged), eventbus.Stateful)
	if err != nil {
		return fmt.Errorf("reach: tell the reachability: %w", err)
	}
	defer verdict.Close()

	punch, err := holepunch.NewService(h, h.(identified).IDService(), r.callable, holepunch.WithTracer(r), holepunch.WithAddrFilter(outside{}))
	if err != nil {
		return fmt.Errorf("reach: start hole punching: %w", err)
	}
	defer punch.Close()

	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { r.straighten(ctx, punch) })
	// The search for relays waits for a result of AutoNAT v1, which this host does not use.
	// So it is told the result of v2.
	for state := network.ReachabilityPrivate; ctx.Err() == nil; state = r.follow(ctx, news) {
		if err := verdict.Emit(event.EvtLocalReachabilityChanged{Reachability: state}); err != nil {
			return fmt.Errorf("reach: tell the reachability: %w", err)
		}
	}
	return nil
}

// follow takes in the news until the reachability may have changed, and returns it.
func (r *Reach) follow(ctx context.Context, news event.Subscription) network.Reachability {
	for {
		select {
		case <-ctx.Done():
			return network.ReachabilityUnknown
		case e := <-news.Out():
			switch e := e.(type) {
			case event.EvtPeerIdentificationCompleted:
				r.heard(e, time.Now())
			case event.EvtHostReachableAddrsChanged:
				if len(e.Reachable) > 0 {
					return network.ReachabilityPublic
				}
				return network.ReachabilityPrivate
			}
		}
	}
}

// identified is a host with an identify service, as libp2p.New makes it.
type identified interface{ IDService() identify.IDService }

// connected notes the peers that have dialled directly and those that need no relay any
// more.
func (r *Reach) connected(_ network.Network, c network.Conn) {
	if relayed(c) {
		return
	}
	p := c.RemotePeer()
	r.mu.Lock()
	if n := r.note(p); n != nil && c.Stat().Direction == network.DirInbound {
		n.called = n.called || !n.punched
	}
	r.mu.Unlock()
	select {
	case r.arrived <- p:
	default: // the relayed connection stays
	}
}

func (r *Reach) disconnected(n network.Network, c network.Conn) {
	if n.Connectedness(c.RemotePeer()) == network.NotConnected {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.peers, c.RemotePeer())
	}
}

// relayed reports whether a connection goes through a relay.
func relayed(c network.Conn) bool { return IsRelayed(c.RemoteMultiaddr()) }

// IsRelayed reports whether an address goes through a relay.
func IsRelayed(a multiaddr.Multiaddr) bool {
	_, err := a.ValueForProtocol(multiaddr.P_CIRCUIT)
	return err == nil
}
