package netedge

import (
	"net/netip"
	"strconv"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/discovery/reach"
	"p2pnode/internal/crowd"
)

// ends are those of a connection over TCP. One port of a peer may call several of this host's.
type ends struct{ from, to netip.AddrPort }

// endsOf returns the ends of a connection over TCP, unless a relay carries it.
func endsOf(c network.ConnMultiaddrs) (of ends, ok bool) {
	if of.from, ok = addrPort(c.RemoteMultiaddr()); ok {
		of.to, _ = addrPort(c.LocalMultiaddr())
	}
	return of, ok
}

// addrOf is [crowd.Of], and knows the names of [addrPort] too.
func addrOf(a multiaddr.Multiaddr) netip.Addr {
	if at, ok := addrPort(a); ok {
		return at.Addr().WithZone("")
	}
	return crowd.Of(a)
}

// addrPort returns the address and port at one end of a connection over TCP, unless they
// are a relay's. For libp2p's WebSocket an address of IPv6 with a zone is a name.
func addrPort(a multiaddr.Multiaddr) (netip.AddrPort, bool) {
	zone := ""
	if len(a) > 0 && a[0].Protocol().Code == multiaddr.P_IP6ZONE {
		zone, a = a[0].Value(), a[1:]
	}
	if len(a) < 2 || reach.IsRelayed(a) || a[1].Protocol().Code != multiaddr.P_TCP {
		return netip.AddrPort{}, false
	}
	addr, err := netip.ParseAddr(a[0].Value())
	if err != nil {
		return netip.AddrPort{}, false
	}
	if zone != "" {
		addr = addr.WithZone(zone)
	}
	port, err := strconv.ParseUint(a[1].Value(), 10, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), err == nil
}
