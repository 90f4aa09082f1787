package netedge

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"
	madns "github.com/multiformats/go-multiaddr-dns"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/node/datadir"
)

// Surroundings is what the node knows of the machine's network. It outlives the host.
type Surroundings struct {
	Interfaces *discovery.Interfaces
	DNS        *resolver
	listening  atomic.Pointer[func() []multiaddr.Multiaddr] // the addresses that the host listens on; nil before there is a host
}

// NewSurroundings returns the surroundings for a configuration: the interfaces that it
// names, or those of the operating system.
func NewSurroundings(c *datadir.Config) *Surroundings {
	return &Surroundings{Interfaces: discovery.NewInterfaces(c.Interfaces...), DNS: new(resolver)}
}

// Announce returns the host's addresses as others should see them.
func (s *Surroundings) Announce(addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	listening := s.listening.Load()
	if listening == nil {
		return addrs
	}
	return s.Interfaces.Announce((*listening)(), addrs)
}

// options returns options with which a host resolves names as the surroundings say.
func (s *Surroundings) options() ([]libp2p.Option, error) {
	names, err := madns.NewResolver(madns.WithDefaultResolver(s.DNS))
	if err != nil {
		return nil, fmt.Errorf("node: resolve names: %w", err)
	}
	return []libp2p.Option{
		libp2p.MultiaddrResolver(reach.Names{MultiaddrDNSResolver: swarm.ResolverFromMaDNS{Resolver: names}}),
	}, nil
}

func (s *Surroundings) inhabit(h host.Host) {
	listening := h.Network().ListenAddresses
	s.listening.Store(&listening)
}

// resolver asks the servers it was given, or the system's. It is safe for concurrent use.
type resolver struct {
	mu      sync.Mutex
	servers []netip.AddrPort
	next    int // the next server to ask, so that a silent one is not asked every time
}

// Set replaces the servers to ask; an empty list means the system's.
func (r *resolver) Set(servers []netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = slices.Clone(servers)
}

// LookupIPAddr implements [madns.BasicResolver].
func (r *resolver) LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error) {
	return r.resolver().LookupIPAddr(ctx, name)
}

// LookupTXT implements [madns.BasicResolver].
func (r *resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return r.resolver().LookupTXT(ctx, name)
}

func (r *resolver) resolver() *net.Resolver {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.servers) == 0 {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: r.dial}
}

// dial connects to one of the given servers instead of the server that the system names.
func (r *resolver) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	if len(r.servers) > 0 {
		address = r.servers[r.next%len(r.servers)].String()
		r.next++
	}
	r.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, address)
}
