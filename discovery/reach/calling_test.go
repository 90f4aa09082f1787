package reach

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ws "github.com/gorilla/websocket"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// Whom this host calls over WebSocket cannot go on for ever without saying anything, whatever
// frames it sends, and can say much, with pings in between.
func TestWhoIsCalledOverWebSocketBringsSomething(t *testing.T) {
	message := append([]byte{0x82, 126, 0x03, 0xe8}, make([]byte, 1000)...)
	for what, c := range map[string]struct {
		first, then string
		ends        bool
	}{
		"empty messages": {then: "\x82\x00", ends: true},
		"pings":          {then: "\x89\x00", ends: true},
		"pongs":          {then: "\x8a\x00", ends: true},
		"parts":          {first: "\x02\x00", then: "\x00\x00", ends: true},
		"bytes":          {then: "\x82\x01a", ends: true},
		"messages":       {then: "\x89\x00" + string(message)},
	} {
		written := make(chan int, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, err := new(ws.Upgrader).Upgrade(w, r, nil)
			if err != nil {
				written <- -1
				return
			}
			defer raw.Close()
			out, n := raw.NetConn(), 0
			if _, err = io.WriteString(out, c.first); err == nil {
				for many := strings.Repeat(c.then, 1+(16<<10)/len(c.then)); err == nil && n < endless; n += len(many) {
					_, err = io.WriteString(out, many)
				}
			}
			written <- n
			_, _ = io.Copy(io.Discard, out) // until the host has read enough
		}))
		at := strings.Split(server.Listener.Addr().String(), ":")
		conn, err := call(t.Context(), multiaddr.StringCast(fmt.Sprintf("/ip4/%s/tcp/%s/ws", at[0], at[1])))
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		read, err := io.Copy(io.Discard, io.LimitReader(conn, endless/2))
		if c.ends && (err == nil || read > ahead) {
			t.Errorf("%s: %d bytes are read, then: %v", what, read, err)
		}
		if !c.ends && (err != nil || read < endless/2) {
			t.Errorf("%s: %d bytes are read, then: %v", what, read, err)
		}
		require.NoError(t, conn.Close())
		if n := <-written; n < 0 {
			t.Errorf("%s: the host does not ask for WebSocket", what)
		}
		server.Close()
	}
}

// A host that calls another over WebSocket, says who it is and is sent much keeps the connection.
func TestWhatIsSentToWhoCalledOverWebSocketArrives(t *testing.T) {
	here, _ := newHost(t, true, "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/tcp/0/ws")
	there, _ := newHost(t, true, "/ip4/127.0.0.1/tcp/0/ws")
	const much, little = 2 << 20, 2000
	there.SetStreamHandler("/test", func(s network.Stream) {
		for range little {
			if _, err := s.Write([]byte{1}); err != nil {
				return
			}
		}
		_, _ = io.Copy(s, bytes.NewReader(make([]byte, much)))
		_ = s.CloseWrite()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	to := listening(there)
	require.NoError(t, here.Connect(ctx, peer.AddrInfo{ID: there.ID(), Addrs: []multiaddr.Multiaddr{to}}))
	c := here.Network().ConnsToPeer(there.ID())[0]
	if !c.RemoteMultiaddr().Equal(to) || c.ConnState().Transport != "websocket" {
		t.Errorf("%v is called at %v, over %s", to, c.RemoteMultiaddr(), c.ConnState().Transport)
	}
	s, err := here.NewStream(ctx, there.ID(), "/test")
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, s)
	require.NoError(t, err)
	if n != much+little {
		t.Errorf("%d bytes arrive", n)
	}
}

// Where an address says so, the host speaks TLS, and asks for the name in it.
func TestCallsOverWebSocketWithTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	at := strings.Split(server.Listener.Addr().String(), ":")
	_, err := call(t.Context(), multiaddr.StringCast(fmt.Sprintf("/ip4/%s/tcp/%s/tls/sni/example.net/ws", at[0], at[1])))
	if err == nil || !strings.Contains(err.Error(), "certificate") { // nobody here has signed it
		t.Errorf("%v", err)
	}
}
