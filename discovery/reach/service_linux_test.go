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
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/util"
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

// crosses asks a relay for a connection to a peer, and then says nothing.
func crosses(t *testing.T, from, at, to host.Host) bool {
	t.Helper()
	s, err := from.NewStream(t.Context(), at.ID(), proto.ProtoIDv2Hop)
	require.NoError(t, err)
	m := pb.HopMessage{Type: pb.HopMessage_CONNECT.Enum(), Peer: util.PeerInfoToPeerV2(peer.AddrInfo{ID: to.ID()})}
	require.NoError(t, util.NewDelimitedWriter(s).WriteMsg(&m))
	answers := util.NewDelimitedReader(s, maxRequest)
	defer answers.Close()
	m.Reset()
	require.NoError(t, answers.ReadMsg(&m))
	return m.GetStatus() == pb.Status_OK
}

// Neither one peer nor a crowd of one network keeps others from a node behind a relay, and
// whatever ends gives its place back.
func TestConnectionsThroughARelayAreShared(t *testing.T) {
	at, service := newRelay(t, DefaultQuota)
	b := newNode(t)
	reserve(t, b, at)
	known := func(address string) host.Host { // libp2p may tell of its handler only after it has connected
		h := newCaller(t, address)
		require.NoError(t, h.Connect(t.Context(), info(at)))
		require.Eventually(t, "the relay knows what it speaks", func() bool { return service.speaks(h.ID()) })
		return h
	}
	one := known("127.2.0.1")
	has := 0
	for range CircuitsEach {
		if crosses(t, one, at, b) {
			has++
		}
	}
	if has != circuitsFromOne {
		t.Errorf("one peer has %d connections to another one", has)
	}
	calls := func(address string) host.Host {
		h := known(address)
		require.NoError(t, h.Connect(t.Context(), through(t, at, b)))
		return h
	}
	calls("127.3.0.1")

	service.mu.Lock()
	full := crowd.NewPlaces[*circuit](4)
	service.reserved[b.ID()].circuits = full
	service.mu.Unlock()
	honest := []host.Host{calls("127.4.0.1"), calls("127.5.0.1")}
	for i := range 8 {
		_ = crosses(t, known(fmt.Sprintf("127.2.1.%d", i+1)), at, b)
	}
	for _, h := range append(honest, calls("127.6.0.1")) {
		if err := send(t.Context(), h, b.ID(), []byte("here")); err != nil {
			t.Errorf("beside a crowd, an honest node is not connected: %v", err)
		}
	}
	require.NoError(t, b.Close())
	require.Nothing(t, func() string {
		service.mu.Lock()
		defer service.mu.Unlock()
		if n, each := service.carried.Len(), full.Len(); n+each > 0 || len(service.reserved) > 0 {
			return fmt.Sprintf("%d connections, %d of the node, after its end", n, each)
		}
		return ""
	})
}
