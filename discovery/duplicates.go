package discovery

import (
	"slices"
	"sync"
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
// Two nodes that dial each other at the same time would keep two connections for ever.
// Only the node with the lower ID decides, one connection after the other, so that the
// two never close one each. It refuses the connection that is completed second, before
// anybody has used it. A peer that dials although there is a connection has lost the old
// one, in a restart or with its network. The old one is then closed; otherwise both sides
// would go on sending into it. If one side has dialled twice at once, at two addresses,
// both connections stay: that side closes one by itself.
//
// In two cases no connection is left. Both ends may replace, at the same moment, the
// connection that the other keeps, which takes two handshakes that each last longer than
// a connection counts as young. Or a peer that has lost a young connection is refused. Then
// the side that wants the connection dials again: [Keeper] and [Dial] do.
//
// Relayed connections are left alone. They are replaced by direct ones elsewhere.
type Duplicates struct {
	// Next decides on everything else; nil allows it. It must not be changed.
	Next connmgr.ConnectionGater

	young   time.Duration // a younger connection is one of two dialled together
	network atomic.Pointer[network.Network]

	mu sync.Mutex
	// coming holds the connections that were let through and that the network has not
	// added yet: it does so only after it has asked.
	coming []network.Conn
}

// NewDuplicates returns a gater that also asks next, unless that is nil. It lets every
// connection through until Guard is called.
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
		return true, 0 // the host that dials back for AutoNAT has a peer ID of its own
	}
	allow, replaced := d.decide(*net, c)
	for _, old := range replaced {
		_ = old.Close() // fails only if the connection was already broken
	}
	return allow, 0
}

// decide reports whether a connection may stay and which ones it replaces.
func (d *Duplicates) decide(net network.Network, c network.Conn) (allow bool, replaced []network.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.IsClosed() {
		return false, nil // the other end has refused it, and keeps another
	}
	d.coming = slices.DeleteFunc(d.coming, func(p network.Conn) bool {
		return p.IsClosed() || slices.Contains(net.ConnsToPeer(p.RemotePeer()), p)
	})
	lower := net.LocalPeer() < c.RemotePeer()
	crosses := func(old network.Conn) bool { return old.Stat().Direction != c.Stat().Direction }
	for _, old := range d.coming {
		if old.RemotePeer() == c.RemotePeer() && lower && crosses(old) {
			return false, nil
		}
	}
	young := d.young
	if !lower {
		young *= 2 // so that it does not replace a connection that the lower ID still calls young
	}
	for _, old := range net.ConnsToPeer(c.RemotePeer()) {
		switch {
		case old.IsClosed() || isRelayed(old.RemoteMultiaddr()):
		case time.Since(old.Stat().Opened) < young:
			if lower && crosses(old) {
				return false, nil
			}
		case lower || c.Stat().Direction == network.DirInbound:
			replaced = append(replaced, old)
		}
	}
	d.coming = append(d.coming, c)
	return true, replaced
}
