package discovery

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// twoHosts returns two hosts, the one with the lower ID first.
func twoHosts(t *testing.T) (low, high host.Host) {
	t.Helper()
	a, b := newHost(t), newHost(t)
	if b.ID() < a.ID() {
		a, b = b, a
	}
	return a, b
}

// nowhere is the peer with an address at which nobody answers.
func nowhere(id peer.ID) peer.AddrInfo {
	return peer.AddrInfo{ID: id, Addrs: []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/127.0.0.1/tcp/1")}}
}

// After a dial that failed the higher ID waits for the lower to call.
func TestTheHigherIDWaitsToBeCalled(t *testing.T) {
	low, high := twoHosts(t)
	dialled := make(chan error, 1)
	start := time.Now()
	go func() { dialled <- Dial(t.Context(), high, nowhere(low.ID())) }()
	require.Nothing(t, func() string {
		if !high.Network().(*swarm.Swarm).Backoff().Backoff(low.ID(), nowhere(low.ID()).Addrs[0]) {
			return "the first dial has not failed yet"
		}
		return ""
	})
	if err := low.Connect(t.Context(), infoOf(high)); err != nil {
		t.Fatal(err)
	}
	if err := <-dialled; err != nil || time.Since(start) >= crossed {
		t.Errorf("after %v: %v; want success as soon as the other one has called", time.Since(start), err)
	}
}

// The lower ID dials again at once, and the swarm's back-off, which lasts for
// seconds, stops nobody.
func TestTheLowerIDDialsAgain(t *testing.T) {
	low, high := twoHosts(t)
	start := time.Now()
	err := Dial(t.Context(), low, nowhere(high.ID()))
	if err == nil || errors.Is(err, swarm.ErrDialBackoff) || time.Since(start) >= crossed {
		t.Errorf("after %v: %v; want the failure of a second dial", time.Since(start), err)
	}
	if err := Dial(t.Context(), low, infoOf(high)); err != nil {
		t.Error(err)
	}
}

// refuseFirst is a gater that refuses the first connection when it is complete.
type refuseFirst struct {
	connmgr.ConnectionGater
	asked atomic.Int32
}

func (g *refuseFirst) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) {
	return g.asked.Add(1) > 1, 0
}

// A connection that the other end refuses after the handshake is not taken for one.
func TestARefusedDialIsMadeAgain(t *testing.T) {
	gate := &refuseFirst{ConnectionGater: NewDuplicates(nil)}
	strict, err := libp2p.New(hostOptions(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.ConnectionGater(gate))...)
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	h := newHost(t)
	for h.ID() > strict.ID() { // the higher would wait to be called
		h = newHost(t)
	}
	if err := Dial(t.Context(), h, infoOf(strict)); err != nil || !isConnected(h, strict) || gate.asked.Load() != 2 {
		t.Errorf("%v after %d connections, want success with the second", err, gate.asked.Load())
	}
}
