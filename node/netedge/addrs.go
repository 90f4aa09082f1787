package netedge

import (
	"errors"
	"fmt"
	"slices"

	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery/reach"
	"p2pnode/node/api"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// FullAddrs returns the addresses that others can dial, with the peer ID.
func FullAddrs(h host.Host) []string {
	if len(h.Addrs()) == 0 {
		return []string{}
	}
	addrs, err := peer.AddrInfoToP2pAddrs(&peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()})
	if err != nil {
		return nil
	}
	return AddrStrings(addrs)
}

// AddrInfo reads what [AddrStrings] and peer.ID.String wrote.
func AddrInfo(id string, addrs []string) (peer.AddrInfo, error) {
	p, err := peer.Decode(id)
	if err != nil {
		return peer.AddrInfo{}, err
	}
	info := peer.AddrInfo{ID: p}
	for _, a := range addrs {
		m, err := multiaddr.NewMultiaddr(a)
		if err != nil {
			return peer.AddrInfo{}, err
		}
		info.Addrs = append(info.Addrs, m)
	}
	return info, nil
}

// SortedAddrs sorts addresses, because a host lists them in any order.
func SortedAddrs(addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	return slices.SortedFunc(slices.Values(addrs), multiaddr.Multiaddr.Compare)
}

// AddrStrings returns the addresses as texts, in the same order.
func AddrStrings(addrs []multiaddr.Multiaddr) []string {
	out := make([]string, len(addrs))
	for i, a := range addrs {
		out[i] = a.String()
	}
	return out
}

// ParsePeer reads a multiaddress that ends in /p2p/ and a peer ID and can be dialled.
func ParsePeer(address string) (peer.AddrInfo, error) {
	info, err := peer.AddrInfoFromString(address)
	if err != nil {
		wrong := fmt.Errorf("node: %w", reach.NoAddress(address, "/ip4/192.0.2.7/tcp/4001/p2p/ID", err))
		if errors.Is(err, peer.ErrInvalidAddr) {
			wrong = api.Advise(wrong, "p2pnode run prints the whole address, and p2pnode status too")
		}
		return peer.AddrInfo{}, wrong
	}
	switch {
	case len(info.Addrs) == 0:
		return peer.AddrInfo{}, fmt.Errorf("node: %q names a peer but no address; write the whole address, such as /ip4/192.0.2.7/tcp/4001/p2p/%s", address, info.ID)
	case manet.IsIPUnspecified(info.Addrs[0]):
		return peer.AddrInfo{}, fmt.Errorf("node: %q stands for every address of a machine; write one at which others reach it", address)
	}
	return *info, nil
}
