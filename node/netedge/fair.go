package netedge

import (
	"net"
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery/reach"
	"p2pnode/internal/crowd"
)

// fair is an amount of work for strangers whose addresses the host sees, who share it by these,
// and as much for those that its relays carry. Nobody here knows the addresses of these, so they
// share by peer: if they had the relay's part together, one of them could take it all. It is
// not safe for concurrent use.
type fair struct{ seen, carried *crowd.Work }

func newFair(most int, window time.Duration) fair {
	return fair{crowd.NewWork(most, window), crowd.NewWork(most, window)}
}

// Take asks as [crowd.Work.Take] does. The address is not valid if a relay carries the peer.
func (f fair) Take(from netip.Addr, name string, amount int, now time.Time) bool {
	if !from.IsValid() {
		return f.carried.Take(from, name, amount, now)
	}
	return f.seen.Take(from, name, amount, now)
}

// from returns the address with which a multiaddress begins. It is not valid if that is of a
// relay at which the host has a place. Any other peer that relays answers for whom it carries,
// as they may all be its own.
func (e *Entrance) from(at multiaddr.Multiaddr) netip.Addr {
	if relay, relayed := reach.RelayOf(at); relayed && e.carriedBy(relay.ID) {
		return netip.Addr{}
	}
	return addrOf(at)
}

// fromNet is from for what lies under a connection.
func (e *Entrance) fromNet(at net.Addr) netip.Addr {
	if ends, relayed := at.(*client.NetAddr); relayed {
		if relay, err := peer.Decode(ends.Relay); err == nil && !e.carriedBy(relay) {
			return e.whence(relay)
		}
	}
	known, _ := manet.FromNetAddr(at) // none over a relay
	return addrOf(known)
}

// whence returns the address from which a peer is connected: by its last connection, if it has
// several.
func (e *Entrance) whence(p peer.ID) (from netip.Addr) {
	if h := e.host.Load(); h != nil {
		for _, c := range (*h).Network().ConnsToPeer(p) {
			from = e.from(c.RemoteMultiaddr())
		}
	}
	return from
}
