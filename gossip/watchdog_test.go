package gossip

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
)

// TestARestartedNeighbourIsHeardAgain restarts a neighbour while its old
// connection is still open here, and closes the old one afterwards. Gossipsub
// then forgets what the new one subscribed to; the watchdog must mend it.
func TestARestartedNeighbourIsHeardAgain(t *testing.T) {
	key := newKey(t)
	watchful := func(key crypto.PrivKey) *node { return startWatchful(t, key, testConfig(), 250*time.Millisecond) }
	a, old := watchful(newKey(t)), watchful(key)
	befriend(t, a, old)
	waitForListeners(t, a, old)
	waitForListeners(t, old, a)
	publish(t, old, 1)
	take(t, a)

	restarted := watchful(key)
	ctx, cancel := context.WithCancel(t.Context())
	redialled := make(chan struct{})
	go func() { // as a keeper of connections would
		defer close(redialled)
		for ctx.Err() == nil {
			_ = restarted.host.Connect(ctx, peer.AddrInfo{ID: a.id(), Addrs: a.host.Addrs()})
			time.Sleep(20 * time.Millisecond)
		}
	}()
	defer func() { cancel(); <-redialled }()
	if err := restarted.Follow(a.id()); err != nil {
		t.Fatal(err)
	}
	waitForListeners(t, restarted, a)
	old.stop()

	round := uint64(1)
	require.Nothing(t, func() string {
		round++
		publish(t, a, round)
		publish(t, restarted, round)
		if a.Stats().Delivered < 2 || restarted.Stats().Delivered == 0 {
			return fmt.Sprintf("not heard both ways: %+v, %+v", a.Stats(), restarted.Stats())
		}
		return ""
	})
}

// Each time a connection was closed in vain the next one has twice as long; a
// neighbour that went away is looked at anew.
func TestTheWatchdogLosesPatienceSlowly(t *testing.T) {
	var d deafness
	var bite bool
	for round, want := range []int{4, 8, 16, 32, 64, 64} {
		d, _ = d.check(true)
		if d, bite = d.check(false); bite {
			t.Errorf("connection %d was closed when it was not there", round)
		}
		checks := 0
		for bite = false; !bite && checks <= want; checks++ {
			d, bite = d.check(true)
		}
		if checks != want {
			t.Errorf("connection %d was closed after %d checks, want %d", round, checks, want)
		}
	}
}

// TestTheWatchdogBites follows a node that does not follow back.
func TestTheWatchdogBites(t *testing.T) {
	g, deaf := newNode(t), newNode(t)
	if err := g.Follow(deaf.id()); err != nil {
		t.Fatal(err)
	}
	connect(t, g.host, deaf.host)
	memory := make(map[peer.ID]deafness)
	for range minChecks {
		if g.host.Network().Connectedness(deaf.id()) != network.Connected {
			t.Fatal("the connection was closed too early")
		}
		g.closeDeaf(memory)
	}
	if g.host.Network().Connectedness(deaf.id()) == network.Connected || len(memory) != 1 {
		t.Errorf("the watchdog left a deaf neighbour alone: %+v", memory)
	}
	if err := g.Unfollow(deaf.id()); err != nil {
		t.Fatal(err)
	}
	if g.closeDeaf(memory); len(memory) != 0 {
		t.Error("the watchdog remembers a peer that is no longer followed")
	}
}

func TestTheWatchdogLeavesListenersAlone(t *testing.T) {
	a, b := newNode(t), newNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	memory := make(map[peer.ID]deafness)
	for range 10 * minChecks {
		a.closeDeaf(memory)
	}
	if a.host.Network().Connectedness(b.id()) != network.Connected || len(memory) != 0 {
		t.Errorf("the watchdog bit a listener: %+v", memory)
	}
}
