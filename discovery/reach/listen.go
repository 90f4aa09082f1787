package reach

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/multiformats/go-multiaddr"
)

// Unopened returns the addresses to listen on that a host could not open: libp2p
// continues as long as it could open one of them.
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

// opened reports whether an open address is the wanted one: the same, or any port if 0
// was wanted.
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
