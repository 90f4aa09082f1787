package reach

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	transport "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"golang.org/x/net/ipv4"

	"p2pnode/internal/require"
)

// A client's first packet from an address that is refused is dropped, wherever it stands in a
// batch; all others are read, in order: those of connections that there are, answers to this
// host's own calls, and what other addresses send.
func TestASocketDropsCallsThatAreRefused(t *testing.T) {
	refused := netip.MustParseAddr("127.0.0.2")
	under, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer under.Close()
	s := &socket{under, ipv4.NewPacketConn(under), func(a netip.Addr, calls bool) bool { return calls && a == refused }}

	call := []byte{0xc0, 0, 0, 0, 1, 8, 'c', 'a', 'l', 'l'}
	answer := []byte{0xc0, 0, 0, 0, 1, 4, 'a', 'n', 's', 'w', 'e', 'r'}
	handshake := []byte{0xe0, 0, 0, 0, 1, 8}
	short := []byte{0x40, 1, 2, 3, 4, 20}
	var want [][]byte
	senders := make(map[string]*net.UDPConn)
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		senders[from], err = net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(from)}, under.LocalAddr().(*net.UDPAddr))
		require.NoError(t, err)
		defer senders[from].Close()
	}
	for i := range byte(10) {
		for _, p := range [][]byte{call, answer, handshake, short, {0xc0}, {}} {
			for _, from := range []string{"127.0.0.2", "127.0.0.1"} {
				packet := p
				if len(p) > 1 {
					packet = append(slices.Clone(p), i)
				}
				_, err := senders[from].Write(packet)
				require.NoError(t, err)
				if !bytes.HasPrefix(packet, call) || from != "127.0.0.2" {
					want = append(want, append([]byte(from+" "), packet...))
				}
			}
		}
	}

	batch := make([]ipv4.Message, 8)
	for i := range batch {
		batch[i] = ipv4.Message{Buffers: [][]byte{make([]byte, 1500)}, OOB: make([]byte, 128)}
	}
	var got [][]byte
	require.NoError(t, under.SetReadDeadline(time.Now().Add(10*time.Second))) // more is lost than was dropped
	for len(got) < len(want) {
		n, err := s.ReadBatch(batch, 0)
		require.NoError(t, err)
		if n == 0 {
			t.Fatal("nothing was read")
		}
		for _, m := range batch[:n] {
			got = append(got, append([]byte(m.Addr.(*net.UDPAddr).IP.String()+" "), m.Buffers[0][:m.N]...))
		}
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("packet %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// Who calls over QUIC while its address is closed hears nothing, and is let in when that opens, by
// the same call.
func TestACallOverQUICWaitsUntilItsAddressOpens(t *testing.T) {
	r, err := New(Config{Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}})
	require.NoError(t, err)
	asked, open := make(chan struct{}, 100), new(atomic.Bool)
	h, err := r.start(func(netip.Addr, bool) bool {
		asked <- struct{}{}
		return !open.Load()
	})
	require.NoError(t, err)
	defer h.Close()
	caller, err := libp2p.New(libp2p.NoListenAddrs, libp2p.Transport(transport.NewTransport), libp2p.DisableMetrics())
	require.NoError(t, err)
	defer caller.Close()
	connected := make(chan error)
	go func() { connected <- caller.Connect(t.Context(), info(h)) }()
	for range 2 { // the second time because the first one got lost
		select {
		case <-asked:
		case err := <-connected:
			t.Fatalf("connected: %v", err)
		}
	}
	open.Store(true)
	require.NoError(t, <-connected)
}
