package discovery

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
)

// run looks for nodes until the test ends, with the required fields filled in.
func run(t testing.TB, h host.Host, c Config) *seen {
	t.Helper()
	var s seen
	if c.Network == "" {
		c.Network = "test"
	}
	c.Found = s.found
	if c.Enough == nil {
		c.Enough = func() bool { return false }
	}
	c.Logger = quiet()
	if c.Interfaces == nil {
		c.Interfaces = NewInterfaces()
	}
	start(t, h, c)
	return &s
}

// start looks for nodes until the test ends.
func start(t testing.TB, h host.Host, c Config) *Discovery {
	t.Helper()
	d, err := New(h, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return d
}

// testConfig has the required fields and looks for nobody.
func testConfig() Config {
	return Config{
		Network:    "test",
		Interfaces: NewInterfaces(),
		Found:      func(peer.AddrInfo) {},
		Enough:     func() bool { return true },
		Logger:     quiet(),
	}
}

func waitForSightings(t testing.TB, s *seen, want int) {
	t.Helper()
	require.Nothing(t, func() string {
		if have := s.count(); have < want {
			return fmt.Sprintf("found %d of %d", have, want)
		}
		return ""
	})
}

func TestConfigIsChecked(t *testing.T) {
	h := newHost(t)
	for name, change := range map[string]func(*Config){
		"Network":    func(c *Config) { c.Network = "" },
		"Found":      func(c *Config) { c.Found = nil },
		"Enough":     func(c *Config) { c.Enough = nil },
		"Logger":     func(c *Config) { c.Logger = nil },
		"Interfaces": func(c *Config) { c.Interfaces = nil },
	} {
		c := testConfig()
		change(&c)
		if _, err := New(h, c); err == nil {
			t.Errorf("a configuration without %s is accepted", name)
		}
	}
}

func TestNobodyFindsItselfAndAddressesComeAlong(t *testing.T) {
	server, a, b := newHost(t), newHost(t), newHost(t)
	run(t, server, Config{})
	c := Config{Client: true, Bootstrap: []peer.AddrInfo{infoOf(server)}}
	foundByA, foundByB := run(t, a, c), run(t, b, c)
	waitForSightings(t, foundByA, 2)
	waitForSightings(t, foundByB, 2)
	foundByA.mu.Lock()
	defer foundByA.mu.Unlock()
	if _, ok := foundByA.peers[a.ID()]; ok {
		t.Error("a node found itself")
	}
	if len(foundByA.peers[b.ID()].Addrs) == 0 {
		t.Error("a node was found without addresses")
	}
}

// A bootstrap peer is found without anybody's help, also after its connection has gone.
func TestBootstrapPeersAreFound(t *testing.T) {
	h, server := newHost(t), newHost(t)
	c := testConfig()
	c.Bootstrap, c.NoTable = []peer.AddrInfo{infoOf(server)}, true
	d, err := New(h, c)
	if err != nil {
		t.Fatal(err)
	}
	h.Peerstore().ClearAddrs(server.ID())
	d.Find(t.Context(), newHost(t).ID()) // unknown
	d.Find(t.Context(), server.ID())
	if got := h.Peerstore().Addrs(server.ID()); len(got) == 0 {
		t.Error("no address is known")
	}
}

func TestNodesOfDifferentNetworksDoNotMeet(t *testing.T) {
	server, a, other := newHost(t), newHost(t), newHost(t)
	run(t, server, Config{})
	bootstrap := []peer.AddrInfo{infoOf(server)}
	run(t, other, Config{Network: "other", Bootstrap: bootstrap})
	found := run(t, a, Config{Bootstrap: bootstrap})
	waitForSightings(t, found, 1)
	waitForConnection(t, other, server, true)
	found.mu.Lock()
	defer found.mu.Unlock()
	if _, ok := found.peers[other.ID()]; ok {
		t.Error("a node of another network was found")
	}
}

// TestABootstrapThatIsLateOrLostIsDialledAgain starts the others first.
func TestABootstrapThatIsLateOrLostIsDialledAgain(t *testing.T) {
	server, a, b := newHost(t), newHost(t), newHost(t)
	info := infoOf(server)
	key := server.Peerstore().PrivKey(server.ID())
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	c := Config{Client: true, Bootstrap: []peer.AddrInfo{info}}
	found := run(t, a, c)
	run(t, b, c)
	for attempt := range 2 { // late, then lost
		ctx, cancel := context.WithCancel(t.Context())
		again, err := libp2p.New(hostOptions(libp2p.Identity(key), libp2p.ListenAddrs(info.Addrs...))...)
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(again, testConfig())
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { _ = d.Run(ctx) })
		start := time.Now()
		waitForConnection(t, a, again, true)
		waitForConnection(t, b, again, true)
		if attempt == 0 {
			waitForSightings(t, found, 1)
		}
		t.Logf("attempt %d took %v", attempt+1, time.Since(start))
		cancel()
		running.Wait()
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		waitForConnection(t, a, again, false)
	}
}

func TestLooksAreRareOnceThereAreEnough(t *testing.T) {
	server, a, b := newHost(t), newHost(t), newHost(t)
	run(t, server, Config{})
	bootstrap := []peer.AddrInfo{infoOf(server)}
	run(t, a, Config{Client: true, Bootstrap: bootstrap})
	looks := make(chan struct{}, 1000)
	enough := func() bool { looks <- struct{}{}; return true }
	run(t, b, Config{Client: true, Bootstrap: bootstrap, Enough: enough})
	<-looks
	select {
	case <-looks:
		t.Error("looked again at once")
	case <-time.After(4 * firstPause):
	}
}

func TestMDNSFindsTheNeighbour(t *testing.T) {
	if !canMulticast(t) {
		t.Skip("no interface but loopback is up and can do multicast")
	}
	a, b := newHost(t), newHost(t)
	ours := rand.Text() // other tests may run on the same local network
	foundByA, foundByB := run(t, a, Config{MDNS: true, Network: ours}), run(t, b, Config{MDNS: true, Network: ours})
	run(t, newHost(t), Config{MDNS: true, Network: rand.Text()})
	waitForSightings(t, foundByA, 1)
	waitForSightings(t, foundByB, 1)
	foundByA.mu.Lock()
	defer foundByA.mu.Unlock()
	if _, ok := foundByA.peers[b.ID()]; !ok || len(foundByA.peers) != 1 {
		t.Errorf("found %v", foundByA.peers)
	}
}

func canMulticast(t testing.TB) bool {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if addrs, err := i.Addrs(); err == nil && len(addrs) > 0 && i.Flags&net.FlagUp != 0 &&
			i.Flags&net.FlagMulticast != 0 && i.Flags&net.FlagLoopback == 0 {
			return true
		}
	}
	return false
}

func TestServiceNamesFitIntoALabel(t *testing.T) {
	for _, network := range []string{"", "short", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"} {
		if label := len(serviceName(network)) - len("._udp"); label > 63 {
			t.Errorf("%q: a label of %d characters", network, label)
		}
	}
	if serviceName("a") == serviceName("b") {
		t.Error("two networks have the same service")
	}
}
