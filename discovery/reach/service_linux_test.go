package reach

import (
	"fmt"
	"net"
	"testing"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/crowd"
	"p2pnode/internal/require"
)

// newCaller returns a host of the network "net" that dials from an address of this machine:
// Linux has all of 127.0.0.0/8.
func newCaller(t *testing.T, address string) host.Host {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.EnableRelay(), libp2p.DisableMetrics(),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport(),
			tcp.WithDialerForAddr(func(multiaddr.Multiaddr) (tcp.ContextDialer, error) { return dialer, nil })))
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	h.SetStreamHandler(echo, func(s network.Stream) { _ = s.Close() })
	return h
}

// A crowd of few addresses takes places from itself only, and a newcomer from another network
// finds one. Places that were lost or given back are free.
func TestPlacesOfARelayAreShared(t *testing.T) {
	at, service := newRelay(t, DefaultQuota)
	service.mu.Lock()
	service.places = crowd.NewPlaces[peer.ID](4)
	service.mu.Unlock()
	honest := newCaller(t, "127.3.0.1")
	reserve(t, honest, at)
	var all []host.Host
	for i := range 8 {
		h := newCaller(t, fmt.Sprintf("127.2.%d.1", i%4))
		_, _ = client.Reserve(t.Context(), h, info(at))
		all = append(all, h)
	}
	newcomer := newCaller(t, "127.4.0.1")
	reserve(t, newcomer, at)
	holders := func() (n int) {
		for _, h := range append(all, honest, newcomer) {
			if at.Network().Connectedness(h.ID()) == network.Connected && service.stays(h.ID()) {
				n++
			}
		}
		return n
	}
	require.Nothing(t, func() string {
		if s, n := service.Stats(), holders(); s.Places != 4 || n != 4 {
			return fmt.Sprintf("%d places are taken, and %d have one; want 4", s.Places, n)
		}
		return ""
	})
	for _, h := range []host.Host{honest, newcomer} {
		if !service.stays(h.ID()) {
			t.Error("an honest node has lost its place")
		}
	}
	require.NoError(t, newcomer.Close())
	require.Eventually(t, "the place is given back", func() bool { return holders() == 3 && service.Stats().Places == 3 })
	service.expire(service.begin.Add(2 * limits.ReservationTTL))
	if n := holders(); n != 0 {
		t.Errorf("%d have places after their time", n)
	}
}
