package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// keep runs the keeper until the test ends.
func keep(t testing.TB, k *Keeper) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

func isConnected(a, b host.Host) bool {
	return a.Network().Connectedness(b.ID()) == network.Connected
}

func waitForConnection(t testing.TB, a, b host.Host, want bool) {
	t.Helper()
	require.Nothing(t, func() string {
		if isConnected(a, b) != want {
			return "the connection is not as it should be"
		}
		return ""
	})
}

func closePeer(t testing.TB, h host.Host, p peer.ID) {
	t.Helper()
	if err := h.Network().ClosePeer(p); err != nil {
		t.Fatal(err)
	}
}

func TestWantedPeersAreConnectedAndOthersLeftAlone(t *testing.T) {
	a, b, c := newHost(t), newHost(t), newHost(t)
	k := NewKeeper(a, quiet())
	k.Want([]peer.AddrInfo{infoOf(b), infoOf(a)}) // itself is ignored
	keep(t, k)
	waitForConnection(t, a, b, true)
	k.Want([]peer.AddrInfo{infoOf(b), infoOf(c)})
	waitForConnection(t, a, c, true)

	k.Want([]peer.AddrInfo{infoOf(c)})
	if !isConnected(a, b) {
		t.Error("the connection to a peer no longer wanted was closed")
	}
	closePeer(t, a, b.ID())
	closePeer(t, a, c.ID())
	waitForConnection(t, a, c, true)
	if isConnected(a, b) {
		t.Error("a peer no longer wanted was dialled")
	}
}

func TestWantedPeersAreProtected(t *testing.T) {
	manager, err := connmgr.NewConnManager(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	a, err := libp2p.New(libp2p.NoListenAddrs, libp2p.ConnectionManager(manager), libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	neighbours, bootstrap := NewKeeper(a, quiet()), newKeeper(a, quiet(), "bootstrap")
	b := peer.AddrInfo{ID: "b"}
	neighbours.Want([]peer.AddrInfo{b})
	bootstrap.Want([]peer.AddrInfo{b})
	neighbours.Want(nil)
	if !manager.IsProtected(b.ID, "") {
		t.Error("one keeper took the protection of another away")
	}
	bootstrap.Want(nil)
	if manager.IsProtected(b.ID, "") {
		t.Error("a peer nobody wants is protected")
	}
}

// TestAPeerThatComesUpLateIsReachedSoon dials an address nobody listens at yet.
// The swarm alone would not try again for 5 s.
func TestAPeerThatComesUpLateIsReachedSoon(t *testing.T) {
	a, late := newHost(t), newHost(t)
	info := infoOf(late)
	if err := late.Close(); err != nil {
		t.Fatal(err)
	}
	k := NewKeeper(a, quiet())
	if k.dial(t.Context(), &wanted{info: info}) == nil {
		t.Fatal("the dial succeeds though nobody listens")
	}
	k.Want([]peer.AddrInfo{info})
	keep(t, k)
	again, err := libp2p.New(hostOptions(libp2p.Identity(late.Peerstore().PrivKey(late.ID())), libp2p.ListenAddrs(info.Addrs...))...)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	start := time.Now()
	waitForConnection(t, a, again, true)
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestASilentPeerIsNoticed connects to a peer that takes pings and says nothing.
func TestASilentPeerIsNoticed(t *testing.T) {
	a, silent := newHost(t), newHost(t)
	var pinged atomic.Int32
	silent.SetStreamHandler(ping.ID, func(network.Stream) { pinged.Add(1) })
	var closed atomic.Bool
	notify := &network.NotifyBundle{DisconnectedF: func(network.Network, network.Conn) { closed.Store(true) }}
	a.Network().Notify(notify)
	defer a.Network().StopNotify(notify)

	k := NewKeeper(a, quiet())
	k.pings = pings{every: 20 * time.Millisecond, again: 10 * time.Millisecond, timeout: 50 * time.Millisecond}
	k.Want([]peer.AddrInfo{infoOf(silent)})
	keep(t, k)
	require.Nothing(t, func() string {
		if !closed.Load() {
			return "a silent peer is still connected"
		}
		return ""
	})
	if n := pinged.Load(); n < pingLimit {
		t.Errorf("closed after %d pings without an answer", n)
	}
}

func TestAnAnsweringPeerStaysConnected(t *testing.T) {
	a, b := newHost(t), newHost(t)
	var pinged atomic.Int32
	answer := ping.NewPingService(b)
	b.SetStreamHandler(ping.ID, func(s network.Stream) { pinged.Add(1); answer.PingHandler(s) })
	k := NewKeeper(a, quiet())
	k.pings = pings{every: time.Millisecond, again: time.Millisecond, timeout: deadline}
	k.Want([]peer.AddrInfo{infoOf(b)})
	keep(t, k)
	waitForConnection(t, a, b, true)
	first := a.Network().ConnsToPeer(b.ID())[0]
	require.Nothing(t, func() string {
		if pinged.Load() < 20 {
			return "too few pings"
		}
		return ""
	})
	if first.IsClosed() {
		t.Error("the connection was closed")
	}
}

// TestAPeerThatHangsUpIsNotDialledWithoutPause meets a peer that closes every
// connection.
func TestAPeerThatHangsUpIsNotDialledWithoutPause(t *testing.T) {
	t.Parallel()
	a, rude := newHost(t), newHost(t)
	var dialled atomic.Int32
	notify := &network.NotifyBundle{ConnectedF: func(_ network.Network, c network.Conn) {
		dialled.Add(1)
		go c.Close()
	}}
	rude.Network().Notify(notify)
	defer rude.Network().StopNotify(notify)
	k := NewKeeper(a, quiet())
	k.Want([]peer.AddrInfo{infoOf(rude)})
	start := time.Now()
	keep(t, k)
	require.Nothing(t, func() string {
		if dialled.Load() < 3 {
			return "too few dials"
		}
		return ""
	})
	// The two pauses between three dials are at least 0.25 s and 0.5 s long.
	if took := time.Since(start); took < 700*time.Millisecond {
		t.Errorf("dialled three times in %v", took)
	}
}

func TestPeersWithoutAddressesAreLookedUpInTheHost(t *testing.T) {
	a, b := newHost(t), newHost(t)
	k := NewKeeper(a, quiet())
	k.Want([]peer.AddrInfo{{ID: b.ID()}})
	keep(t, k)
	a.Peerstore().AddAddrs(b.ID(), b.Addrs(), time.Hour)
	waitForConnection(t, a, b, true)
}

// TestNewAddressesAreUsed wants a peer at an address that is wrong at first.
func TestNewAddressesAreUsed(t *testing.T) {
	a, b := newHost(t), newHost(t)
	k := NewKeeper(a, quiet())
	wrong := multiaddr.StringCast("/ip4/127.0.0.1/tcp/1")
	k.Want([]peer.AddrInfo{{ID: b.ID(), Addrs: []multiaddr.Multiaddr{wrong}}})
	keep(t, k)
	k.Want([]peer.AddrInfo{infoOf(b)})
	waitForConnection(t, a, b, true)
}

// TestSilentPeersAreNoticedTogether has five of them, and a keeper that would
// look at them in an hour if it were not refreshed.
func TestSilentPeersAreNoticedTogether(t *testing.T) {
	t.Parallel()
	a := newHost(t)
	k := NewKeeper(a, quiet())
	k.pings = pings{every: time.Hour, again: 10 * time.Millisecond, timeout: time.Second}
	var silent []peer.AddrInfo
	for range 5 {
		h := newHost(t)
		h.SetStreamHandler(ping.ID, func(network.Stream) {})
		if err := a.Connect(t.Context(), infoOf(h)); err != nil {
			t.Fatal(err)
		}
		silent = append(silent, infoOf(h))
	}
	var closed atomic.Int32
	notify := &network.NotifyBundle{DisconnectedF: func(network.Network, network.Conn) { closed.Add(1) }}
	a.Network().Notify(notify)
	defer a.Network().StopNotify(notify)
	k.Want(silent)
	keep(t, k)
	start := time.Now()
	require.Nothing(t, func() string {
		k.Refresh()
		if closed.Load() < 5 {
			return "a silent peer is still connected"
		}
		return ""
	})
	// Two pings of a second each; one peer after the other would take ten.
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestAPeerIsFoundAmongItsWrongAddresses has connected to a peer that names 500
// addresses, of which two lead to it, and loses the connection.
func TestAPeerIsFoundAmongItsWrongAddresses(t *testing.T) {
	a := newHost(t)
	wrong := make([]multiaddr.Multiaddr, 500)
	for i := range wrong {
		wrong[i] = multiaddr.StringCast(fmt.Sprintf("/ip4/127.9.%d.%d/tcp/1", i/250, 1+i%250))
	}
	liar, err := libp2p.New(hostOptions(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"),
		libp2p.AddrsFactory(func(own []multiaddr.Multiaddr) []multiaddr.Multiaddr { return append(own, wrong...) }))...)
	if err != nil {
		t.Fatal(err)
	}
	defer liar.Close()
	right := peer.AddrInfo{ID: liar.ID(), Addrs: liar.Network().ListenAddresses()}
	k := NewKeeper(a, quiet())
	k.Want([]peer.AddrInfo{right})
	keep(t, k)
	waitForConnection(t, a, liar, true)
	require.Nothing(t, func() string {
		if len(a.Peerstore().Addrs(liar.ID())) < 10 {
			return "the wrong addresses have not come"
		}
		return ""
	})
	k.Want([]peer.AddrInfo{{ID: liar.ID()}}) // the node that wants it knows no address
	a.Peerstore().AddAddrs(liar.ID(), wrong, time.Hour)
	closePeer(t, a, liar.ID())
	waitForConnection(t, a, liar, true)
	if first := k.choose(liar.ID(), right.Addrs); len(first) > maxAddrs || !first[0].Equal(right.Addrs[0]) {
		t.Errorf("dials %d addresses, %v first", len(first), first[0])
	}
}

// TestAPeerIsFollowedToItsNewAddress lets a peer listen elsewhere while it is
// connected; identify says so, and the keeper goes there.
func TestAPeerIsFollowedToItsNewAddress(t *testing.T) {
	a, b := newHost(t), newHost(t)
	old := b.Network().ListenAddresses()[0]
	k := NewKeeper(a, quiet())
	k.Want([]peer.AddrInfo{infoOf(b)})
	keep(t, k)
	waitForConnection(t, a, b, true)
	require.Nothing(t, func() string { // what comes late of that would undo the news
		for _, h := range [][2]host.Host{{a, b}, {b, a}} {
			if known, err := h[0].Peerstore().GetProtocols(h[1].ID()); err != nil || len(known) == 0 {
				return "they have not told each other what they are"
			}
		}
		return ""
	})
	if err := b.Network().Listen(multiaddr.StringCast("/ip4/127.0.0.1/tcp/0")); err != nil {
		t.Fatal(err)
	}
	listens, ok := b.Network().(interface{ ListenClose(...multiaddr.Multiaddr) })
	if !ok {
		t.Fatal("the swarm cannot stop listening")
	}
	listens.ListenClose(old)
	now := b.Network().ListenAddresses()[0]
	knows := func() bool { return slices.ContainsFunc(a.Peerstore().Addrs(b.ID()), now.Equal) }
	closeKnowing := func() {
		polls := 0
		require.Nothing(t, func() string {
			if knows() {
				return ""
			}
			if polls++; polls%200 == 0 { // what b said before came last; a protocol more, and b says all again
				b.SetStreamHandler(protocol.ID(fmt.Sprint("/again/", polls)), func(s network.Stream) { _ = s.Reset() })
			}
			return "the new address has not come"
		})
		closePeer(t, a, b.ID())
	}
	closeKnowing()
	require.Nothing(t, func() string {
		switch {
		case k.connected(b.ID()):
			return ""
		case !knows(): // it has come even later
			if err := b.Connect(t.Context(), infoOf(a)); err == nil {
				closeKnowing()
			}
		}
		return "the peer is not followed"
	})
}

func TestFewAddressesAreKept(t *testing.T) {
	long := multiaddr.StringCast("/dns4/" + strings.Repeat("long.", 60) + "example/tcp/1")
	good := multiaddr.StringCast("/ip4/192.0.2.1/tcp/1")
	many := []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/0.0.0.0/tcp/1"), long, nil, good, good}
	if got := Bound(many); len(got) != 1 || !got[0].Equal(good) {
		t.Errorf("keeps %v", got)
	}
	for i := range 10_000 {
		many = append(many, multiaddr.StringCast(fmt.Sprintf("/ip4/10.0.0.1/tcp/%d", i)))
	}
	if got := Bound(many); len(got) != maxAddrs || !got[0].Equal(good) {
		t.Errorf("keeps %d addresses, %v first", len(got), got[0])
	}
}
