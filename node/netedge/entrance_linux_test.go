package netedge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/autonatv2"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// newGuarded returns a host as a node has it, on loopback, over TCP.
func newGuarded(t *testing.T, p Power) (host.Host, *Meter) {
	t.Helper()
	return newGuardedAt(t, p, "/ip4/127.0.0.1/tcp/0")
}

func newGuardedAt(t *testing.T, p Power, listen ...string) (host.Host, *Meter) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	require.NoError(t, err)
	c := datadir.Config{Listen: listen}
	around := NewSurroundings(&c)
	r, err := c.Reach(around.Announce, false)
	require.NoError(t, err)
	meter := NewMeter()
	h, _, err := NewHost(key, r, around, p, datadir.Private{}, meter)
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	return h, meter
}

// from dials from an address of this machine: Linux has all of 127.0.0.0/8.
func from(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 10 * time.Second}
}

// newCaller returns a host that dials from an address over TCP, and from any over QUIC.
func newCaller(t *testing.T, address string) host.Host {
	t.Helper()
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport(), tcp.WithDialerForAddr(func(multiaddr.Multiaddr) (tcp.ContextDialer, error) {
			return from(address), nil
		})),
		libp2p.Transport(quic.NewTransport),
		libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery())
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

func mayConnect(t *testing.T, from, to host.Host) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return from.Connect(ctx, peer.AddrInfo{ID: to.ID(), Addrs: to.Addrs()})
}

// An ordinary node's power is enough for these tests.
func ordinary() Power { return PowerOf(&datadir.Config{}, 10) }

// Strangers that connect from a few addresses and say nothing keep nobody else out, not
// even while libp2p still counts all those that were turned away.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	h, _ := newGuarded(t, ordinary())
	at, err := manet.ToNetAddr(h.Addrs()[0])
	require.NoError(t, err)
	for i := range leavingMore {
		c, err := from(fmt.Sprintf("127.0.9.%d", i%4+1)).Dial("tcp", at.String())
		if err == nil {
			defer c.Close()
		}
	}
	for i := range 3 {
		newcomer := newCaller(t, fmt.Sprintf("127.0.%d.1", 20+i))
		require.NoError(t, mayConnect(t, newcomer, h))
	}
}

// A stranger that connects under many names and stays keeps nobody else out, and a peer that the
// host wants keeps its place.
func TestGuestsOfOneNetworkKeepNobodyOut(t *testing.T) {
	p := Power{silence: time.Minute, answer: time.Minute, connections: 4, spare: 2}
	h, _ := newGuarded(t, p)
	friend := newCaller(t, "127.0.9.200")
	h.ConnManager().Protect(friend.ID(), "p2pnode/neighbours")
	require.NoError(t, mayConnect(t, friend, h))
	for range 2 * (p.connections + strangersMore) {
		_ = mayConnect(t, newCaller(t, "127.0.9.1"), h)
	}
	require.Eventually(t, "those without a place are turned away", func() bool { return len(h.Network().Peers()) <= p.connections+strangersMore+1 })
	newcomer := newCaller(t, "127.0.20.1")
	require.NoError(t, mayConnect(t, newcomer, h))
	if h.Network().Connectedness(newcomer.ID()) != network.Connected {
		t.Error("the newcomer is not connected")
	}
	if h.Network().Connectedness(friend.ID()) != network.Connected {
		t.Error("the wanted peer has lost its connection")
	}
}

// A peer that opens streams without end is refused most of them, and another one is
// served.
func TestStreamsAreShared(t *testing.T) {
	h, meter := newGuarded(t, Power{silence: time.Minute, answer: time.Minute, connections: 4, spare: 2})
	var served atomic.Int64
	h.SetStreamHandler("/test", func(s network.Stream) {
		served.Add(1)
		_, _ = s.Write([]byte{1})
		_ = s.Close()
	})
	flood := newCaller(t, "127.0.9.1")
	require.NoError(t, mayConnect(t, flood, h))
	ask := func(from host.Host) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s, err := from.NewStream(ctx, h.ID(), protocol.ID("/test"))
		if err != nil {
			return err
		}
		defer s.Reset()
		_ = s.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = s.Read(make([]byte, 1))
		return err
	}
	most := (Power{connections: 4}).openings()
	start := time.Now()
	for range 2 * most {
		if ask(flood) != nil && meter.Refused().Streams > 0 {
			break
		}
	}
	windows := int64(time.Since(start)/streamWindow) + 1 // one, unless the machine is very busy
	if n := served.Load(); n > windows*int64(most) || meter.Refused().Streams == 0 {
		t.Errorf("%d streams were served, and %d refused", n, meter.Refused().Streams)
	}
	other := newCaller(t, "127.0.20.1")
	require.NoError(t, mayConnect(t, other, h))
	require.NoError(t, ask(other))
}

// A peer that keeps streams open takes no place from others.
func TestOpenStreamsAreShared(t *testing.T) {
	h, _ := newGuarded(t, ordinary())
	var ends sync.Map // of streams: closed when the node ends one
	h.SetStreamHandler("/test", func(s network.Stream) {
		ended := make(chan struct{})
		ends.Store(s.Conn().RemotePeer().String()+s.ID(), ended)
		_, _ = s.Write([]byte{1})
		_, _ = s.Read(make([]byte, 1))
		close(ended)
		_ = s.Reset()
	})
	open := func(from host.Host) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := from.NewStream(ctx, h.ID(), protocol.ID("/test"))
		if err != nil {
			return err
		}
		require.NoError(t, s.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = s.Read(make([]byte, 1))
		return err
	}
	honest, flood := newCaller(t, "127.1.20.1"), newCaller(t, "127.2.9.1")
	require.NoError(t, mayConnect(t, honest, h))
	require.NoError(t, mayConnect(t, flood, h))
	require.NoError(t, open(honest))
	for range heldAtOnce + 20 {
		_ = open(flood)
	}
	require.NoError(t, open(honest))
	stays := func(who host.Host) (n int) {
		ends.Range(func(name, ended any) bool {
			select {
			case <-ended.(chan struct{}):
			default:
				if strings.HasPrefix(name.(string), who.ID().String()) {
					n++
				}
			}
			return true
		})
		return n
	}
	if n := stays(honest); n != 2 {
		t.Errorf("%d streams of the honest peer are open", n)
	}
	require.Eventually(t, "the crowd gives places up", func() bool { return stays(flood) <= heldAtOnce-2 })
}

// A peer that offers one unknown protocol after another is not answered for long; an honest
// one may try some.
func TestUnknownProtocolsAreNotOfferedForLong(t *testing.T) {
	for _, at := range []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"} {
		h, _ := newGuardedAt(t, ordinary(), at)
		h.SetStreamHandler("/test", func(s network.Stream) { _ = s.Close() })
		peer := newCaller(t, "127.0.9.1")
		require.NoError(t, mayConnect(t, peer, h))
		offers := func(n int) error {
			s, err := peer.Network().NewStream(t.Context(), h.ID())
			require.NoError(t, err)
			defer s.Reset()
			require.NoError(t, s.SetDeadline(time.Now().Add(20*time.Second)))
			const header = "\x13/multistream/1.0.0\n"
			_, err = s.Write([]byte(header + strings.Repeat("\x02x\n", n) + "\x06/test\n"))
			require.NoError(t, err)
			_, err = io.ReadFull(s, make([]byte, len(header)+n*len(declined)+len("\x06/test\n")))
			return err
		}
		require.NoError(t, offers(maxOffers))
		if offers(maxOffers+1) == nil {
			t.Errorf("at %s, the protocol after many is taken", at)
		}
	}
}

// Streams that last, those of gossipsub and through relays, take no places. Who is not a relay of
// the host may not keep one as if it were.
func TestStreamsThatLastTakeNoPlaces(t *testing.T) {
	const hop, stop = "/libp2p/circuit/relay/0.2.0/hop", "/libp2p/circuit/relay/0.2.0/stop"
	for _, c := range []struct {
		name        protocol.ID
		relay, want bool
	}{{"/meshsub/1.2.0", false, false}, {hop, false, false}, {stop, true, false}, {stop, false, true}, {"/test", false, true}} {
		name, want := c.name, c.want
		h, _ := newGuarded(t, ordinary())
		placed := make(chan bool)
		h.SetStreamHandler(name, func(s network.Stream) {
			in := s.Scope().(*incoming)
			in.entrance.holding.Lock()
			defer in.entrance.holding.Unlock()
			placed <- in.entrance.held.Has(in)
			_ = s.Close()
		})
		peer := newCaller(t, "127.0.9.1")
		require.NoError(t, mayConnect(t, peer, h))
		if c.relay {
			h.ConnManager().Protect(peer.ID(), "autorelay") // as libp2p does
		}
		s, err := peer.NewStream(t.Context(), h.ID(), name)
		require.NoError(t, err)
		_, err = s.Write([]byte{1})
		require.NoError(t, err)
		if got := <-placed; got != want {
			t.Errorf("%s, relay %v: has a place: %v", name, c.relay, got)
		}
	}
}

// Somebody who asks without end to be dialled back leaves enough of what libp2p answers in a
// minute to others.
func TestDialBacksAreShared(t *testing.T) {
	node, _ := newGuarded(t, ordinary())
	var answered atomic.Int64
	node.SetStreamHandler(autonatv2.DialProtocol, func(s network.Stream) {
		answered.Add(1)
		s.Close()
	})
	asks := func(by host.Host) bool {
		s, err := by.NewStream(t.Context(), node.ID(), autonatv2.DialProtocol)
		if err != nil {
			return false
		}
		defer s.Reset()
		_, err = s.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	greedy, honest := newCaller(t, "127.0.0.1"), newCaller(t, "127.0.0.2")
	for _, c := range []host.Host{greedy, honest} {
		require.NoError(t, mayConnect(t, c, node))
	}
	begun := time.Now()
	for range 2 * dialBacks {
		asks(greedy)
	}
	if most := dialBacks * (1 + int64(time.Since(begun)/dialBackWindow)); answered.Load() > most {
		t.Errorf("%d of %d requests of one peer were answered, want at most %d", answered.Load(), 2*dialBacks, most)
	}
	if !asks(honest) {
		t.Error("another one is not answered")
	}
}

// What a stranger or a neighbour sends over QUIC has no more room than it begins with, whoever has
// called, and what a relay sends has.
func TestRoomOverQUICIsForRelays(t *testing.T) {
	for _, at := range []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"} {
		h, _ := newGuardedAt(t, ordinary(), at)
		other, _ := newGuardedAt(t, ordinary(), at)
		require.NoError(t, mayConnect(t, other, h))
		require.Eventually(t, "both are connected", func() bool { return len(h.Network().ConnsToPeer(other.ID())) == 1 })
		for _, ends := range [][2]host.Host{{h, other}, {other, h}} {
			manager, p := ends[0].ConnManager(), ends[1].ID()
			more := func() bool {
				return ends[0].Network().ConnsToPeer(p)[0].Scope().ReserveMemory(1<<20, network.ReservationPriorityMedium) == nil
			}
			if more() == strings.Contains(at, "quic") {
				t.Errorf("%s: a stranger has more room: %v", at, !strings.Contains(at, "quic"))
			}
			for _, why := range []string{"autorelay", "p2pnode/neighbours"} {
				manager.Protect(p, why)
				if got, want := more(), why == "autorelay" || !strings.Contains(at, "quic"); got != want {
					t.Errorf("%s, %s: more room: %v", at, why, got)
				}
				manager.Unprotect(p, why)
			}
			if s, over := ends[0].Network().ConnsToPeer(p)[0].Scope().(*quicScope); over != strings.Contains(at, "quic") || over && s.granted.Load() != 1<<20 {
				t.Errorf("%s: what was granted is not noted", at)
			}
		}
	}
}

// A node calls over QUIC only whom it cannot call over TCP.
func TestTCPIsFirst(t *testing.T) {
	const tcp, quic = "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"
	h, _ := newGuardedAt(t, ordinary(), tcp, quic)
	for _, listen := range [][]string{{tcp, quic}, {quic, tcp}, {quic}} {
		other, _ := newGuardedAt(t, ordinary(), listen...)
		require.NoError(t, mayConnect(t, h, other))
		at := h.Network().ConnsToPeer(other.ID())[0].RemoteMultiaddr()
		if over := strings.Contains(at.String(), "quic"); over != (len(listen) == 1) {
			t.Errorf("who listens on %v is called at %v", listen, at)
		}
	}
	public := []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/192.0.2.1/udp/1/quic-v1"),
		multiaddr.StringCast("/ip4/192.0.2.1/tcp/1"), multiaddr.StringCast("/ip4/192.0.2.2/tcp/1")}
	ranked := tcpFirst(public)
	for _, d := range ranked {
		if over := strings.Contains(d.Addr.String(), "quic"); over != (d.Delay >= quicWaits) {
			t.Errorf("%v is called after %v", d.Addr, d.Delay)
		}
	}
	if len(ranked) != len(public) {
		t.Errorf("%d addresses are called", len(ranked))
	}
}
