package reach

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

const echo = "/p2pnode/net/echo/1"

// newRelay runs a relay for the network "net" until the test ends.
func newRelay(t *testing.T, quota int64) (host.Host, *Service) {
	t.Helper()
	traffic := new(Traffic)
	h, err := libp2p.New(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.BandwidthReporter(traffic), libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewService(h, ServiceConfig{
		Networks: []string{"net"}, Traffic: traffic, Quota: quota, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return h, s
}

// newNode is a host of the network, which sends back what it gets.
func newNode(t *testing.T) host.Host {
	t.Helper()
	h, _ := newHost(t, true)
	h.SetStreamHandler(echo, func(s network.Stream) {
		_, _ = io.Copy(s, s)
		_ = s.Close()
	})
	return h
}

// reserve asks for a place until the relay runs.
func reserve(t *testing.T, h, at host.Host) {
	t.Helper()
	require.Nothing(t, func() string {
		if _, err := client.Reserve(t.Context(), h, info(at)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// through is a node's address at a relay.
func through(t *testing.T, at, h host.Host) peer.AddrInfo {
	t.Helper()
	a, err := multiaddr.NewMultiaddr(listening(at).String() + "/p2p/" + at.ID().String() + "/p2p-circuit")
	if err != nil {
		t.Fatal(err)
	}
	return peer.AddrInfo{ID: h.ID(), Addrs: []multiaddr.Multiaddr{a}}
}

// send sends bytes to a node and waits until they are back.
func send(ctx context.Context, from host.Host, to peer.ID, data []byte) error {
	s, err := from.NewStream(ctx, to, echo)
	if err != nil {
		return err
	}
	defer s.Close()
	back := make(chan error, 1)
	go func() {
		got, err := io.ReadAll(s)
		if err == nil && !bytes.Equal(got, data) {
			err = io.ErrUnexpectedEOF
		}
		back <- err
	}()
	if _, err := s.Write(data); err != nil {
		return err
	}
	if err := s.CloseWrite(); err != nil {
		return err
	}
	return <-back
}

// A relayed connection is a connection like others: libp2p's protocols, which keep
// off those with limits, use it, and it carries more than libp2p's default of
// 128 KiB.
func TestRelayedConnection(t *testing.T) {
	at, service := newRelay(t, DefaultQuota)
	a, b := newNode(t), newNode(t)
	reserve(t, b, at)
	if err := a.Connect(t.Context(), through(t, at, b)); err != nil {
		t.Fatal(err)
	}
	if got := a.Network().Connectedness(b.ID()); got != network.Connected {
		t.Errorf("the relayed peer is %v, want connected without limits", got)
	}
	if err := send(t.Context(), a, b.ID(), make([]byte, 1<<20)); err != nil {
		t.Errorf("1 MiB does not get through: %v", err)
	}
	if s := service.Stats(); s.Places != 1 || s.Circuits != 1 || s.Bytes < 2<<20 {
		t.Errorf("%+v, want one place, one circuit and what it carried", s)
	}
}

// A peer that takes part in none of the relay's tasks gets nothing from it.
func TestRelayServesItsTasksOnly(t *testing.T) {
	at, _ := newRelay(t, DefaultQuota)
	b := newNode(t)
	reserve(t, b, at)
	stranger, _ := newHost(t, true)
	if _, err := client.Reserve(t.Context(), stranger, info(at)); err == nil {
		t.Error("a stranger gets a place")
	}
	if err := stranger.Connect(t.Context(), through(t, at, b)); err == nil {
		t.Error("a stranger gets a connection")
	}
}

// A peer that has used up its quota is disconnected and refused until the hour is
// over; the others are not.
func TestQuota(t *testing.T) {
	at, service := newRelay(t, 1<<20)
	a, b, c := newNode(t), newNode(t), newNode(t)
	reserve(t, b, at)
	reserve(t, c, at)
	if err := a.Connect(t.Context(), through(t, at, b)); err != nil {
		t.Fatal(err)
	}
	_ = send(t.Context(), a, b.ID(), make([]byte, 1<<20)) // may be cut off at once
	// Both ends of the circuit; libp2p counts once a second.
	require.Nothing(t, func() string {
		if stats := service.Stats(); stats.OverUsed != 2 {
			service.meter(service.begin.Add(time.Minute))
			return fmt.Sprintf("%+v, want two over their quota", stats)
		}
		return ""
	})
	if at.Network().Connectedness(a.ID()) == network.Connected {
		t.Error("a peer over its quota is still connected")
	}
	if err := a.Connect(t.Context(), through(t, at, c)); err == nil {
		t.Error("a peer over its quota gets a connection")
	}
	reserve(t, c, at)

	service.meter(service.begin.Add(quotaWindow))
	a.Network().(*swarm.Swarm).Backoff().Clear(c.ID())
	if err := a.Connect(t.Context(), through(t, at, c)); err != nil {
		t.Errorf("in the next hour: %v", err)
	}
}

// A peer whose counter was forgotten, since it had moved nothing for long, has one quota as before,
// whatever it moved in the hour before.
func TestQuotaOfAForgottenPeer(t *testing.T) {
	traffic := new(Traffic)
	h := newNode(t)
	service, err := NewService(h, ServiceConfig{Networks: []string{"net"}, Traffic: traffic, Quota: 100, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	service.newWindow(begin)
	traffic.LogRecvMessageStream(1000, "/p", h.ID())
	service.newWindow(begin.Add(quotaWindow))
	traffic.TrimIdle(begin)
	traffic.TrimIdle(begin)
	for _, c := range []struct {
		moved int64
		over  int
	}{{90, 0}, {20, 1}} {
		traffic.LogRecvMessageStream(c.moved, "/p", h.ID())
		service.meter(service.begin.Add(time.Minute))
		if got := service.Stats().OverUsed; got != c.over {
			t.Errorf("after %d bytes more: %d over their quota", c.moved, got)
		}
	}
}

func TestRelayNeedsItsConfiguration(t *testing.T) {
	if _, err := NewService(nil, ServiceConfig{}); err == nil {
		t.Error("a relay for nobody is made")
	}
}
