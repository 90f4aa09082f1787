package reach

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	basichost "github.com/libp2p/go-libp2p/p2p/host/basic"
	"github.com/multiformats/go-multiaddr"
)

// listener is a network that listens on one address.
type listener struct{ network.Network }

func (listener) ListenAddresses() []multiaddr.Multiaddr {
	return []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/0.0.0.0/tcp/4001")}
}

// box is a router as it was found once.
type box struct {
	maps   atomic.Bool
	gone   chan struct{} // Close waits for it
	closed bool
}

func (b *box) GetMapping(multiaddr.Multiaddr) multiaddr.Multiaddr {
	if !b.maps.Load() {
		return nil
	}
	return multiaddr.StringCast("/ip4/45.0.0.1/tcp/5000")
}

func (b *box) HasDiscoveredNAT() bool { return b.maps.Load() }

func (b *box) Close() error {
	if b.gone != nil {
		<-b.gone
	}
	b.closed = true
	return nil
}

// A router is looked for again until one maps the port, and when it no longer does.
func TestRouterIsLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boxes := []*box{{}, {}, {}, {}}
		boxes[2].maps.Store(true)
		var found atomic.Int64
		r := newRouter(listener{}, func(network.Network) basichost.NATManager { return boxes[found.Add(1)-1] })
		want := func(searches int64, mappings int) {
			t.Helper()
			synctest.Wait()
			if found.Load() != searches || len(r.mappings()) != mappings || r.HasDiscoveredNAT() != (mappings > 0) {
				t.Errorf("%d searches and %d mappings, want %d and %d", found.Load(), len(r.mappings()), searches, mappings)
			}
		}
		want(1, 0)
		time.Sleep(2 * askRouter)
		want(3, 1)
		time.Sleep(10 * askRouter)
		want(3, 1)
		boxes[2].maps.Store(false)
		time.Sleep(askRouter)
		want(4, 0)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * askRouter)
		want(4, 0)
		if slices.ContainsFunc(boxes, func(b *box) bool { return !b.closed }) {
			t.Error("a search is never closed")
		}
	})
}

// A router that does not answer any more does not keep the host from closing.
func TestSilentRouterIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &box{gone: make(chan struct{})}
		r := newRouter(listener{}, func(network.Network) basichost.NATManager { return silent })
		begin := time.Now()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != leaveRouter {
			t.Errorf("closing took %v, want %v", took, leaveRouter)
		}
		close(silent.gone)
	})
}

// In a network of members only, where nobody calls back, libp2p leaves the mapped
// address out beside those at relays. It is told to others all the same, once.
func TestMappedAddressIsAnnounced(t *testing.T) {
	h, _ := newHost(t, false)
	forwarding := &box{}
	forwarding.maps.Store(true)
	mapped := forwarding.GetMapping(nil)
	for _, c := range []struct {
		closed bool
		found  []multiaddr.Multiaddr
		want   int
	}{{true, nil, 1}, {true, []multiaddr.Multiaddr{mapped}, 1}, {false, nil, 0}} {
		r, err := New(Config{Closed: c.closed})
		if err != nil {
			t.Fatal(err)
		}
		r.host = h
		r.router = newRouter(listener{}, func(network.Network) basichost.NATManager { return forwarding })
		got := r.announce(c.found)
		if len(got) != c.want || c.want == 1 && !got[0].Equal(mapped) {
			t.Errorf("closed %v, found %v: announced %v, want %d times %v", c.closed, c.found, got, c.want, mapped)
		}
		if err := r.router.Close(); err != nil {
			t.Error(err)
		}
	}
}
