package node

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// fullAddrs are the addresses others can dial, with the peer ID.
func fullAddrs(h host.Host) []string {
	if len(h.Addrs()) == 0 {
		return []string{}
	}
	addrs, err := peer.AddrInfoToP2pAddrs(&peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()})
	if err != nil {
		return nil
	}
	return addrStrings(addrs)
}

// addrInfo reads back what addrStrings and peer.ID.String wrote.
func addrInfo(id string, addrs []string) (peer.AddrInfo, error) {
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

// sortedAddrs gives addresses, which a host lists in no order, one.
func sortedAddrs(addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	return slices.SortedFunc(slices.Values(addrs), multiaddr.Multiaddr.Compare)
}

func addrStrings(addrs []multiaddr.Multiaddr) []string {
	out := make([]string, len(addrs))
	for i, a := range addrs {
		out[i] = a.String()
	}
	return out
}
