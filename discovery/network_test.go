package discovery

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"go.uber.org/goleak"

	"p2pnode/internal/require"
)

// deadline is far more than anything here takes, on a machine with much else to do too.
const deadline = 4 * time.Minute

// hostOptions are those of a host that uses loopback TCP only.
func hostOptions(more ...libp2p.Option) []libp2p.Option {
	return append(more,
		libp2p.Transport(tcp.NewTCPTransport),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
		libp2p.DisableIdentifyAddressDiscovery(),
	)
}

// newHost returns a real host on loopback TCP, closed with the test.
func newHost(t testing.TB) host.Host {
	t.Helper()
	h, err := libp2p.New(hostOptions(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func infoOf(h host.Host) peer.AddrInfo { return peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()} }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// seen collects the peers that one node found.
type seen struct {
	mu    sync.Mutex
	peers map[peer.ID]peer.AddrInfo
}

func (s *seen) found(p peer.AddrInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers == nil {
		s.peers = make(map[peer.ID]peer.AddrInfo)
	}
	s.peers[p.ID] = p
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// discover runs n nodes that know only the first one and returns how long it
// took until each had found want others. All but the first servers are clients.
func discover(t testing.TB, n, want, servers int) time.Duration {
	t.Helper()
	hosts := make([]host.Host, n)
	for i := range hosts {
		hosts[i] = newHost(t)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	sightings := make([]seen, n)
	start := time.Now()
	for i, h := range hosts {
		c := Config{
			Network:    "test",
			Client:     i >= servers,
			Found:      sightings[i].found,
			Enough:     func() bool { return sightings[i].count() >= want },
			Logger:     quiet(),
			Interfaces: NewInterfaces(),
		}
		if i > 0 {
			c.Bootstrap = []peer.AddrInfo{infoOf(hosts[0])}
		}
		d, err := New(h, c)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	require.Nothing(t, func() string {
		for i := range sightings {
			if have := sightings[i].count(); have < want {
				return fmt.Sprintf("node %d has found %d of %d", i, have, want)
			}
		}
		return ""
	})
	return time.Since(start)
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestEveryoneFindsTenOthersThroughOneBootstrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, servers int }{{30, 1}, {12, 12}} {
		t.Run(fmt.Sprintf("nodes=%d,servers=%d", c.nodes, c.servers), func(t *testing.T) {
			t.Logf("it took %v", discover(t, c.nodes, 10, c.servers))
		})
	}
}

// TestScale measures: P2PNODE_NODES=150 P2PNODE_SERVERS=3 go test -run TestScale -v
func TestScale(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("P2PNODE_NODES"))
	if err != nil {
		t.Skip("runs nightly: set P2PNODE_NODES to the number of nodes to measure")
	}
	servers, err := strconv.Atoi(os.Getenv("P2PNODE_SERVERS"))
	if err != nil {
		servers = n
	}
	before := cpu(t)
	took := discover(t, n, 20, servers)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d nodes, %d servers: %v wall, %v CPU (with making and closing the hosts), %d MB", n, servers, took, cpu(t)-before, m.Sys>>20)
}

func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
