package discovery

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// onSide makes a host whose place in the hash table is on one side of its first branch.
func onSide(t *testing.T, right bool) host.Host {
	t.Helper()
	for {
		key, public, err := crypto.GenerateEd25519Key(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		id, err := peer.IDFromPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		if place := sha256.Sum256([]byte(id)); place[0] >= 128 != right {
			continue
		}
		h, err := libp2p.New(hostOptions(libp2p.Identity(key), libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		return h
	}
}

// A node that has all others on the other side of the first branch wants them all in one
// bucket. With buckets of eight it never came to rest: as long as it knew few, a peer that
// took another one's place made it ask all the others whether they belong there.
func TestTheTableComesToRest(t *testing.T) {
	var added atomic.Int64 // by the one, to its buckets
	var hosts []host.Host
	for i := range 15 {
		h := onSide(t, i == 0)
		table, err := newTable(h, Config{Network: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = table.close() })
		if i == 0 {
			buckets := table.dht.RoutingTable()
			before := buckets.PeerAdded
			buckets.PeerAdded = func(p peer.ID) { added.Add(1); before(p) }
		}
		for _, other := range hosts {
			if err := h.Connect(t.Context(), infoOf(other)); err != nil {
				t.Fatal(err)
			}
		}
		hosts = append(hosts, h)
	}
	seen, still := int64(0), 0
	for range 300 {
		if now := added.Load(); now != seen || now == 0 {
			seen, still = now, 0
		} else if still++; still == 10 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("after half a minute it has taken in %d peers, of 14, and goes on", seen)
}

// An address that a node gets later, as from its router or a relay, is announced soon.
func TestALaterAddressIsAnnounced(t *testing.T) {
	t.Parallel()
	var has atomic.Bool
	later := multiaddr.StringCast("/ip4/127.0.0.9/tcp/4001")
	h, err := libp2p.New(hostOptions(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.AddrsFactory(func(all []multiaddr.Multiaddr) []multiaddr.Multiaddr {
		if has.Load() {
			return append(all, later)
		}
		return all
	}))...)
	require.NoError(t, err)
	defer h.Close()
	server := newHost(t)
	c := testConfig()
	store := start(t, server, c).table.dht.ProviderStore().(*providers)
	var asked atomic.Int32 // at least once in each look
	var lonely atomic.Bool
	c.Client, c.Bootstrap, c.Enough = true, []peer.AddrInfo{infoOf(server)}, func() bool { asked.Add(1); return !lonely.Load() }
	table := start(t, h, c).table
	announced := func(want ...multiaddr.Multiaddr) func() bool {
		return func() bool {
			all, err := store.GetProviders(t.Context(), store.key)
			i := slices.IndexFunc(all, func(p peer.AddrInfo) bool { return p.ID == h.ID() })
			return err == nil && i >= 0 && !slices.ContainsFunc(want, func(a multiaddr.Multiaddr) bool { return !multiaddr.Contains(all[i].Addrs, a) })
		}
	}
	require.Eventually(t, "the node announces itself", announced(h.Addrs()...))
	has.Store(true)
	require.Eventually(t, "the node announces its new address", announced(later))

	// The others may have forgotten it while the machine slept.
	until := func() time.Time {
		store.mu.Lock()
		defer store.mu.Unlock()
		return store.known[h.ID()].until
	}
	before := until()
	c.Interfaces.announceChange()
	require.Eventually(t, "the node announces itself after the machine has woken", func() bool { return until().After(before) })

	// While there is nobody to tell, it rests longer and longer.
	require.NoError(t, server.Close())
	table.dht.RoutingTable().RemovePeer(server.ID())
	has.Store(false)
	lonely.Store(true)
	begun := asked.Load()
	time.Sleep(12 * time.Second)
	if n := asked.Load() - begun; n > 18 { // some 8; 37 if it took its new address for news each time
		t.Errorf("%d looks in twelve seconds with nobody in the table", n)
	}
}
