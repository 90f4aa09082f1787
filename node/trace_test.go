package node

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// The trace recorded on a real network, replayed into a fresh agent, gives the
// same bits (DESIGN: an agent is a function of its inputs).
func TestReplayOfRealTrace(t *testing.T) {
	t.Parallel()
	task := lineTask()
	recorders := make([]*learner.Recorder, 3)
	var seed [32]byte
	nodes := make([]*Node, len(recorders))
	stops := make([]func(), len(recorders))
	random := rand.New(rand.NewPCG(3, 4))
	fresh := func(n *Node) learner.Agent {
		a, err := learner.New(learner.Config{
			Self: gossip.ID(n.self), Task: task, Policy: n.policy, WakeMean: 0.05,
			Schedule: rand.New(rand.NewChaCha8(seed)),
		})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var bootstrap []string
	for i := range nodes {
		nodes[i] = testNode(t, task, nil, func(c *datadir.Config) { c.Bootstrap = bootstrap })
		nodes[i].observe = func(learner.Agent) learner.Agent {
			recorders[i] = &learner.Recorder{Agent: fresh(nodes[i])}
			return recorders[i]
		}
		stops[i] = start(t, nodes[i])
		require.Eventually(t, "the node listens", func() bool { bootstrap = status(t, nodes[i]).Addrs; return len(bootstrap) > 0 })
	}
	require.Eventually(t, "everybody listens to everybody", func() bool {
		for _, n := range nodes {
			if status(t, n).Listening < 2 {
				return false
			}
		}
		return true
	})
	for _, n := range nodes { // only now, or two could be done before the third is there
		if err := n.Add(t.Context(), lineRecords(random, 30)); err != nil {
			t.Fatal(err)
		}
	}
	require.Eventually(t, "all budgets used, and everybody heard", func() bool {
		for _, n := range nodes {
			if s := status(t, n); !s.Done || s.Heard < 2 {
				return false
			}
		}
		return true
	})
	for i := range nodes {
		stops[i]()
		got, want := learner.Replay(fresh(nodes[i]), recorders[i].Trace), recorders[i].State()
		if !sameState(got, want) {
			t.Errorf("node %d: the replayed state differs", i)
		}
		if want.Round != 5 || len(want.Heard) != 2 {
			t.Errorf("node %d: round %d with %d models heard, want 5 and 2", i, want.Round, len(want.Heard))
		}
	}
}

func sameState(a, b learner.State) bool {
	if a.Round != b.Round || a.NoiseStd != b.NoiseStd || !floats.Same(a.Model, b.Model) || len(a.Heard) != len(b.Heard) {
		return false
	}
	for i := range a.Heard {
		x, y := a.Heard[i], b.Heard[i]
		if x.Peer != y.Peer || x.Round != y.Round || x.Weight != y.Weight || x.NoiseStd != y.NoiseStd || !floats.Same(x.Model, y.Model) {
			return false
		}
	}
	return true
}
