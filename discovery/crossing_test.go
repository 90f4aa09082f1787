package discovery

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
)

// turnstile is a gater that holds completed connections back, one of each direction,
// until they are let through.
type turnstile struct {
	connmgr.ConnectionGater
	over    <-chan struct{} // the test
	arrived map[network.Direction]chan network.Conn
	pass    map[network.Direction]chan struct{}
}

func newTurnstile(over <-chan struct{}) *turnstile {
	return &turnstile{
		over:            over,
		ConnectionGater: NewDuplicates(nil), // lets everything through
		arrived:         map[network.Direction]chan network.Conn{network.DirInbound: make(chan network.Conn, 1), network.DirOutbound: make(chan network.Conn, 1)},
		pass:            map[network.Direction]chan struct{}{network.DirInbound: make(chan struct{}), network.DirOutbound: make(chan struct{})},
	}
}

func (g *turnstile) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	dir := c.Stat().Direction
	g.arrived[dir] <- c
	select {
	case <-g.pass[dir]:
	case <-g.over:
	}
	return true, 0
}

// blind is a network that has not added any connection yet.
type blind struct{ network.Network }

func (blind) ConnsToPeer(peer.ID) []network.Conn { return nil }

// end is one of two hosts whose dials cross.
type end struct {
	host.Host
	gate *turnstile
}

// crossingEnds returns two, the one with the lower ID first.
func crossingEnds(t *testing.T, sees func(network.Network) network.Network, young time.Duration) (low, high end) {
	t.Helper()
	var ends [2]end
	for i := range ends {
		gate := newTurnstile(t.Context().Done())
		gater := NewDuplicates(gate)
		gater.young = young
		h, err := libp2p.New(hostOptions(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.ConnectionGater(gater))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		gater.Guard(sees(h.Network()))
		ends[i] = end{h, gate}
	}
	if ends[1].ID() < ends[0].ID() {
		ends[0], ends[1] = ends[1], ends[0]
	}
	return ends[0], ends[1]
}

// step is the completion of one of the two connections at one of the ends.
type step struct {
	end int
	dir network.Direction
}

// opposite is the completion of the same connection at the other end.
func (s step) opposite() step {
	return step{1 - s.end, network.DirInbound + network.DirOutbound - s.dir}
}

// orders are all in which the two connections can be completed.
func orders() (all [][]step) {
	steps := []step{{0, network.DirOutbound}, {1, network.DirInbound}, {1, network.DirOutbound}, {0, network.DirInbound}}
	var grow func(order, rest []step)
	grow = func(order, rest []step) {
		if len(rest) == 0 {
			all = append(all, order)
		}
		for i := range rest {
			grow(append(slices.Clone(order), rest[i]), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	grow(nil, steps)
	return all
}

// cross makes the two dial each other and completes the connections in an order, each
// step when the one before has had its effect at both ends.
func cross(t *testing.T, ends [2]end, order []step) {
	t.Helper()
	held := make(map[step]network.Conn)
	for i, e := range ends {
		other := 1 - i
		go func() { _ = e.Connect(t.Context(), infoOf(ends[other])) }()
		held[step{i, network.DirOutbound}] = <-e.gate.arrived[network.DirOutbound]
		held[step{other, network.DirInbound}] = <-ends[other].gate.arrived[network.DirInbound]
	}
	for _, s := range order {
		c := held[s]
		close(ends[s.end].gate.pass[s.dir])
		require.Nothing(t, func() string {
			for s, c := range held {
				if c.IsClosed() != held[s.opposite()].IsClosed() {
					return "only one end has closed"
				}
			}
			if !c.IsClosed() && !slices.Contains(ends[s.end].Network().ConnsToPeer(c.RemotePeer()), c) {
				return "nothing has come of a completed connection"
			}
			return ""
		})
	}
}

// TestOneConnectionIsLeft completes two crossing connections in every order: at once,
// so that none has been added when the other is decided on, and so late that each
// seems to replace the other.
func TestOneConnectionIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sees  func(network.Network) network.Network
		young time.Duration
	}{
		"at once":     {func(n network.Network) network.Network { return blind{n} }, lasting},
		"one by one":  {func(n network.Network) network.Network { return n }, lasting},
		"very slowly": {func(n network.Network) network.Network { return n }, 0},
	} {
		for _, order := range orders() {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				low, high := crossingEnds(t, c.sees, c.young)
				cross(t, [2]end{low, high}, order)
				require.Nothing(t, func() string {
					if a, b := len(low.Network().ConnsToPeer(high.ID())), len(high.Network().ConnsToPeer(low.ID())); a != 1 || b != 1 {
						return fmt.Sprintf("%d and %d connections, want one", a, b)
					}
					return ""
				})
			})
		}
	}
}
