package discovery

import (
	"slices"

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
