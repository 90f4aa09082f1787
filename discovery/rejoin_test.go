package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/require"
)

// TestALonelyNodeDialsWhomItRemembers remembers six peers that are gone and one
// that is there, and loses it.
func TestALonelyNodeDialsWhomItRemembers(t *testing.T) {
	t.Parallel()
	a, b := newHost(t), newHost(t)
	var list []peer.AddrInfo
	for range 6 {
		gone := newHost(t)
		list = append(list, infoOf(gone))
		if err := gone.Close(); err != nil {
			t.Fatal(err)
		}
	}
	list = append(list, infoOf(b))
	var mu sync.Mutex
	var failed []peer.ID
	found := run(t, a, Config{
		Remembered: func() []peer.AddrInfo { return list },
		Tried: func(_, silent []peer.ID) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, silent...)
		},
	})
	waitForSightings(t, found, 1)
	waitForConnection(t, a, b, true)
	require.Nothing(t, func() string { // it is told after the last dial
		mu.Lock()
		defer mu.Unlock()
		if len(failed) < 6 {
			return fmt.Sprintf("%d peers are said to be gone", len(failed))
		}
		return ""
	})
	mu.Lock()
	for _, p := range list[:6] {
		if n := len(slices.DeleteFunc(slices.Clone(failed), func(q peer.ID) bool { return q != p.ID })); n != 1 {
			t.Errorf("%s was dialled %d times", p.ID, n)
		}
	}
	mu.Unlock()
	closePeer(t, a, b.ID())
	waitForConnection(t, a, b, true)
}

func TestReasonsArePlainWords(t *testing.T) {
	a, b := newHost(t), newHost(t)
	wrong := peer.AddrInfo{ID: newHost(t).ID(), Addrs: b.Addrs()}
	mismatch := connect(t.Context(), a, wrong)
	at := func(where string) error { // somebody else each time: hosts remember addresses
		return connect(t.Context(), a, peer.AddrInfo{ID: newHost(t).ID(), Addrs: addrsOf(t, where)})
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{mismatch, "another node answers at that address, " + b.ID().String()},
		{at("/ip4/127.0.0.1/tcp/1"), "nothing listens at that address: the node is not running, or listens on another port"},
		{at("/ip4/127.0.0.1/udp/1/quic-v1"), "that kind of address needs a transport this node does not have"},
		{connect(t.Context(), a, peer.AddrInfo{ID: newHost(t).ID()}), "none of its addresses can be dialled from here: it has none, a name in them is not known, or they need a transport this node does not have"},
		{context.DeadlineExceeded, "no answer: the machine is off, the address is wrong, a router or firewall lets nothing in, or only one end has a network key"},
		{&swarm.TransportError{Cause: syscall.ENETUNREACH}, "there is no route to that address: this machine is offline, or in another network"},
		{fmt.Errorf("dial: %w", &net.DNSError{Name: "p2pnode.test"}), "the name p2pnode.test cannot be resolved"},
		{sec.ErrPeerIDMismatch{Actual: a.ID()}, "another node answers at that address, " + a.ID().String()},
		{errors.New("broken"), "broken"},
		{errors.New("failed to dial:\n  * one\n  * another"), "failed to dial: * one * another"},
	} {
		if got := Reason(c.err); got != c.want {
			t.Errorf("%v\nis said as: %s\nwant: %s", c.err, got, c.want)
		}
	}
}

// That this node stops while it dials a peer says nothing about the peer.
func TestADialThatIsGivenUpIsNoMiss(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts nothing, and so says nothing
	require.NoError(t, err)
	defer silent.Close()
	at, err := manet.FromNetAddr(silent.Addr())
	require.NoError(t, err)
	h, up, gone := newHost(t), newHost(t), newHost(t)
	require.NoError(t, gone.Close())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Config{Found: func(peer.AddrInfo) { cancel() }} // the node stops when it has found one
	reached, failed := tryAll(ctx, h, c, []peer.AddrInfo{infoOf(up), {ID: gone.ID(), Addrs: []multiaddr.Multiaddr{at}}})
	if len(reached) != 1 || len(failed) != 0 {
		t.Errorf("%d peers were reached, and %d are said to be gone", len(reached), len(failed))
	}
}
