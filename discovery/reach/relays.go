package reach

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

const (
	// wantedRelays is how many relays hold a place for a node that cannot be called.
	wantedRelays = 2
	// askRelays is the shortest time between two looks for them.
	askRelays = 15 * time.Second
)

// relays returns up to most peers that may relay: first those of the configuration, then
// connected peers that do, then the relays in the addresses of known peers.
func (r *Reach) relays(_ context.Context, most int) <-chan peer.AddrInfo {
	found := slices.Clone(r.config.Relays)
	r.mu.Lock()
	h := r.host
	r.mu.Unlock()
	if h != nil {
		store := h.Peerstore()
		for _, p := range h.Network().Peers() {
			if spoken, err := store.SupportsProtocols(p, proto.ProtoIDv2Hop); err == nil && len(spoken) > 0 {
				found = append(found, store.PeerInfo(p))
			}
		}
		for _, p := range store.PeersWithAddrs() {
			if p == h.ID() {
				continue
			}
			for _, a := range store.Addrs(p) {
				if relay, ok := RelayOf(a); ok && relay.ID != h.ID() {
					found = append(found, relay)
				}
			}
		}
	}
	out := make(chan peer.AddrInfo, most)
	defer close(out)
	named := make(map[peer.ID]bool)
	for _, p := range found {
		if !named[p.ID] && len(named) < most {
			named[p.ID] = true
			out <- p
		}
	}
	return out
}

// RelayOf returns the relay that an address goes through, which is the part before
// /p2p-circuit.
func RelayOf(a multiaddr.Multiaddr) (peer.AddrInfo, bool) {
	before, circuit := multiaddr.SplitFunc(a, func(c multiaddr.Component) bool {
		return c.Protocol().Code == multiaddr.P_CIRCUIT
	})
	if len(circuit) == 0 || len(before) == 0 {
		return peer.AddrInfo{}, false
	}
	info, err := peer.AddrInfoFromP2pAddr(before)
	if err != nil {
		return peer.AddrInfo{}, false
	}
	return *info, true
}

// IsPublic reports whether an address means the same everywhere on the internet.
func IsPublic(address string) bool {
	a, err := multiaddr.NewMultiaddr(address)
	return err == nil && manet.IsPublicAddr(a)
}

// PublicFirst puts public addresses before those of local networks, and leaves out
// those of this machine unless there are no others.
func PublicFirst(addresses []string) []string {
	var public, private, own []string
	for _, text := range addresses {
		a, err := multiaddr.NewMultiaddr(text)
		switch {
		case err != nil:
		case manet.IsPublicAddr(a):
			public = append(public, text)
		case manet.IsIPLoopback(a):
			own = append(own, text)
		default:
			private = append(private, text)
		}
	}
	if len(public)+len(private) == 0 {
		return own
	}
	return append(public, private...)
}
