package reach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/require"
)

// newHost starts a host on loopback. A wide one has all that hosts on other
// interfaces have.
func newHost(t testing.TB, wide bool, listen ...string) (host.Host, *Reach) {
	t.Helper()
	h, r, err := startHost(wide, listen...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h, r
}

func startHost(wide bool, listen ...string) (host.Host, *Reach, error) {
	if len(listen) == 0 {
		listen = []string{"/ip4/127.0.0.1/tcp/0"}
	}
	r, err := New(Config{Listen: listen})
	if err != nil {
		return nil, nil, err
	}
	r.local = !wide
	h, err := r.start(func(netip.Addr, bool) bool { return false })
	return h, r, err
}

// start starts a host that is reached like that, and refuses addresses over QUIC.
func (r *Reach) start(refuses Refuses) (host.Host, error) {
	return libp2p.New(append(r.Options(Patience{6 * time.Second, 6 * time.Second}, func(c transport.CapableConn) transport.CapableConn { return c }, refuses), libp2p.DisableMetrics(),
		libp2p.Security(noise.ID, noise.New), libp2p.Muxer(yamux.ID, yamux.DefaultTransport))...)
}

// listening is the address of its own that a host listens on.
func listening(h host.Host) multiaddr.Multiaddr {
	for _, a := range h.Network().ListenAddresses() {
		if !IsRelayed(a) {
			return a
		}
	}
	return nil
}

func info(h host.Host) peer.AddrInfo {
	return peer.AddrInfo{ID: h.ID(), Addrs: []multiaddr.Multiaddr{listening(h)}}
}

// A port belongs to one node, although outgoing connections share it: with and
// without that, a second listener is refused.
func TestOnePortOneListener(t *testing.T) {
	first, _ := newHost(t, true)
	taken := listening(first).String()
	for _, wide := range []bool{true, false} {
		if h, _, err := startHost(wide, taken); err == nil {
			h.Close()
			t.Errorf("a second host (wide %v) listens on %s", wide, taken)
		} else if !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("wide %v: %v does not say what is wrong", wide, err)
		}
	}
}

// A connection comes from the port the host listens on, as others see it, so that
// a router gives both one mapping.
func TestConnectionsComeFromTheListener(t *testing.T) {
	a, _ := newHost(t, true)
	b, _ := newHost(t, true)
	if err := a.Connect(t.Context(), info(b)); err != nil {
		t.Fatal(err)
	}
	from := b.Network().ConnsToPeer(a.ID())[0].RemoteMultiaddr()
	if want := listening(a); !from.Equal(want) {
		t.Errorf("the connection comes from %s, want %s", from, want)
	}
	// Again at once: the two ports can be connected anew.
	if err := a.Network().ClosePeer(b.ID()); err != nil {
		t.Fatal(err)
	}
	if err := a.Connect(t.Context(), info(b)); err != nil {
		t.Error(err)
	}
}

// The source is a listener of the family of the target that can reach it.
func TestSource(t *testing.T) {
	addr := func(text string) *net.TCPAddr {
		a, err := net.ResolveTCPAddr("tcp", text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		name   string
		open   []string
		target string
		want   string
	}{
		{"every interface", []string{"0.0.0.0:1000"}, "127.0.0.1:9", "0.0.0.0:1000"},
		{"the address the system chooses", []string{"127.0.0.1:1000"}, "127.0.0.1:9", "127.0.0.1:1000"},
		{"another address of this machine", []string{"127.0.0.2:1000"}, "127.0.0.1:9", ""},
		{"another family", []string{"[::]:1000"}, "127.0.0.1:9", ""},
		{"both families", []string{"[::]:1000", "0.0.0.0:2000"}, "127.0.0.1:9", "0.0.0.0:2000"},
		{"none", nil, "127.0.0.1:9", ""},
	} {
		p := &ports{open: make(map[*net.TCPAddr]bool)}
		for _, text := range c.open {
			p.add(addr(text))
		}
		got := ""
		if a := p.source("tcp", c.target); a != nil {
			got = a.String()
		}
		if got != c.want {
			t.Errorf("%s: from %q, want %q", c.name, got, c.want)
		}
	}
}

// When the two ports are connected already, another port is used.
func TestSecondConnectionBetweenTwoPorts(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := share(own); err != nil {
		t.Skipf("ports cannot be shared here: %v", err)
	}
	p := &ports{open: make(map[*net.TCPAddr]bool)}
	p.add(own.Addr().(*net.TCPAddr))
	first, err := p.DialContext(t.Context(), "tcp", target.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := p.DialContext(t.Context(), "tcp", target.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if first.LocalAddr().String() != own.Addr().String() || second.LocalAddr().String() == own.Addr().String() {
		t.Errorf("connections from %v and %v, listening on %v", first.LocalAddr(), second.LocalAddr(), own.Addr())
	}
}

// Nothing but a taken port is tried again: an address that refuses, refuses.
func TestRefusedIsRefused(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	p := &ports{open: make(map[*net.TCPAddr]bool)}
	if _, err := p.DialContext(t.Context(), "tcp", free.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v, want a refusal", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := p.DialContext(ended, "tcp", free.Addr().String()); err == nil {
		t.Error("a dial succeeds after its context has ended")
	}
}

// Only what is listened on costs anything.
func TestTransports(t *testing.T) {
	for listen, protocol := range map[string]string{
		"/ip4/127.0.0.1/udp/0/quic-v1": "/quic-v1",
		"/ip4/127.0.0.1/tcp/0/ws":      "/ws",
		"/ip4/127.0.0.1/tcp/0":         "/tcp",
	} {
		a, _ := newHost(t, false, listen)
		b, _ := newHost(t, false, listen)
		if err := a.Connect(t.Context(), info(b)); err != nil {
			t.Errorf("%s: %v", listen, err)
			continue
		}
		if got := a.Network().ConnsToPeer(b.ID())[0].RemoteMultiaddr().String(); !strings.Contains(got, protocol) {
			t.Errorf("connected through %s, want %s", got, protocol)
		}
	}
	plain, _ := newHost(t, false)
	quic, err := multiaddr.NewMultiaddr("/ip4/127.0.0.1/udp/1/quic-v1")
	if err != nil {
		t.Fatal(err)
	}
	if dialer, ok := plain.Network().(interface {
		CanDial(peer.ID, multiaddr.Multiaddr) bool
	}); !ok || dialer.CanDial("", quic) {
		t.Error("a host that listens on TCP only speaks QUIC too")
	}
}

func TestWrongListenAddress(t *testing.T) {
	if _, err := New(Config{Listen: []string{"localhost:80"}}); err == nil || !strings.Contains(err.Error(), `"localhost:80"`) {
		t.Errorf("%v does not name the address", err)
	}
}

// turnstile turns everybody away, and tells who came.
type turnstile struct {
	connmgr.ConnectionGater
	came chan network.ConnMultiaddrs
}

func (g turnstile) InterceptAccept(c network.ConnMultiaddrs) bool {
	g.came <- c
	return false
}

// What comes over WebSocket can be kept waiting as what comes over TCP.
func TestWebSocketConnectionsArrive(t *testing.T) {
	gate := turnstile{came: make(chan network.ConnMultiaddrs, 1)}
	u, err := upgrader.New(nil, nil, nil, nil, gate)
	require.NoError(t, err)
	ws, err := newWebSocket(u, nil, nil)
	require.NoError(t, err)
	l, err := ws.Listen(multiaddr.StringCast("/ip4/127.0.0.1/tcp/0/ws"))
	require.NoError(t, err)
	defer l.Close()
	at, err := manet.ToNetAddr(l.Multiaddr()[:2])
	require.NoError(t, err)
	c, err := net.Dial("tcp", at.String())
	require.NoError(t, err)
	defer c.Close()
	came := <-gate.came
	if _, ok := came.(*Arrival); !ok {
		t.Errorf("a %T arrives", came)
	}
}

// Few pings of WebSocket are answered, whoever sends them.
func TestFewPingsOfWebSocketAreAnswered(t *testing.T) {
	h, _ := newHost(t, true, "/ip4/127.0.0.1/tcp/0/ws")
	at, err := manet.ToNetAddr(listening(h)[:2])
	require.NoError(t, err)
	c, err := net.Dial("tcp", at.String())
	require.NoError(t, err)
	defer c.Close()
	const pings, ping = 1000, "\x89\x80\x00\x00\x00\x00"
	const offer = "\x82\x97\x00\x00\x00\x00\x13/multistream/1.0.0\n\x02x\n" // of a protocol that nobody knows
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	require.NoError(t, err)
	var answers []byte
	until := func(end string) {
		for some := make([]byte, 4096); !bytes.Contains(answers, []byte(end)); {
			n, err := c.Read(some)
			require.NoError(t, err)
			answers = append(answers, some[:n]...)
		}
	}
	until("\r\n\r\n")
	_, err = io.WriteString(c, strings.Repeat(ping, pings)+offer)
	require.NoError(t, err)
	until("na\n")
	if len(answers) > pings {
		t.Errorf("%d pings are answered with %d bytes", pings, len(answers))
	}
}

// What brings nothing is read for a while, and what brings something without end.
func TestConnectionsThatBringNothingEnd(t *testing.T) {
	for what, c := range map[string]struct {
		proved     bool
		size       int // of each message
		brought    int // by each, less than 0: nothing
		from, most int // bytes that are read
	}{
		"before the proof":   {size: 100, brought: -1, from: unproven, most: unproven},
		"nothing":            {proved: true, size: 100, brought: -1, from: ahead, most: ahead},
		"empty messages":     {proved: true, size: 1000, brought: 0, from: ahead, most: 2 * ahead},
		"encrypted pings":    {proved: true, size: 12 + 32, brought: 12, from: endless, most: endless},
		"encrypted messages": {proved: true, size: 64<<10 + 18 + 16*8, brought: 64 << 10, from: endless, most: endless},
	} {
		near, far := net.Pipe()
		defer far.Close()
		a := &Arrival{Conn: wrapped{near}}
		a.Bound()
		if c.proved {
			a.Proved()
		}
		go func() {
			for {
				if _, err := far.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}()
		read := 0
		for message := make([]byte, c.size); read < endless; {
			n, err := io.ReadFull(a, message)
			read += n
			if err != nil {
				break
			}
			if c.brought >= 0 {
				a.Brought(c.brought)
			}
		}
		if read < min(c.from, endless) || c.most < endless && read > c.most {
			t.Errorf("%s: %d bytes are read, want %d to %d", what, read, c.from, c.most)
		}
		require.NoError(t, near.Close())
	}
}

// endless is much more than a connection may bring without anything in it.
const endless = 4 << 20

// wrapped is a connection without addresses.
type wrapped struct{ net.Conn }

func (wrapped) LocalMultiaddr() multiaddr.Multiaddr  { return nil }
func (wrapped) RemoteMultiaddr() multiaddr.Multiaddr { return nil }
