package discovery

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// mute makes addresses at which a connection is taken and nobody speaks.
func mute(t *testing.T, n int) (addrs []multiaddr.Multiaddr) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		addrs = append(addrs, multiaddr.StringCast(fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)))
	}
	return addrs
}

// Strangers name any number of false addresses of a wanted peer. A dial at all of them takes
// as long as it may, and fails.
func TestFalseAddressesDoNotShutAPeerOut(t *testing.T) {
	a, err := libp2p.New(hostOptions(libp2p.NoListenAddrs, libp2p.SwarmOpts(swarm.WithDialTimeoutLocal(15*time.Second)))...) // as a node's
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := newHost(t)
	k := NewKeeper(a, quiet())
	a.Peerstore().AddAddrs(b.ID(), mute(t, 4*maxAddrs), peerstore.AddressTTL)
	k.Want([]peer.AddrInfo{infoOf(b)})
	keep(t, k)
	require.Within(t, 30*time.Second, "the peer is reached", func() bool { return isConnected(a, b) })
}

// A peer that has moved is found at addresses that others name.
func TestAPeerThatMovedIsFound(t *testing.T) {
	a, b := newHost(t), newHost(t)
	k := NewKeeper(a, quiet())
	k.Want([]peer.AddrInfo{{ID: b.ID(), Addrs: mute(t, 2)}})
	a.Peerstore().AddAddrs(b.ID(), b.Addrs(), peerstore.AddressTTL)
	keep(t, k)
	require.Within(t, 30*time.Second, "the peer is reached", func() bool { return isConnected(a, b) })
}
