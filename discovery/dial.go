package discovery

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// dialTimeout bounds one dial of a peer, at all its addresses.
const dialTimeout = 10 * time.Second

// dial connects to a wanted peer, unless that has happened meanwhile, and remembers
// how it failed.
func (k *Keeper) dial(ctx context.Context, w *wanted) error {
	k.mu.Lock()
	id := w.info.ID
	addrs := slices.Clone(w.info.Addrs)
	if w.worked != nil {
		addrs = slices.Insert(addrs, 0, w.worked)
	}
	k.mu.Unlock()
	if k.connected(id) {
		return nil
	}
	err := connect(ctx, k.host, peer.AddrInfo{ID: id, Addrs: k.choose(id, addrs)})
	if err != nil && ctx.Err() == nil {
		k.mu.Lock()
		w.failed = err
		k.mu.Unlock()
	}
	return err
}

// choose is where to dial a peer: first at addrs, which worked or were asked for,
// and then at what the host has heard from it and others. If that is too much,
// the host forgets the rest: it would dial all it knows, and among thousands of
// wrong addresses never get to the right one.
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
