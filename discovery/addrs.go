package discovery

import (
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// The bounds on the addresses that one peer names. Otherwise a peer that names thousands
// of addresses, or those of others, could make this node dial all of them.
const (
	maxAddrs    = 16
	maxAddrSize = 256 // bytes
)

// Bound keeps the first 16 of a peer's addresses that can be dialled and are no
// longer than 256 bytes, each once, in their order. It leaves addrs alone.
func Bound(addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, a := range addrs {
		if len(out) == maxAddrs {
			break
		}
		if len(a) == 0 || len(a.Bytes()) > maxAddrSize || manet.IsIPUnspecified(a) {
			continue
		}
		if !slices.ContainsFunc(out, a.Equal) {
			out = append(out, a)
		}
	}
	return out
}

// knowable tells which addresses one who is at this address can know; nil: all, as for nil. Those of this
// machine are not known on another one, and those of a local network not outside. Otherwise
// strangers would make a node call the services of its own machine and network. Libp2p's
// identify filters so what a peer says of its own addresses.
func knowable(from multiaddr.Multiaddr) func(multiaddr.Multiaddr) bool {
	switch {
	case from == nil || manet.IsIPLoopback(from):
		return nil
	case manet.IsPrivateAddr(from):
		return func(a multiaddr.Multiaddr) bool { return !manet.IsIPLoopback(a) }
	case manet.IsPublicAddr(from):
		return manet.IsPublicAddr
	}
	return nil // it is of no network that is known
}

// NewPeerstore returns libp2p's peerstore in memory for a host. It takes few addresses of a
// peer at once, see [Bound]. A peer may say thousands when it connects: libp2p keeps 500 of
// them, looks through all for each, tells them to others that ask its hash table, and
// lets no other peer introduce itself meanwhile.
func NewPeerstore() (peerstore.Peerstore, error) {
	all, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, fmt.Errorf("discovery: the peerstore: %w", err)
	}
	return &boundedAddrs{all, all}, nil
}

type boundedAddrs struct {
	peerstore.Peerstore
	peerstore.CertifiedAddrBook
}

// AddAddrs implements [peerstore.AddrBook].
func (b *boundedAddrs) AddAddrs(p peer.ID, addrs []multiaddr.Multiaddr, ttl time.Duration) {
	b.Peerstore.AddAddrs(p, Bound(addrs), ttl)
}

// SetAddrs implements [peerstore.AddrBook].
func (b *boundedAddrs) SetAddrs(p peer.ID, addrs []multiaddr.Multiaddr, ttl time.Duration) {
	b.Peerstore.SetAddrs(p, Bound(addrs), ttl)
}

// PeerInfo implements [peerstore.Peerstore].
func (b *boundedAddrs) PeerInfo(p peer.ID) peer.AddrInfo {
	return peer.AddrInfo{ID: p, Addrs: Bound(b.Addrs(p))}
}
