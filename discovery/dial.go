package discovery

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/multiformats/go-multiaddr"
)

// dialTimeout bounds one dial of a peer, at all its addresses.
const dialTimeout = 10 * time.Second

// crossed is how long the peer with the higher ID waits for the other one to dial again
// after their dials crossed.
const crossed = 3 * time.Second

// Dial connects to a peer. When two peers dial each other at the same time, both may
// fail: from the ports they listen on, TCP merges the two connections into one in which
// both sides speak first. And of two connections one is refused (see [Duplicates]), which
// ends a dial only if the other one stays. So a failed dial is repeated once, by the
// lower ID at once and by the higher after a while, unless they are connected by then.
func Dial(ctx context.Context, h host.Host, to peer.AddrInfo) error {
	err := connect(ctx, h, to)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if to.ID < h.ID() {
		came, stop := comes(h, to.ID)
		sleep(ctx, crossed, came)
		stop()
	}
	return connect(ctx, h, to)
}

// comes receives a value when the peer has connected, until stop is called.
func comes(h host.Host, id peer.ID) (came <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	watch := &network.NotifyBundle{ConnectedF: func(_ network.Network, conn network.Conn) {
		if conn.RemotePeer() == id {
			signal(c)
		}
	}}
	h.Network().Notify(watch)
	if h.Network().Connectedness(id) == network.Connected {
		signal(c)
	}
	return c, func() { h.Network().StopNotify(watch) }
}

// dial connects to a wanted peer, unless that has happened meanwhile, and remembers
// how it failed.
//
// Anybody can tell the host false addresses of a peer. Libp2p dials eight at a time, so
// those at which nobody answers take all the time there is, whatever their order. So every
// second time only the addresses are dialled that worked or were asked for.
func (k *Keeper) dial(ctx context.Context, w *wanted) error {
	k.mu.Lock()
	id := w.info.ID
	addrs := slices.Clone(w.info.Addrs)
	if w.worked != nil {
		addrs = slices.Insert(addrs, 0, w.worked)
	}
	w.dials++
	again := w.dials%2 == 0
	k.mu.Unlock()
	if k.connected(id) {
		return nil
	}
	if addrs = Bound(addrs); again && len(addrs) > 0 {
		heard := k.host.Peerstore().Addrs(id)
		k.host.Peerstore().ClearAddrs(id)
		defer func() { k.host.Peerstore().AddAddrs(id, heard, peerstore.TempAddrTTL) }() // for the next time
	} else {
		addrs = k.choose(id, addrs)
	}
	err := connect(ctx, k.host, peer.AddrInfo{ID: id, Addrs: addrs})
	if err != nil && ctx.Err() == nil {
		k.mu.Lock()
		w.failed = err
		k.mu.Unlock()
	}
	return err
}

// choose returns the addresses to dial a peer at: first addrs, then those that the host has
// heard from it and others. If there are too many, the host forgets the rest. Otherwise it
// would dial all of them, and would not reach the right one among thousands of wrong ones.
func (k *Keeper) choose(id peer.ID, addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	heard := k.host.Peerstore().Addrs(id)
	chosen := Bound(slices.Concat(addrs, heard))
	if len(heard) > len(chosen) {
		k.host.Peerstore().ClearAddrs(id)
	}
	return chosen
}

// connectedTo remembers the address of a connection that this side dialled.
func (k *Keeper) connectedTo(c network.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.wanted[c.RemotePeer()]
	if !ok {
		return
	}
	if c.Stat().Direction == network.DirOutbound && !isRelayed(c.RemoteMultiaddr()) {
		w.worked = c.RemoteMultiaddr()
	}
	w.failed = nil
	signal(w.moved)
}
