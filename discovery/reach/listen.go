package reach

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/multiformats/go-multiaddr"
)

// Unopened are the addresses to listen on at which a host does not: libp2p goes on as long as
// it could open one of them.
func (r *Reach) Unopened(h host.Host) (missing []string) {
	open := h.Network().ListenAddresses()
	for _, text := range r.config.Listen {
		wanted, err := multiaddr.NewMultiaddr(text)
		if err == nil && !slices.ContainsFunc(open, func(a multiaddr.Multiaddr) bool { return opened(wanted, a) }) {
			missing = append(missing, text)
		}
	}
	return missing
}

// opened reports whether an open address is what was wanted: the same, or any port for 0.
func opened(wanted, open multiaddr.Multiaddr) bool {
	if len(wanted) != len(open) {
		return false
	}
	for i, w := range wanted {
		code := w.Protocol().Code
		port := code == multiaddr.P_TCP || code == multiaddr.P_UDP
		if code != open[i].Protocol().Code || w.Value() != open[i].Value() && !(port && w.Value() == "0") {
			return false
		}
	}
	return true
}
