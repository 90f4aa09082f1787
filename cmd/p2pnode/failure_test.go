package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/testnet/lab"
)

// network is daemons on hosts of a lab, everybody a neighbour of everybody.
type network struct {
	lab   *lab.Lab
	links []*lab.Link
	nodes []*daemon
	spent []float64 // of each node's budget when last looked at
}

// newLab makes a lab that goes with the test, which runs beside others.
func newLab(t *testing.T) *lab.Lab {
	t.Helper()
	inNamespaces(t)
	l, err := lab.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// newNetwork starts daemons that have all heard each other. With slow their
// cables delay; lossy cables lose that share from the beginning.
func newNetwork(t *testing.T, count int, slow *lab.Delay, lossy float64) *network {
	t.Helper()
	l := newLab(t)
	segment, err := l.Segment(netip.MustParsePrefix("10.66.0.0/24"))
	require.NoError(t, err)
	n := &network{lab: l, spent: make([]float64, count)}
	for i := range count {
		host, err := l.Host(fmt.Sprintf("host %d", i))
		require.NoError(t, err)
		join := func() (*lab.Link, error) { return host.Join(segment, segment.Addr(i+1)) }
		if slow != nil {
			join = func() (*lab.Link, error) { return host.JoinSlow(segment, segment.Addr(i+1), *slow) }
		}
		link, err := join()
		require.NoError(t, err)
		require.NoError(t, link.Lose(lossy))
		n.links = append(n.links, link)
		var flags []string
		if i > 0 {
			flags = []string{"--bootstrap", fmt.Sprintf("/ip4/%v/tcp/4001/p2p/%s", segment.Addr(1), n.nodes[0].id)}
		}
		dir := initNodeAt(t, "/ip4/0.0.0.0/tcp/4001", flags...)
		n.nodes = append(n.nodes, startWith(t, dir, n.command(t, i, dir)))
	}
	n.flows(t, 90*time.Second, "at the start")
	return n
}

// command runs node i on its host.
func (n *network) command(t *testing.T, i int, dir string) *exec.Cmd {
	return n.links[i].Host().Command(t.Context(), "p2pnode", "run", "--json", "--dir", dir)
}

// flows waits until everybody listens to everybody and has heard a model of each
// that is newer than now, and checks that no budget got smaller.
func (n *network) flows(t *testing.T, limit time.Duration, when string) {
	t.Helper()
	begin := time.Now()
	rounds := make([]uint64, len(n.nodes))
	for i, d := range n.nodes {
		rounds[i] = d.status(t).Round
	}
	require.Within(t, limit, "models flow "+when, func() bool {
		for i, d := range n.nodes {
			for k, other := range n.nodes {
				if i != k && d.heard(t, other.id) <= rounds[k] {
					return false
				}
			}
			if d.status(t).Listening != len(n.nodes)-1 {
				return false
			}
		}
		return true
	})
	t.Logf("%s: models flow from everybody to everybody after %.1f s", when, time.Since(begin).Seconds())
	for i, d := range n.nodes {
		s := d.status(t).Privacy.Spent
		if s < n.spent[i] {
			t.Errorf("%s: node %d has spent %v of its budget, before it was %v", when, i, s, n.spent[i])
		}
		n.spent[i] = s
	}
}

// silent waits until nodes have noticed that they lost the others: none of those
// listens any more.
func (n *network) silent(t *testing.T, limit time.Duration, nodes []*daemon, left int) {
	t.Helper()
	begin := time.Now()
	require.Within(t, limit, "the loss is noticed", func() bool {
		for _, d := range nodes {
			if d.status(t).Listening > left {
				return false
			}
		}
		return true
	})
	t.Logf("noticed after %.1f s", time.Since(begin).Seconds())
}

// outage is how long a network stays broken after it was noticed: nothing in the
// gate, and in P2PNODE_OUTAGE seconds in the nightly tests.
func outage(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("P2PNODE_OUTAGE")
	if text == "" {
		return 0
	}
	seconds, err := strconv.Atoi(text)
	require.NoError(t, err)
	return time.Duration(seconds) * time.Second
}

// Of the packets between two nodes a fifth is lost on the way, in either
// direction: each of the two cables loses 1 - sqrt(0.8).
func TestLabLossyNetwork(t *testing.T) {
	nightly(t)
	n := newNetwork(t, 4, nil, 0.1056)
	n.flows(t, 60*time.Second, "under 20 % loss")
}

func TestLabPartition(t *testing.T) {
	n := newNetwork(t, 4, nil, 0)
	require.NoError(t, n.lab.Block(n.links[:2], n.links[2:]))
	n.silent(t, 60*time.Second, n.nodes, 1)
	time.Sleep(outage(t))
	require.NoError(t, n.lab.Unblock())
	n.flows(t, 60*time.Second+outage(t), "after the partition")
}

// A node is killed and restarted while the others still hold its connections: the
// words with which its system closes them are lost, as when a phone loses its power
// or its place in a router's table.
func TestLabRestartWithinStaleWindow(t *testing.T) {
	nightly(t)
	n := newNetwork(t, 4, nil, 0)
	host, victim := n.links[1].Host(), n.nodes[1]
	for _, rule := range []string{"add table ip stale", "add chain ip stale out { type filter hook output priority filter; }",
		"add rule ip stale out tcp flags & (fin | rst) != 0 drop"} {
		_, err := host.Run("nft", rule)
		require.NoError(t, err)
	}
	require.NoError(t, victim.cmd.Process.Kill())
	victim.end(t)
	for i, d := range n.nodes {
		if i != 1 && d.status(t).Listening != len(n.nodes)-1 {
			t.Fatalf("node %d has noticed the kill; nothing is tested", i)
		}
	}
	n.nodes[1] = startWith(t, victim.dir, n.command(t, 1, victim.dir))
	n.flows(t, 60*time.Second, "after a restart that nobody noticed")
}

// A short cut that the connections survive, then one that they do not.
func TestLabLinkDownAndUp(t *testing.T) {
	nightly(t)
	n := newNetwork(t, 4, nil, 0)
	require.NoError(t, n.links[1].Cut())
	time.Sleep(2 * time.Second) // what is tested is a cut of that length
	require.NoError(t, n.links[1].Mend())
	n.flows(t, 60*time.Second, "after a cut of 2 s")
	require.NoError(t, n.links[1].Cut())
	n.silent(t, 60*time.Second, n.nodes[1:2], 0)
	time.Sleep(outage(t))
	require.NoError(t, n.links[1].Mend())
	n.flows(t, 60*time.Second+outage(t), "after a cut that was noticed")
}

// The node the others started from moves to an address nobody knows.
func TestLabAddressChange(t *testing.T) {
	nightly(t)
	n := newNetwork(t, 4, nil, 0)
	require.NoError(t, n.links[0].Move(netip.MustParseAddr("10.66.0.200")))
	n.flows(t, 60*time.Second, "after the address changed")
}

func TestLabSlowNetwork(t *testing.T) {
	nightly(t)
	n := newNetwork(t, 4, &lab.Delay{Latency: 100 * time.Millisecond, Jitter: 100 * time.Millisecond, Reorder: true, Rate: 64 << 10}, 0)
	n.flows(t, 60*time.Second, "over a slow network that reorders")
}
