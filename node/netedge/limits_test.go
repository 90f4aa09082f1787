package netedge

import (
	"fmt"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// callers lets so many peers call at once, each with the streams of a contributor to a
// private sum, and returns how many got all of that: handshakes are under way with all of
// them, then all identify themselves, and all keep their streams.
func callers(t *testing.T, p Power, peers int) (served int) {
	t.Helper()
	resources, err := rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(p.limits()), rcmgr.WithMetricsDisabled())
	require.NoError(t, err)
	defer resources.Close()
	var conns []network.ConnManagementScope
	for i := range peers {
		address, err := multiaddr.NewMultiaddr(fmt.Sprintf("/ip4/10.0.%d.%d/tcp/4001", i/256, i%256))
		require.NoError(t, err)
		if c, err := resources.OpenConnection(network.DirInbound, true, address); err == nil {
			conns = append(conns, c)
		}
	}
	for _, c := range conns {
		who := randomPeer(t)
		if c.SetPeer(who) != nil || c.PeerScope().ReserveMemory(memoryEach, network.ReservationPriorityAlways) != nil {
			continue
		}
		open := func(d network.Direction, name protocol.ID) bool {
			stream, err := resources.OpenStream(who, d)
			if err != nil || stream.SetProtocol(name) != nil {
				return false
			}
			return name != identify.ID || stream.SetService(identify.ServiceName) == nil
		}
		in, out := network.DirInbound, network.DirOutbound
		if open(in, identify.ID) && open(in, "gossip") && open(in, "call") && open(out, identify.ID) && open(out, "gossip") && open(out, "blob") {
			served++
		}
	}
	return served
}

// A member of a committee of a thousand contributors serves them all at once, as a relay
// does. A node that nobody comes to keeps libp2p's limits, which are a small part of that.
func TestLimitsFollowThePower(t *testing.T) {
	node := PowerOf(&datadir.Config{}, 10)
	if n := callers(t, node.Serving(1000), 1000); n != 1000 {
		t.Errorf("a member serves %d of 1000 contributors", n)
	}
	if n := callers(t, relayPower(), 4096); n != 4096 {
		t.Errorf("a relay serves %d of 4096 peers", n)
	}
	if n := callers(t, node, 10000); n > 5000 {
		t.Errorf("a node serves %d strangers of 10000", n)
	}
	if p := node.Serving(1 << 20); p.connections != node.connections+mostAtOnce {
		t.Errorf("a member keeps %d connections", p.connections)
	}
}
