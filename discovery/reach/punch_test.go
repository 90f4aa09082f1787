package reach

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	holepb "github.com/libp2p/go-libp2p/p2p/protocol/holepunch/pb"
	"github.com/libp2p/go-msgio/pbio"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// Who comes through a relay names no address inside for hole punching: with those alone it is
// sent away, and with others these alone are called.
func TestNobodyPunchesHolesInside(t *testing.T) {
	inside := []string{"/ip4/127.0.0.1/tcp/6379", "/ip4/192.168.1.3/tcp/9100", "/ip6/::1/tcp/6379", "/ip6/::ffff:127.0.0.1/tcp/6379",
		"/ip6zone/eth0/ip6/fe80::1/tcp/80", "/ip4/169.254.169.254/tcp/80", "/ip4/0.0.0.0/tcp/80", "/dns4/inside.example/tcp/80", "/dns4/localhost/tcp/80"}
	relay, _ := newRelay(t, 1<<20)
	stranger := newNode(t)
	reserve(t, stranger, relay)
	r, err := New(Config{Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Announce: []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/45.0.0.1/tcp/4001")}})
	require.NoError(t, err)
	r.local = false
	node, err := r.start(func(netip.Addr, bool) bool { return false })
	require.NoError(t, err)
	defer node.Close()
	node.SetStreamHandler(echo, func(network.Stream) {}) // without it the relay carries nothing for it
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, node) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	require.Eventually(t, "the node punches holes", func() bool { return slices.Contains(node.Mux().Protocols(), holepunch.Protocol) })
	require.Nothing(t, func() string { // until the relay knows it
		node.Network().(*swarm.Swarm).Backoff().Clear(stranger.ID())
		if err := node.Connect(t.Context(), through(t, relay, stranger)); err != nil {
			return err.Error()
		}
		return ""
	})

	s, err := stranger.NewStream(network.WithAllowLimitedConn(t.Context(), "test"), node.ID(), holepunch.Protocol)
	require.NoError(t, err)
	defer s.Reset()
	require.NoError(t, s.SetDeadline(time.Now().Add(time.Minute)))
	var named []multiaddr.Multiaddr
	var raw [][]byte
	for _, a := range inside {
		named = append(named, multiaddr.StringCast(a))
		raw = append(raw, named[len(named)-1].Bytes())
	}
	require.NoError(t, pbio.NewDelimitedWriter(s).WriteMsg(&holepb.HolePunch{Type: holepb.HolePunch_CONNECT.Enum(), ObsAddrs: raw}))
	if pbio.NewDelimitedReader(s, 4096).ReadMsg(new(holepb.HolePunch)) == nil {
		t.Error("the node punches holes to addresses inside")
	}

	for i := range 2 * mostPunched {
		named = append(named, multiaddr.StringCast(fmt.Sprintf("/ip4/45.0.0.%d/udp/4001/quic-v1", i)))
	}
	want := slices.Clone(named[len(inside):][:mostPunched])
	if got := (outside{}).FilterRemote(peer.ID(""), named); !slices.EqualFunc(got, want, multiaddr.Multiaddr.Equal) {
		t.Errorf("called at %v, want %v", got, want)
	}
}

// hosts are addresses that a name stands for.
type hosts []multiaddr.Multiaddr

func (h hosts) ResolveDNSAddr(context.Context, peer.ID, multiaddr.Multiaddr, int, int) ([]multiaddr.Multiaddr, error) {
	return slices.Clone(h), nil
}

func (h hosts) ResolveDNSComponent(context.Context, multiaddr.Multiaddr, int) ([]multiaddr.Multiaddr, error) {
	return slices.Clone(h), nil
}

// To punch a hole a name stands for nothing inside, while the owner's own names may.
func TestNamesStandForNothingInsideForHolePunching(t *testing.T) {
	public := multiaddr.StringCast("/ip4/45.0.0.1/tcp/4001")
	n := Names{hosts{multiaddr.StringCast("/ip4/127.0.0.1/tcp/6379"), public, multiaddr.StringCast("/ip4/192.168.1.3/tcp/9100")}}
	punching := network.WithForceDirectDial(t.Context(), "hole-punching")
	for ctx, want := range map[context.Context]int{t.Context(): 3, punching: 1} {
		byText, err := n.ResolveDNSAddr(ctx, "", nil, 1, 9)
		require.NoError(t, err)
		byAddress, err := n.ResolveDNSComponent(ctx, nil, 9)
		require.NoError(t, err)
		for _, got := range [][]multiaddr.Multiaddr{byText, byAddress} {
			if len(got) != want || !multiaddr.Contains(got, public) {
				t.Errorf("resolved to %v", got)
			}
		}
	}

	other := newNode(t)
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.MultiaddrResolver(Names{hosts{listening(other)}}), libp2p.DisableMetrics())
	require.NoError(t, err)
	defer h.Close()
	named := peer.AddrInfo{ID: other.ID(), Addrs: []multiaddr.Multiaddr{multiaddr.StringCast("/dns4/example.org/tcp/1")}}
	if h.Connect(punching, named) == nil {
		t.Error("connected to an address inside")
	}
	require.NoError(t, h.Connect(t.Context(), named))
}
