package discovery

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"

	"p2pnode/internal/require"
)

// newGuarded returns a host with a gater against duplicates.
func newGuarded(t testing.TB, key crypto.PrivKey, young time.Duration) host.Host {
	t.Helper()
	gater := NewDuplicates(nil)
	gater.young = young
	options := hostOptions(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.ConnectionGater(gater))
	if key != nil {
		options = append(options, libp2p.Identity(key))
	}
	h, err := libp2p.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	gater.Guard(h.Network())
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// connectBoth makes a and b dial each other at the same time.
func connectBoth(t testing.TB, a, b host.Host) {
	t.Helper()
	var dials sync.WaitGroup
	for _, d := range [][2]host.Host{{a, b}, {b, a}} {
		dials.Go(func() {
			if err := Dial(t.Context(), d[0], infoOf(d[1])); err != nil {
				t.Errorf("a dial failed: %v", err)
			}
		})
	}
	dials.Wait()
}

// TestTwoWhoDialEachOtherShareOneConnection lets many pairs dial at once.
// Without the gater, 55 of 60 pairs ended up with two connections.
func TestTwoWhoDialEachOtherShareOneConnection(t *testing.T) {
	for range 40 {
		a, b := newGuarded(t, nil, lasting), newGuarded(t, nil, lasting)
		connectBoth(t, a, b)
		require.Nothing(t, func() string {
			if len(a.Network().ConnsToPeer(b.ID())) != 1 || len(b.Network().ConnsToPeer(a.ID())) != 1 {
				return "not one connection at each end"
			}
			return ""
		})
		ctx := network.WithNoDial(t.Context(), "test")
		if result := <-ping.Ping(ctx, a, b.ID()); result.Error != nil {
			t.Errorf("the connection that is left does not work: %v", result.Error)
		}
	}
}

// TestAPeerThatCameBackReplacesItsOldConnection connects a second host with the
// same identity, as after a restart that the other end has not noticed.
func TestAPeerThatCameBackReplacesItsOldConnection(t *testing.T) {
	old := newHost(t)
	key := old.Peerstore().PrivKey(old.ID())
	for _, id := range []string{"lower", "higher"} {
		t.Run(id, func(t *testing.T) {
			stay := newGuarded(t, nil, 0)
			for (stay.ID() < old.ID()) != (id == "lower") {
				stay = newGuarded(t, nil, 0)
			}
			if err := old.Connect(t.Context(), infoOf(stay)); err != nil {
				t.Fatal(err)
			}
			waitForConnection(t, stay, old, true)
			stale := stay.Network().ConnsToPeer(old.ID())[0]
			restarted := newGuarded(t, key, 0)
			if err := restarted.Connect(t.Context(), infoOf(stay)); err != nil {
				t.Fatal(err)
			}
			require.Nothing(t, func() string {
				if !stale.IsClosed() {
					return "the old connection is still there"
				}
				return ""
			})
			if n := len(stay.Network().ConnsToPeer(old.ID())); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A peer that dials twice is not two that dial each other: it has lost the first
// connection, though nobody has told the other end yet.
func TestAPeerMayDialAgainAtOnce(t *testing.T) {
	first := newHost(t)
	key := first.Peerstore().PrivKey(first.ID())
	for _, id := range []string{"lower", "higher"} {
		t.Run(id, func(t *testing.T) {
			stay := newGuarded(t, nil, lasting)
			for (stay.ID() < first.ID()) != (id == "lower") {
				stay = newGuarded(t, nil, lasting)
			}
			if err := connect(t.Context(), first, infoOf(stay)); err != nil {
				t.Fatal(err)
			}
			again := newGuarded(t, key, lasting)
			if err := connect(t.Context(), again, infoOf(stay)); err != nil {
				t.Errorf("a peer that came back is refused: %v", err)
			}
			closePeer(t, first, stay.ID())
			require.Nothing(t, func() string {
				if n := len(stay.Network().ConnsToPeer(first.ID())); n != 1 {
					return fmt.Sprintf("%d connections, want the new one", n)
				}
				return ""
			})
		})
	}
}
