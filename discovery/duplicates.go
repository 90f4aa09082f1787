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
// Two that dial each other at the same time would end up with two, for ever. Only
// the one with the lower ID decides, one connection after the other, so that they
// never close one each: it refuses whichever is completed second, before anybody has
// used it. And a peer that dials although there is a connection has lost that one, in
// a restart or with its network: the old one is closed, or both sides would go on
// talking into it. Of two connections that one side has dialled at once, at two
// addresses, both stay: that side closes one by itself.
//
// None is left when both ends replace, at the same moment, the connection the other
// keeps, which takes two handshakes that each last longer than a connection is young;
// and after a refusal of a dial by a peer that had lost a young connection. Then
// whoever wants the connection dials again: [Keeper] and [Dial] do.
//
// Relayed connections are left alone; they give way to direct ones by themselves.
type Duplicates struct {
	// Next decides on everything else; nil allows it. It must not be changed.
	Next connmgr.ConnectionGater

	young   time.Duration // a younger connection is one of two dialled together
	network atomic.Pointer[network.Network]

	mu sync.Mutex
	// coming were let through and are not yet known to be among the network's own:
	// it adds them only after it has asked.
	coming []network.Conn
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
	allow, replaced := d.decide(*net, c)
	for _, old := range replaced {
		_ = old.Close() // its error is that it was broken
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
		young *= 2 // lest it replace what the lower one still calls young
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
