package netedge

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery/reach"
	"p2pnode/internal/require"
)

// openDoor lets everybody in.
type openDoor struct{ connmgr.ConnectionGater }

func (openDoor) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// knocking is a connection that has just come.
type knocking struct{ at multiaddr.Multiaddr }

func (k knocking) LocalMultiaddr() multiaddr.Multiaddr  { return k.at }
func (k knocking) RemoteMultiaddr() multiaddr.Multiaddr { return k.at }
func (knocking) Close() error                           { return nil }

// greets reports whether a connection is let in, and ends its handshakes.
func (e *Entrance) greets(c network.ConnMultiaddrs) bool {
	in := e.InterceptAccept(c)
	if from, ok := addrPort(c.RemoteMultiaddr()); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.pass(from)
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

// A connection beyond the share of its address waits on the doorstep: a peer that dials as
// soon as it is refused comes seldom.
func TestConnectionsBeyondTheShareWait(t *testing.T) {
	e := newEntrance(Power{connections: 1}, openDoor{})
	at := &net.TCPAddr{IP: net.IPv4(64, 1, 0, 1), Port: 1}
	for in := true; in; {
		at.Port++
		ours, theirs := net.Pipe()
		defer theirs.Close()
		conn, err := manet.WrapNetConn(placed{ours, at})
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

// placed is a connection from an address.
type placed struct {
	net.Conn
	from net.Addr
}

func (p placed) LocalAddr() net.Addr  { return p.from }
func (p placed) RemoteAddr() net.Addr { return p.from }
