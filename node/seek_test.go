package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/peering"
)

// Of two neighbours that lose each other for less than the time between two looks, one asks the
// other all the same.
func TestShortAbsenceIsNoticed(t *testing.T) {
	first, second := testNode(t, lineTask(), nil, nil), testNode(t, lineTask(), nil, nil)
	asked := make(chan learner.ID, 100)
	first.observePeering = func(_ time.Duration, in peering.Input, out peering.Output) {
		if a, ok := in.(peering.Asked); ok && a.Kind == peering.Ask {
			asked <- gossip.ID(first.self)
		}
		for _, c := range out.Calls {
			if c.Kind == peering.Ask {
				asked <- c.To.Peer
			}
		}
	}
	other := attachedSession(t, second)
	remembers(t, first, peer.AddrInfo{ID: second.self, Addrs: other.host.Addrs()})
	s := attachedSession(t, first)
	connect := func() {
		t.Helper()
		if err := s.host.Connect(t.Context(), peer.AddrInfo{ID: second.self, Addrs: other.host.Addrs()}); err != nil {
			t.Fatal(err)
		}
	}
	connect()
	if id := <-asked; id != gossip.ID(second.self) {
		t.Fatalf("%s is asked, want the neighbour", id)
	}
	require.Eventually(t, "it has answered", func() bool { return s.hood.neighbours()[0].Met })
	for len(asked) > 0 {
		<-asked
	}
	if err := s.host.Network().ClosePeer(second.self); err != nil {
		t.Fatal(err)
	}
	connect() // before anybody is told of the loss, or after
	select {
	case <-asked:
	case <-time.After(meetWithin):
		t.Error("neither neighbour asks the other once it is back")
	}
}

// meetWithin is far less than the time after which an edge is renewed in any case.
const meetWithin = 20 * time.Second

// The power profile sets the pace at which neighbours are looked at and renewed.
func TestPowerSetsThePace(t *testing.T) {
	for power, want := range map[string][2]time.Duration{
		datadir.PowerNormal: {5 * time.Second, time.Minute},
		datadir.PowerLow:    {10 * time.Second, 5 * time.Minute},
	} {
		h := attachedSession(t, testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Power = power })).hood
		if got := [2]time.Duration{h.config.Look, h.config.Renew}; got != want {
			t.Errorf("%s power looks and renews every %v, want %v", power, got, want)
		}
	}
}

// freePort is a TCP port of loopback that was free a moment ago, and that the system gives to
// nobody who asks for any.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		require.NoError(t, err, l.Close())
		return port
	}
}

// A peer that its owner adds before it is there becomes a neighbour when it comes,
// also where nothing else would lead to it.
func TestPeerAddedBeforeItIsThere(t *testing.T) {
	t.Parallel()
	quiet := func(c *datadir.Config) { c.DHT = "off" }
	a := testNode(t, lineTask(), nil, quiet)
	port := freePort(t)
	b := testNode(t, lineTask(), nil, func(c *datadir.Config) { quiet(c); c.Listen = []string{"/ip4/127.0.0.1/tcp/" + port} })
	start(t, a)
	if _, err := a.Addrs(t.Context()); err != nil {
		t.Fatal(err)
	}
	added, err := a.AddPeer(t.Context(), "/ip4/127.0.0.1/tcp/"+port+"/p2p/"+b.self.String())
	if err != nil || added.Connected || !added.Running {
		t.Fatalf("%+v, %v", added, err)
	}
	start(t, b)
	require.Eventually(t, "neighbours", func() bool { return status(t, a).Listening == 1 && status(t, b).Listening == 1 })
}

// A peer that was reached is remembered, even if nobody waits for the answer any more, but not before
// it has said what it is.
func TestPeerAddedAsTheCallerLeaves(t *testing.T) {
	t.Parallel()
	a, b := testNode(t, lineTask(), nil, nil), testNode(t, lineTask(), nil, nil)
	start(t, a)
	start(t, b)
	at := waitForAddrs(t, b)[0]
	waitForAddrs(t, a)
	_, err := a.AddPeer(t.Context(), at)
	require.NoError(t, err, a.RemovePeer(t.Context(), at))
	gone, leave := context.WithCancel(t.Context())
	leave()
	added, err := a.AddPeer(gone, at) // they are connected
	if list := a.book.Added(); err != nil || !added.Connected || len(list) != 1 || list[0].ID != b.self {
		t.Errorf("%+v, %v; remembered %v", added, err, list)
	}
	require.NoError(t, a.RemovePeer(t.Context(), at), a.current().host.Peerstore().SetProtocols(b.self))
	if added, err := a.AddPeer(gone, at); !errors.Is(err, context.Canceled) || len(a.book.Added()) > 0 {
		t.Errorf("%+v, %v; remembered %v before it said its task", added, err, a.book.Added())
	}
}
