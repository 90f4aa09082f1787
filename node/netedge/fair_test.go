package netedge

import (
	"net/netip"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
)

// Whom the host's own relay carries shares by peer, and takes nothing from those whose addresses
// the host sees. Another relay answers for all that it carries.
func TestWhomARelayCarriesSharesByPeer(t *testing.T) {
	own, other := randomPeer(t), randomPeer(t)
	e := newEntrance(Power{}, openDoor{})
	var h host.Host = placeholder{relay: own}
	e.host.Store(&h)
	carried := e.from(crossing{relay: own}.RemoteMultiaddr())
	answers := e.from(crossing{relay: other}.RemoteMultiaddr())
	if carried.IsValid() || answers != netip.MustParseAddr("64.50.0.1") {
		t.Fatalf("those behind the host's relay come from %v, those behind another from %v", carried, answers)
	}

	const most = 8
	f, now := newFair(most, time.Minute), time.Now()
	takes := func(from netip.Addr, name string) (n int) {
		for n < 2*most && f.Take(from, name, 1, now) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		from netip.Addr
		name string
		want int
	}{
		{carried, "first", most}, {carried, "second", most / 2}, {carried, "third", most / 3},
		{answers, "fourth", most}, {answers, "fifth", 0}, {netip.MustParseAddr("192.0.2.1"), "sixth", most / 2},
	} {
		if got := takes(c.from, c.name); got != c.want {
			t.Errorf("the %s, from %v, has %d, want %d", c.name, c.from, got, c.want)
		}
	}
}
