package netedge

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// A peer that comes again and again is let in less and less often, up to a bound. After a
// quiet time it is let in as before.
func TestAnAddressIsClosedForLongerEachTime(t *testing.T) {
	s, now := newShut(), time.Unix(0, 0)
	a, neighbour, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8:0:1::1")
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 16, 16} {
		s.close(a, now)
		s.close(a, now) // two at once are one
		last := now.Add(seconds*time.Second - 1)
		if !s.off(a, last) || !s.off(neighbour, last) || s.off(other, last) {
			t.Fatalf("closed for less than %d s, or another network is", seconds)
		}
		now = last.Add(1)
		if s.off(a, now) {
			t.Fatalf("closed for more than %d s", seconds)
		}
	}
	now = now.Add(shutForgets + 1)
	s.close(a, now)
	if s.off(a, now.Add(firstShut)) {
		t.Error("what was long ago counts")
	}
	s.close(netip.MustParseAddr("127.0.0.1"), now)
	if s.off(netip.MustParseAddr("127.0.0.1"), now) {
		t.Error("this machine is closed")
	}
}

// The memory is bounded, and what is old makes room.
func TestClosedAddressesAreBounded(t *testing.T) {
	s, now := newShut(), time.Unix(0, 0)
	for i := range 2 * maxShut {
		s.close(netip.AddrFrom4([4]byte{64, byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	if len(s.addresses) != maxShut {
		t.Errorf("%d addresses are remembered", len(s.addresses))
	}
	now = now.Add(firstShut + shutForgets + 1)
	late := netip.MustParseAddr("8.8.8.8")
	s.close(late, now)
	if !s.off(late, now) || len(s.addresses) != 1 {
		t.Errorf("%d addresses are remembered after a while", len(s.addresses))
	}
}

// strict refuses the peers of its name.
type strict struct{ peer.ID }

func (s strict) Refuses(p peer.ID) bool { return p == s.ID }
func (strict) Unanswered(peer.ID)       {}
func (strict) Flooded(peer.ID)          {}

// InterceptSecured lets everybody in.
func (openDoor) InterceptSecured(network.Direction, peer.ID, network.ConnMultiaddrs) bool {
	return true
}

// A refused peer is turned away when it has said who it is, and its address for a moment
// before anything is said. All others come in.
func TestRefusedPeersCloseTheirAddress(t *testing.T) {
	e := newEntrance(Power{connections: 256}, openDoor{})
	port := 0
	comes := func(p peer.ID, address string) bool {
		port++
		c := knocking{multiaddr.StringCast(fmt.Sprintf("/ip4/%s/tcp/%d", address, port))}
		return e.InterceptAccept(c) && e.InterceptSecured(network.DirInbound, p, c)
	}
	if !comes("bad", "64.1.0.1") {
		t.Error("nobody has judged, and the peer is turned away")
	}
	e.Judged(strict{"bad"})
	if comes("bad", "64.1.0.1") || comes("good", "64.1.0.1") {
		t.Error("a refused peer comes in, or its address is open")
	}
	if !comes("good", "64.1.0.2") {
		t.Error("an honest peer is turned away")
	}
	if comes("bad", "127.0.0.1") || !comes("good", "127.0.0.1") {
		t.Error("this machine is closed, or open to a refused peer")
	}
	if !e.InterceptSecured(network.DirOutbound, "bad", knocking{multiaddr.StringCast("/ip4/64.1.0.3/tcp/1")}) {
		t.Error("a peer that the host has called is turned away")
	}
	if n := len(e.waiting); n != 3 { // those who came in, and have not gone on
		t.Errorf("%d connections wait", n)
	}
}
