package node

import (
	crand "crypto/rand"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"p2pnode/node/datadir"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"
)

func TestNodesOfLowPowerLearn(t *testing.T) {
	t.Parallel()
	server := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 30), nil)
	start(t, server)
	from := waitForAddrs(t, server)
	for seed := range uint64(2) {
		low := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(2, seed)), 30), func(c *datadir.Config) {
			c.SetPower(datadir.PowerLow)
			c.Bootstrap = from
		})
		start(t, low)
		eventually(t, "a node of low power uses its budget and hears others", func() bool {
			s := status(t, low)
			return s.Done && s.Heard > 0
		})
	}
}

func TestLowPowerGoesWithWhatItNeeds(t *testing.T) {
	c := datadir.DefaultConfig(lineTask())
	c.SetPower(datadir.PowerLow)
	if c.MDNS || c.DHT != "client" {
		t.Errorf("mdns %v, dht %q", c.MDNS, c.DHT)
	}
	c.SetPower("high")
	if err := c.Validate(lineTask()); err == nil {
		t.Error("a power that is none is taken")
	}
}

// wire is a TCP connection between a host and another that can be cut without
// either end being told.
type wire struct {
	listener net.Listener
	mu       sync.Mutex // held while the wire is cut
}

func newWire(t *testing.T, to net.Addr) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", to.String())
		if err != nil {
			near.Close()
			return
		}
		carrying.Go(func() { w.carry(near, far) })
		w.carry(far, near)
	})
	t.Cleanup(func() { listener.Close(); carrying.Wait() })
	return w
}

func (w *wire) carry(to io.WriteCloser, from io.ReadCloser) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		_, failed := to.Write(buffer[:n])
		w.mu.Unlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// A peer that vanishes without a word is noticed by the transport alone.
func TestAVanishedPeerIsNoticed(t *testing.T) {
	t.Parallel()
	impatient := power{silence: 500 * time.Millisecond, answer: 500 * time.Millisecond, connections: 8, spare: 4}
	hosts := make([]host.Host, 2)
	for i := range hosts {
		key, _, err := crypto.GenerateEd25519Key(crand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		n := testNode(t, lineTask(), nil, nil)
		r, err := n.files.Config.Reach(n.surroundings.announce, false)
		if err != nil {
			t.Fatal(err)
		}
		if hosts[i], err = newHost(key, r, n.surroundings, impatient, datadir.Private{}, metrics.NewBandwidthCounter()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { hosts[i].Close() })
	}
	address, err := manet.ToNetAddr(hosts[1].Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, address)
	through, err := manet.FromNetAddr(w.listener.Addr())
	if err != nil {
		t.Fatal(err)
	}
	err = hosts[0].Connect(t.Context(), peer.AddrInfo{ID: hosts[1].ID(), Addrs: append(hosts[1].Addrs()[:0:0], through)})
	if err != nil {
		t.Fatal(err)
	}
	up := func(i int) bool { return len(hosts[i].Network().Conns()) > 0 }
	eventually(t, "both ends are connected", func() bool { return up(0) && up(1) })
	w.mu.Lock()
	eventually(t, "both ends notice that the other is gone", func() bool { return !up(0) && !up(1) })
	w.mu.Unlock()
}
