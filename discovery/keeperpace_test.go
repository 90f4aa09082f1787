package discovery

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	mocknet "github.com/libp2p/go-libp2p/p2p/net/mock"
)

// inVirtualTime runs f with two hosts that no link connects, and a keeper at the
// first that wants the second.
func inVirtualTime(t *testing.T, f func(net mocknet.Mocknet, a, b host.Host, k *Keeper)) {
	synctest.Test(t, func(t *testing.T) {
		net := mocknet.New()
		var hosts []host.Host
		for range 2 {
			h, err := net.GenPeer()
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, h)
		}
		k := NewKeeper(hosts[0], quiet())
		k.Want([]peer.AddrInfo{infoOf(hosts[1])})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = k.Run(ctx) })
		f(net, hosts[0], hosts[1], k)
		cancel()
		running.Wait()
		if err := net.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Minute) // what libp2p leaves behind ends by then
	})
}

// connectedWithin waits for the connection and returns how long it took.
func connectedWithin(t *testing.T, a, b host.Host, limit time.Duration) time.Duration {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if took := time.Since(start); isConnected(a, b) || took > limit {
			if took > limit {
				t.Errorf("no connection within %v", limit)
			}
			return took
		}
	}
}

// TestARefreshEndsTheBackOff finds the peer reachable after an hour in vain.
func TestARefreshEndsTheBackOff(t *testing.T) {
	inVirtualTime(t, func(net mocknet.Mocknet, a, b host.Host, k *Keeper) {
		time.Sleep(time.Hour)
		if k.failure(b.ID()) == nil {
			t.Error("an hour in vain, and no failure")
		}
		if _, err := net.LinkPeers(a.ID(), b.ID()); err != nil {
			t.Fatal(err)
		}
		k.Refresh()
		connectedWithin(t, a, b, time.Second)
		if err := k.failure(b.ID()); err != nil {
			t.Errorf("connected, and still: %v", err)
		}
	})
}

// TestAPeerIsFoundAgainWithoutARefresh bounds the wait after a long outage.
func TestAPeerIsFoundAgainWithoutARefresh(t *testing.T) {
	inVirtualTime(t, func(net mocknet.Mocknet, a, b host.Host, k *Keeper) {
		time.Sleep(time.Hour)
		if _, err := net.LinkPeers(a.ID(), b.ID()); err != nil {
			t.Fatal(err)
		}
		connectedWithin(t, a, b, longestRedial+longestRedial/2)
	})
}

// TestALostConnectionIsDialledAgainAtOnce cuts one that lasted.
func TestALostConnectionIsDialledAgainAtOnce(t *testing.T) {
	inVirtualTime(t, func(net mocknet.Mocknet, a, b host.Host, k *Keeper) {
		if _, err := net.LinkPeers(a.ID(), b.ID()); err != nil {
			t.Fatal(err)
		}
		k.Refresh()
		connectedWithin(t, a, b, time.Second)
		time.Sleep(2 * lasting)
		if err := net.DisconnectPeers(a.ID(), b.ID()); err != nil {
			t.Fatal(err)
		}
		connectedWithin(t, a, b, 2*courtesy)
	})
}

func TestNewAddressesEndTheBackOff(t *testing.T) {
	inVirtualTime(t, func(net mocknet.Mocknet, a, b host.Host, k *Keeper) {
		time.Sleep(time.Hour)
		if _, err := net.LinkPeers(a.ID(), b.ID()); err != nil {
			t.Fatal(err)
		}
		moved := infoOf(b)
		moved.Addrs = append(slices.Clone(moved.Addrs), addrsOf(t, "/ip4/127.0.0.1/tcp/1")...)
		k.Want([]peer.AddrInfo{moved})
		connectedWithin(t, a, b, time.Second)
	})
}
