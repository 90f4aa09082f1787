package node

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
	"p2pnode/node/datadir"
)

// Interface is a network interface, for [Node.SetInterfaces].
type Interface = discovery.Interface

// SetInterfaces tells the node which network interfaces the machine has, where
// the operating system does not: Android 11 and later name them to Java code
// only. The node announces their addresses and looks for peers on them, at once
// and until the next call, in this run and later ones. After nil it asks the
// operating system again.
func (n *Node) SetInterfaces(list []Interface) { n.surroundings.interfaces.Set(list) }

// SetDNS tells the node which servers resolve names, where the system does not
// say: a program on a phone has no resolv.conf. With none it asks the system again.
func (n *Node) SetDNS(servers []netip.AddrPort) { n.surroundings.dns.set(servers) }

// surroundings is what the node knows of the machine's network. It outlives the
// host.
type surroundings struct {
	interfaces *discovery.Interfaces
	dns        *resolver
	listening  atomic.Pointer[func() []multiaddr.Multiaddr] // of the host; nil before there is one
}

func newSurroundings(c *datadir.Config) *surroundings {
	return &surroundings{interfaces: discovery.NewInterfaces(c.Interfaces...), dns: new(resolver)}
}

// announce is the host's addresses as others should see them.
func (s *surroundings) announce(addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	listening := s.listening.Load()
	if listening == nil {
		return addrs
	}
	return s.interfaces.Announce((*listening)(), addrs)
}

// options make a host announce what the surroundings know; inhabit completes them.
func (s *surroundings) options() ([]libp2p.Option, error) {
	names, err := madns.NewResolver(madns.WithDefaultResolver(s.dns))
	if err != nil {
		return nil, fmt.Errorf("node: resolve names: %w", err)
	}
	return []libp2p.Option{
		libp2p.MultiaddrResolver(swarm.ResolverFromMaDNS{Resolver: names}),
	}, nil
}

func (s *surroundings) inhabit(h host.Host) {
	listening := h.Network().ListenAddresses
	s.listening.Store(&listening)
}

// resolver asks the servers it was given, or the system's. It is safe for
// concurrent use.
type resolver struct {
	mu      sync.Mutex
	servers []netip.AddrPort
	next    int // the server to ask next: one that is silent is not asked again and again
}

func (r *resolver) set(servers []netip.AddrPort) {
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

// dial connects to one of the given servers in place of the one the system names.
func (r *resolver) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	if len(r.servers) > 0 {
		address = r.servers[r.next%len(r.servers)].String()
		r.next++
	}
	r.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, address)
}
