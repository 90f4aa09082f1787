package discovery

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
)

const (
	firstMDNSPause   = 5 * time.Second // after a failure to start; doubles
	longestMDNSPause = 10 * time.Minute
)

// lookAround announces this node on the local network and listens for others
// until ctx ends. A machine without a multicast interface is no error: the
// interface may come up later.
func lookAround(ctx context.Context, h host.Host, c Config) {
	for pause := firstMDNSPause; ctx.Err() == nil; pause = min(2*pause, longestMDNSPause) {
		service := mdns.NewMdnsService(h, serviceName(c.Network), sighting{h.ID(), c.Found})
		if err := service.Start(); err != nil {
			c.Logger.Info("looking on the local network failed; will try again", "error", err)
			sleep(ctx, jitter(pause), nil)
		} else {
			<-ctx.Done()
		}
		_ = service.Close()
	}
}

// serviceName carries the network. A DNS label holds at most 63 characters.
func serviceName(network string) string {
	return "_p2pnode-" + network[:min(len(network), 32)] + "._udp"
}

// sighting passes on what mDNS finds.
type sighting struct {
	self  peer.ID
	found func(peer.AddrInfo)
}

// HandlePeerFound implements [mdns.Notifee].
func (s sighting) HandlePeerFound(p peer.AddrInfo) {
	if p.ID != s.self {
		s.found(p)
	}
}
