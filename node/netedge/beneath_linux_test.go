package netedge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// newWide returns a host as a node has it that others call, over TCP and WebSocket, and its
// addresses of this machine for both.
func newWide(t *testing.T) (h host.Host, overTCP, overSocket multiaddr.Multiaddr) {
	t.Helper()
	h, _ = newGuardedAt(t, ordinary(), "/ip4/0.0.0.0/tcp/0", "/ip4/0.0.0.0/tcp/0/ws")
	for _, a := range h.Network().ListenAddresses() {
		port, err := a.ValueForProtocol(multiaddr.P_TCP)
		if err != nil {
			continue // the listener for relayed connections
		}
		if strings.HasSuffix(a.String(), "/ws") {
			overSocket = multiaddr.StringCast(fmt.Sprintf("/ip4/127.0.0.1/tcp/%s/ws", port))
		} else {
			overTCP = multiaddr.StringCast(fmt.Sprintf("/ip4/127.0.0.1/tcp/%s", port))
		}
	}
	return h, overTCP, overSocket
}

// Whoever never says who it is gets few answers.
func TestNobodyAsksWithoutEndBeforeEncryption(t *testing.T) {
	_, overTCP, overSocket := newWide(t)
	for what, c := range map[string]struct {
		to         multiaddr.Multiaddr
		once, then string
	}{
		"unknown protocols": {overTCP, "\x13/multistream/1.0.0\n", "\x02x\n"},
		"web pages":         {overSocket, "", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		port, err := c.to.ValueForProtocol(multiaddr.P_TCP)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		require.NoError(t, err)
		defer conn.Close()
		go func() {
			_, err := io.WriteString(conn, c.once)
			for many := strings.Repeat(c.then, 1000); err == nil; {
				_, err = io.WriteString(conn, many)
			}
		}()
		answers, _ := io.Copy(io.Discard, conn) // it may be reset
		if answers > unasked {
			t.Errorf("%s are answered with %d bytes", what, answers)
		}
	}
}

// unasked is more than sixteen answers have.
const unasked = 8 << 10

// Whoever says much, or little many times, over a connection to a host that others call keeps it.
func TestWhatIsBroughtKeepsAConnection(t *testing.T) {
	h, overTCP, overSocket := newWide(t)
	const much, little = 2 << 20, 2000
	got := make(chan int64, 2)
	h.SetStreamHandler("/test", func(s network.Stream) {
		n, _ := io.Copy(io.Discard, s)
		got <- n
		_ = s.Close()
	})
	for _, to := range []multiaddr.Multiaddr{overTCP, overSocket} {
		caller, err := libp2p.New(libp2p.NoListenAddrs, libp2p.ResourceManager(&network.NullResourceManager{}),
			libp2p.Transport(tcp.NewTCPTransport), libp2p.Transport(websocket.New),
			libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery())
		require.NoError(t, err)
		defer caller.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, caller.Connect(ctx, peer.AddrInfo{ID: h.ID(), Addrs: []multiaddr.Multiaddr{to}}))
		s, err := caller.NewStream(ctx, h.ID(), "/test")
		require.NoError(t, err)
		for range little {
			_, err = s.Write([]byte{1})
			require.NoError(t, err)
		}
		_, err = io.Copy(s, bytes.NewReader(make([]byte, much)))
		require.NoError(t, err)
		require.NoError(t, s.CloseWrite())
		if n := <-got; n != much+little {
			t.Errorf("%d bytes arrive over %v", n, to)
		}
	}
}
