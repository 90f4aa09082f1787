package node

import (
	"context"
	"runtime"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
)

// The most streams that one peer can hold open at a node: what the resource manager
// gives a peer.
const maxStreams = 512

// A peer that opens every stream it can, on every protocol of the node, and never
// finishes a message, gets a limited number of streams, and the node continues to learn.
func TestAFloodOfStreamsIsBounded(t *testing.T) {
	t.Parallel()
	nodes, stop := startNetwork(t, 2, lineTask(), func(*datadir.Config) {})
	defer stop()
	victim := nodes[0]
	attacker, err := libp2p.New(libp2p.NoListenAddrs, libp2p.Transport(tcp.NewTCPTransport), libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery())
	if err != nil {
		t.Fatal(err)
	}
	defer attacker.Close()
	target := peer.AddrInfo{ID: victim.self, Addrs: victim.session.host.Addrs()}
	require.Eventually(t, "the attacker connects", func() bool { return attacker.Connect(t.Context(), target) == nil })
	protocols, err := attacker.Peerstore().GetProtocols(victim.self)
	if err != nil || len(protocols) < 4 {
		t.Fatalf("it speaks %v, %v", protocols, err)
	}
	tries := 120 // of each protocol
	if testing.Short() {
		tries = maxStreams/len(protocols) + 5 // more than may be held, still
	}
	before := runtime.NumGoroutine()
	opened, most, goroutines := 0, 0, 0
	for _, p := range protocols {
		for range tries {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			s, err := attacker.NewStream(ctx, victim.self, p)
			cancel()
			if err != nil {
				if attacker.Connect(t.Context(), target) != nil {
					break // it has had enough
				}
				continue
			}
			_, _ = s.Write([]byte{0xff, 0xff, 0x03, 0})
			opened++
			held := 0
			for _, c := range victim.session.host.Network().ConnsToPeer(attacker.ID()) {
				held += len(c.GetStreams())
			}
			most, goroutines = max(most, held), max(goroutines, runtime.NumGoroutine()-before)
		}
	}
	t.Logf("%d protocols: %d streams opened, at most %d held, %d goroutines more", len(protocols), opened, most, goroutines)
	if most > maxStreams {
		t.Errorf("one peer holds %d streams", most)
	}
	require.Eventually(t, "all that was released arrives", func() bool {
		a, b := status(t, nodes[0]), status(t, nodes[1])
		return a.Done && b.Done && a.Traffic.Delivered == b.Traffic.Expected && b.Traffic.Delivered == a.Traffic.Expected
	})
}
