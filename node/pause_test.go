package node

import (
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/goleak"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// A paused node ends all traffic, serves its owner, keeps its neighbours, and goes on at
// once when no reason is left.
func TestPause(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	task := lineTask()
	nodes, stop := startNetwork(t, 2, task, func(c *datadir.Config) { c.Releases = 1000 })
	defer stop()
	n, other := nodes[0], nodes[1]
	addrs := n.session.host.Addrs()
	require.Eventually(t, "the node releases", func() bool { return n.ledger.Round() > 2 })
	require.NoError(t, n.Pause(t.Context(), "metered network"), n.Pause(t.Context(), ""), n.Pause(t.Context(), ""))
	if s := status(t, n); s.Running || len(s.Paused) != 2 || s.Paused[0].Reason != "metered network" || len(s.Addrs) != 0 || s.Neighbours != 1 {
		t.Errorf("the paused node says %+v; want two reasons, no address, and the neighbour to return to", s)
	}
	round := n.ledger.Round()
	require.Eventually(t, "the other one notices", func() bool {
		return status(t, other).Listening == 0 && len(other.session.host.Network().ConnsToPeer(n.self)) == 0
	})
	require.NoError(t, n.Add(t.Context(), lineRecords(fixed(1), 5)), n.Resume(t.Context(), "metered network"))
	if n.ledger.Round() != round {
		t.Errorf("while paused the node went from round %d to round %d", round, n.ledger.Round())
	}
	if err := other.session.host.Connect(t.Context(), peer.AddrInfo{ID: n.self, Addrs: addrs}); err == nil {
		t.Error("the paused node can be called")
	}
	if s := status(t, n); s.Running || len(s.Paused) != 1 {
		t.Errorf("one of two reasons is left, and the node says %+v", s.Paused)
	}
	require.NoError(t, n.Resume(t.Context(), ""))
	require.Eventually(t, "it releases again", func() bool { return n.ledger.Round() > round })
	var kinds []string
	for _, e := range eventsUntil(t, n, "resumed") {
		kinds = append(kinds, string(e.Kind))
	}
	if told := strings.Join(kinds, " "); strings.Count(told, "paused") != 2 || !strings.Contains(told, "stopped") {
		t.Errorf("the events are %s; want both reasons once, and the end", told)
	}
}

// A pause outlives the daemon, and lets it end.
func TestPauseIsDurable(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	n := testNode(t, lineTask(), nil, nil)
	require.NoError(t, n.Pause(t.Context(), "metered network"), n.Close())
	n = openNode(t, n.dir)
	stop := start(t, n)
	eventsUntil(t, n, "paused")
	if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "paused it; it takes part again after p2pnode resume") {
		t.Errorf("why it takes no part: %v", err)
	}
	if s := status(t, n); s.Running || len(s.Paused) != 1 || time.Since(s.Paused[0].Since) > time.Minute {
		t.Errorf("after a restart the node says %+v", s)
	}
	stop()
	require.NoError(t, n.Resume(t.Context(), "something else"))
	if p := n.Paused(); len(p) != 1 {
		t.Errorf("the end of another reason leaves %+v", p)
	}
	require.NoError(t, n.Resume(t.Context(), ""), n.Close())
	n = openNode(t, n.dir)
	defer start(t, n)()
	require.Eventually(t, "running", func() bool { return status(t, n).Running })
	for _, bad := range []string{strings.Repeat("x", 101), "two\nlines", "caf\xe9"} {
		if err := n.Pause(t.Context(), bad); err == nil {
			t.Errorf("the reason %q is taken", bad)
		}
	}
}
