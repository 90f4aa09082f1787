package gossip

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// deadline is far more than anything here takes, on a machine with much else to do too.
const deadline = 4 * time.Minute

func newKey(t testing.TB) crypto.PrivKey {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newHost returns a real host on loopback TCP, closed with the test.
func newHost(t testing.TB, key crypto.PrivKey) host.Host {
	t.Helper()
	h, err := libp2p.New(
		libp2p.Identity(key),
		libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"),
		libp2p.Transport(tcp.NewTCPTransport),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
		libp2p.DisableIdentifyAddressDiscovery(),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func connect(t testing.TB, from, to host.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := from.Connect(ctx, peer.AddrInfo{ID: to.ID(), Addrs: to.Addrs()}); err != nil {
		t.Fatal(err)
	}
}

// node is a running Gossip on a host of its own.
type node struct {
	*Gossip
	host host.Host
	stop func() // ends Run and closes the host; may be called twice
}

func (n *node) id() peer.ID { return n.host.ID() }

// encode returns the bytes of a model that the node signs.
func (n *node) encode(t testing.TB, m learner.Message) []byte {
	t.Helper()
	data, err := n.config.Signer.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func declineAll(context.Context, peer.ID, EdgeRequest) EdgeReply { return EdgeReply{Reason: "test"} }

func testConfig() Config {
	return Config{
		Network: "net",
		Rules:   testRules,
		Depth:   1,
		Logger:  slog.New(slog.DiscardHandler),
		OnEdge:  declineAll,
	}
}

func newNode(t testing.TB) *node { return startNode(t, newKey(t), testConfig()) }

// startNode starts a node; the watchdog of the ordinary ones sleeps, so that a
// busy machine does not make it bite.
func startNode(t testing.TB, key crypto.PrivKey, c Config) *node {
	return startWatchful(t, key, c, time.Hour)
}

func startWatchful(t testing.TB, key crypto.PrivKey, c Config, watchEvery time.Duration) *node {
	t.Helper()
	h := newHost(t, key)
	c.Signer = NewSigner(key, c.Network)
	g, err := New(h, c)
	if err != nil {
		t.Fatal(err)
	}
	g.watchEvery = watchEvery
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
		_ = h.Close()
	})
	t.Cleanup(stop)
	return &node{Gossip: g, host: h, stop: stop}
}

// befriend connects two nodes and makes each follow the other.
func befriend(t testing.TB, a, b *node) {
	t.Helper()
	connect(t, a.host, b.host)
	for _, err := range []error{a.Follow(b.id()), b.Follow(a.id())} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// waitForListeners returns when exactly the given nodes listen to n.
func waitForListeners(t testing.TB, n *node, want ...*node) {
	t.Helper()
	ids := make([]peer.ID, len(want))
	for i, w := range want {
		ids[i] = w.id()
	}
	slices.Sort(ids)
	require.Nothing(t, func() string {
		if have := n.Listeners(); !slices.Equal(have, ids) {
			return fmt.Sprintf("%d listeners, want %d", len(have), len(ids))
		}
		return ""
	})
}

func waitForStats(t testing.TB, n *node, want func(Stats) bool) {
	t.Helper()
	require.Nothing(t, func() string {
		if s := n.Stats(); !want(s) {
			return fmt.Sprintf("the counts are %+v", s)
		}
		return ""
	})
}

func publish(t testing.TB, n *node, round uint64) {
	t.Helper()
	if err := n.Publish(t.Context(), n.encode(t, model(round, 1, 0, 0))); err != nil {
		t.Fatal(err)
	}
}

// take waits for the next messages in the inbox.
func take(t testing.TB, n *node) []learner.Message {
	t.Helper()
	select {
	case <-n.Inbox().Wake():
		return n.Inbox().Take()
	case <-time.After(deadline):
		t.Fatalf("nothing arrived; the counts are %+v", n.Stats())
		return nil
	}
}
