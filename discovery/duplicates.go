package discovery

import (
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// Duplicates is a connection gater that leaves two nodes with one connection.
//
// Two that dial each other at the same time would end up with two, for ever. Only
// the one with the lower ID decides, so that they never close one each: it
// refuses whichever is completed second, before anybody has used it. And a peer
// that dials although there is a connection has lost that one, in a restart or
// with its network: the old one is closed first, or both sides would go on
// talking into it.
//
// Relayed connections are left alone; they give way to direct ones by themselves.
type Duplicates struct {
	// Next decides on everything else; nil allows it. It must not be changed.
	Next connmgr.ConnectionGater

	young   time.Duration // a younger connection is one of two dialled together
	network atomic.Pointer[network.Network]
}

// NewDuplicates returns a gater that asks next, too, unless that is nil. It lets
// everything through until Guard is called.
func NewDuplicates(next connmgr.ConnectionGater) *Duplicates {
	return &Duplicates{Next: next, young: lasting}
}

// Guard names the network the gater was made for.
func (d *Duplicates) Guard(n network.Network) { d.network.Store(&n) }

// InterceptPeerDial implements [connmgr.ConnectionGater].
func (d *Duplicates) InterceptPeerDial(p peer.ID) bool {
	return d.Next == nil || d.Next.InterceptPeerDial(p)
}

// InterceptAddrDial implements [connmgr.ConnectionGater].
func (d *Duplicates) InterceptAddrDial(p peer.ID, a multiaddr.Multiaddr) bool {
	return d.Next == nil || d.Next.InterceptAddrDial(p, a)
}

// InterceptAccept implements [connmgr.ConnectionGater].
func (d *Duplicates) InterceptAccept(c network.ConnMultiaddrs) bool {
	return d.Next == nil || d.Next.InterceptAccept(c)
}

// InterceptSecured implements [connmgr.ConnectionGater].
func (d *Duplicates) InterceptSecured(dir network.Direction, p peer.ID, c network.ConnMultiaddrs) bool {
	return d.Next == nil || d.Next.InterceptSecured(dir, p, c)
}

// InterceptUpgraded implements [connmgr.ConnectionGater].
func (d *Duplicates) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	if d.Next != nil {
		if allow, why := d.Next.InterceptUpgraded(c); !allow {
			return false, why
		}
	}
	net := d.network.Load()
	if net == nil || isRelayed(c.RemoteMultiaddr()) {
		return true, 0
	}
	if c.LocalPeer() != (*net).LocalPeer() {
		return true, 0 // of the host that calls back for AutoNAT, under a name of its own
	}
	self, other := (*net).LocalPeer(), c.RemotePeer()
	for _, old := range (*net).ConnsToPeer(other) {
		switch {
		case old.IsClosed() || isRelayed(old.RemoteMultiaddr()):
		case time.Since(old.Stat().Opened) < d.young:
			if self < other {
				return false, 0
			}
		case c.Stat().Direction == network.DirInbound:
			_ = old.Close() // its error is that it was broken
		}
	}
	return true, 0
}
