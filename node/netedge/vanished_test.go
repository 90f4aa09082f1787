package netedge

import (
	"crypto/rand"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

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

// A peer that vanishes without a word is noticed by the multiplexer, even if something on
// the way answers the system's questions.
func TestAVanishedPeerIsNoticed(t *testing.T) {
	t.Parallel()
	impatient := Power{silence: 500 * time.Millisecond, answer: 500 * time.Millisecond, connections: 8, spare: 4}
	hosts := make([]host.Host, 2)
	for i := range hosts {
		key, _, err := crypto.GenerateEd25519Key(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := datadir.Config{Listen: []string{"/ip4/127.0.0.1/tcp/0"}}
		around := NewSurroundings(&c)
		r, err := c.Reach(around.Announce, false)
		if err != nil {
			t.Fatal(err)
		}
		if hosts[i], _, err = NewHost(key, r, around, impatient, datadir.Private{}, NewMeter()); err != nil {
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
	require.Eventually(t, "both ends are connected", func() bool { return up(0) && up(1) })
	w.mu.Lock()
	require.Eventually(t, "both ends notice that the other is gone", func() bool { return !up(0) && !up(1) })
	w.mu.Unlock()
}
