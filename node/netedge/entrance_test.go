package netedge

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery/reach"
	"p2pnode/internal/crowd"
	"p2pnode/internal/require"
)

// openDoor lets everybody in.
type openDoor struct{ connmgr.ConnectionGater }

func (openDoor) InterceptAccept(network.ConnMultiaddrs) bool                     { return true }
func (openDoor) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }

// knocking is a connection that has just come.
type knocking struct{ at multiaddr.Multiaddr }

func (k knocking) LocalMultiaddr() multiaddr.Multiaddr  { return k.at }
func (k knocking) RemoteMultiaddr() multiaddr.Multiaddr { return k.at }
func (knocking) Close() error                           { return nil }

// greets reports whether a connection is let in, and ends its handshakes.
func (e *Entrance) greets(c network.ConnMultiaddrs) bool {
	in := e.InterceptAccept(c)
	if of, ok := endsOf(c); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.pass(of)
	}
	return in
}

// Many addresses that connect again and again cost no more than so many handshakes, and leave
// an honest newcomer its part. What comes from this machine is not counted.
func TestHandshakesAreShared(t *testing.T) {
	e := newEntrance(Power{connections: 256}, openDoor{})
	port := 0
	knock := func(address string) bool {
		port++
		at := multiaddr.StringCast(fmt.Sprintf("/ip4/%s/tcp/%d", address, port%60000+1))
		return e.greets(knocking{at})
	}
	const addresses = 256
	let := 0
	for i := range 100 * addresses {
		if knock(fmt.Sprintf("64.%d.0.1", i%addresses)) {
			let++
		}
	}
	// A second window may have begun on a slow machine.
	if most := 256 + knocksMore; let < most || let > 2*most {
		t.Errorf("%d handshakes", let)
	}
	if !knock("8.8.8.8") {
		t.Error("a newcomer is turned away")
	}
	for range 2000 {
		if !knock("127.0.0.1") {
			t.Fatal("a node on this machine is turned away")
		}
	}
}

// Over QUIC handshakes are counted with those over TCP, before they begin, at addresses that
// were shown to be true. One network with many addresses leaves others their part of both.
func TestHandshakesOverQUICAreShared(t *testing.T) {
	e := newEntrance(Power{connections: 1}, openDoor{})
	r := &resources{&network.NullResourceManager{}, e, new(refused)}
	if !r.VerifySourceAddress(&net.UDPAddr{IP: net.IPv4(64, 1, 0, 1), Port: 1}) {
		t.Error("an address may be false")
	}
	opens := func(d network.Direction, address string) bool {
		_, err := r.OpenConnection(d, false, multiaddr.StringCast(fmt.Sprintf("/ip4/%s/udp/1/quic-v1", address)))
		return err == nil
	}
	const most = 1 + knocksMore
	let := 0
	for i := range 100 * most {
		if opens(network.DirInbound, fmt.Sprintf("64.1.%d.1", i%200)) {
			let++
		}
	}
	// A second window may have begun on a slow machine.
	if let < most || let > 4*most {
		t.Errorf("%d handshakes", let)
	}
	if closed := netip.MustParseAddr("64.1.0.1"); opens(network.DirInbound, "64.1.0.1") == e.ignores(closed, true) {
		t.Error("an address that has had its part is not closed")
	}
	for _, open := range []string{"64.2.0.1", "127.0.0.1"} {
		if e.ignores(netip.MustParseAddr(open), true) {
			t.Errorf("%s is closed", open)
		}
	}
	if !opens(network.DirInbound, "64.2.0.1") || !e.greets(knocking{multiaddr.StringCast("/ip4/64.3.0.1/tcp/1")}) {
		t.Error("a newcomer is turned away")
	}
	for range 2 * most {
		if !opens(network.DirOutbound, "64.1.0.1") || !opens(network.DirInbound, "127.0.0.1") {
			t.Fatal("what this node dials, or what comes from this machine, is counted")
		}
	}
	e.shut.close(crowd.Of(multiaddr.StringCast("/ip4/64.4.0.1")), time.Now())
	if opens(network.DirInbound, "64.4.0.1") || !e.ignores(netip.MustParseAddr("64.4.0.1"), true) {
		t.Error("a closed address has a handshake")
	}
}

// Anybody can write any address on the packets with which a connection over QUIC begins. Beyond an
// amount networks share, those that go on apart from first ones; and this machine has all it wants.
func TestFirstPacketsOverQUICAreShared(t *testing.T) {
	for _, calls := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := newEntrance(Power{connections: 1}, openDoor{})
			const most = 1 + openingMore
			looked := 0
			for i := range 100 * most {
				if !e.ignores(netip.AddrFrom4([4]byte{64, 1, byte(i / 256), byte(i)}), calls) {
					looked++
				}
			}
			if looked < most || looked > 3*most {
				t.Errorf("%d of %d are looked at", looked, most)
			}
			for _, other := range []string{"64.2.0.1", "127.0.0.1"} {
				if e.ignores(netip.MustParseAddr(other), calls) {
					t.Errorf("nothing is left for %s", other)
				}
			}
			if e.ignores(netip.MustParseAddr("64.1.0.1"), !calls) {
				t.Error("those of one kind take the time of the others")
			}
			time.Sleep(2 * openingWindow)
			if e.ignores(netip.MustParseAddr("64.1.0.1"), calls) {
				t.Error("nothing is forgotten")
			}
		})
	}
}

// A connection beyond the share of its address waits on the doorstep: a peer that dials as
// soon as it is refused comes seldom.
func TestConnectionsBeyondTheShareWait(t *testing.T) {
	e := newEntrance(Power{connections: 1}, openDoor{})
	at := &net.TCPAddr{IP: net.IPv4(64, 1, 0, 1), Port: 1}
	for in := true; in; {
		at.Port++
		ours, theirs := net.Pipe()
		defer theirs.Close()
		conn, err := manet.WrapNetConn(placed{ours, at, at})
		require.NoError(t, err)
		arrival := &reach.Arrival{Conn: conn}
		in = e.greets(arrival)
		require.NoError(t, arrival.Close())
		if closed := ours.SetDeadline(time.Time{}) != nil; closed != in {
			t.Fatalf("a connection is let in: %v; after its end it is closed: %v", in, closed)
		}
	}
	if at.Port < 1+knocksMore {
		t.Errorf("%d connections were let in", at.Port-2)
	}
}

// A port that calls two of this host's waits with both connections, and loses both when it says
// nothing: neither takes the other's place.
func TestEveryConnectionOfAPortWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{connections: 1}, openDoor{})
		from := &net.TCPAddr{IP: net.IPv4(64, 1, 0, 1), Port: 7}
		var came []net.Conn
		for port := range 2 {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			came = append(came, ours)
			conn, err := manet.WrapNetConn(placed{ours, from, &net.TCPAddr{IP: net.IPv4(64, 2, 0, 1), Port: 4001 + port}})
			require.NoError(t, err)
			if !e.InterceptAccept(&reach.Arrival{Conn: conn}) {
				t.Fatal("a newcomer is turned away")
			}
		}
		time.Sleep(handshakes + time.Second)
		for i, c := range came {
			if closed := c.SetDeadline(time.Time{}) != nil; !closed {
				t.Errorf("connection %d is still open", i)
			}
		}
	})
}

// Who comes from an address that holds on one link only is counted as others are, over TCP and
// WebSocket, and its connections are bounded.
func TestAddressesWithAZoneAreCounted(t *testing.T) {
	e := newEntrance(Power{connections: 1}, openDoor{})
	at, let := &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, 0
	to := &net.TCPAddr{IP: net.ParseIP("fe80::2"), Port: 4001, Zone: "eth0"}
	const tries = 10 * knocksMore
	for at.Port = 1; at.Port <= tries; at.Port++ {
		ours, theirs := net.Pipe()
		conn, err := manet.WrapNetConn(placed{ours, at, to})
		require.NoError(t, err)
		arrival := &reach.Arrival{Conn: conn}
		if !e.InterceptAccept(arrival) {
			continue
		}
		let++
		for _, c := range []net.Conn{conn, overSocket{ours, at, to}} {
			if e.proved(c) != arrival {
				t.Fatalf("nobody knows what is under %v", c.RemoteAddr())
			}
			if from := e.fromNet(c.RemoteAddr()); from != netip.MustParseAddr("fe80::1") {
				t.Fatalf("%v is from %v", c.RemoteAddr(), from)
			}
		}
		if of, ok := endsOf(conn); !ok || e.waiting[of] == nil {
			t.Fatal("a connection does not wait")
		} else {
			e.pass(of)
		}
		require.NoError(t, theirs.Close())
	}
	// A second window may have begun on a slow machine.
	if let > 4*(1+knocksMore) {
		t.Errorf("%d of %d connections are let in", let, tries)
	}
}

// overSocket is a connection over WebSocket between two addresses.
type overSocket struct {
	net.Conn
	from, to net.Addr
}

func (o overSocket) RemoteAddr() net.Addr { return websocket.NewAddrWithScheme(o.from.String(), false) }
func (o overSocket) LocalAddr() net.Addr  { return websocket.NewAddrWithScheme(o.to.String(), false) }

// placed is a connection between two addresses.
type placed struct {
	net.Conn
	from, to net.Addr
}

func (p placed) LocalAddr() net.Addr  { return p.to }
func (p placed) RemoteAddr() net.Addr { return p.from }

// crossing is a connection that has come through a relay.
type crossing struct {
	manet.Conn
	relay, from peer.ID
}

const relayAt = "/ip4/64.50.0.1/tcp/4001"

func (c crossing) RemoteMultiaddr() multiaddr.Multiaddr {
	return multiaddr.StringCast(relayAt + "/p2p/" + c.relay.String() + "/p2p-circuit")
}

func (c crossing) RemoteAddr() net.Addr {
	return &client.NetAddr{Relay: c.relay.String(), Remote: c.from.String()}
}

// placeholder is a host that has a place at a relay.
type placeholder struct {
	host.Host
	relay peer.ID
}

func (h placeholder) ConnManager() connmgr.ConnManager { return keeps{relay: h.relay} }

// keeps protects the connection to a relay.
type keeps struct {
	connmgr.NullConnMgr
	relay peer.ID
}

func (k keeps) IsProtected(p peer.ID, tag string) bool { return p == k.relay && tag == "autorelay" }

// A peer that is refused closes no relay's address: neither others behind the relay nor the
// relay itself pay for it.
func TestWhoIsRefusedThroughARelayIsRefusedAlone(t *testing.T) {
	e := newEntrance(Power{connections: 1}, openDoor{})
	relay, offender := randomPeer(t), randomPeer(t)
	offence := crossing{relay: relay, from: offender}
	direct := knocking{multiaddr.StringCast(relayAt)}
	if !e.InterceptAccept(direct) || !e.InterceptAccept(offence) {
		t.Fatal("a newcomer is turned away")
	}
	e.Judged(strict{offender})
	if e.InterceptSecured(network.DirInbound, offender, offence) {
		t.Error("a refused peer is let in")
	}
	if e.InterceptAccept(offence) {
		t.Error("a refused peer takes a handshake")
	}
	if !e.InterceptAccept(crossing{relay: relay, from: randomPeer(t)}) {
		t.Error("a newcomer behind the relay is turned away")
	}
	if of, _ := endsOf(direct); e.waiting[of] == nil {
		t.Error("the relay's own connection is taken for one through it")
	}
	if !e.greets(knocking{multiaddr.StringCast("/ip4/64.50.0.1/tcp/4002")}) {
		t.Error("the relay is turned away")
	}
}

// A peer that comes again and again through a relay leaves others behind it their part. One
// that relays without being asked has no more than what its address has.
func TestHandshakesThroughARelayAreShared(t *testing.T) {
	relay, other := randomPeer(t), randomPeer(t)
	e := newEntrance(Power{connections: 1}, openDoor{})
	var h host.Host = placeholder{relay: relay}
	e.host.Store(&h)
	for _, c := range []struct {
		relay peer.ID
		want  bool
	}{{relay, true}, {other, false}} {
		flood := crossing{relay: c.relay, from: randomPeer(t)}
		for n := 0; e.InterceptAccept(flood); n++ {
			if n > 2*(1+relayedMore) {
				t.Fatal("one peer is let in without end")
			}
		}
		if got := e.InterceptAccept(crossing{relay: c.relay, from: randomPeer(t)}); got != c.want {
			t.Errorf("beside a peer that comes without end, another one is let in: %v, want %v", got, c.want)
		}
	}
}
