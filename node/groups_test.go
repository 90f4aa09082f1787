package node

import (
	"math/rand/v2"
	"testing"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// groupRecords draws points of one of two opposite planes.
func groupRecords(random *rand.Rand, group, m int) []learner.Record {
	sign := 1 - 2*float64(group)
	out := make([]learner.Record, m)
	for i := range out {
		a, b := 0.7*float64(2*random.IntN(2)-1), 0.7*float64(2*random.IntN(2)-1)
		out[i] = learner.Record{X: []float64{a, b, 1}, Y: sign*(a-b+0.5) + 0.1*random.NormFloat64()}
	}
	return out
}

// Nodes that know nothing of each other except what they release find their own group: in
// the end every edge joins two nodes of one group, and each node has as many as it seeks.
func TestGroupsFindEachOther(t *testing.T) {
	t.Parallel()
	count, degree := 8, 2
	if testing.Short() {
		count, degree = 4, 1
	}
	task := lineTask()
	task.Graph = learner.Graph{Rule: "released", Degree: degree, Gamma: 0.5}
	random := rand.New(rand.NewPCG(31, 32))
	var nodes []*Node
	var bootstrap []string
	for i := range count {
		n := testNode(t, task, groupRecords(random, i%2, 30), func(c *datadir.Config) {
			c.Unprotected, c.Releases, c.Bootstrap, c.WakeSeconds = datadir.Consent, 0, bootstrap, 1
		})
		start(t, n)
		if i == 0 {
			bootstrap = waitForAddrs(t, n)
		}
		nodes = append(nodes, n)
	}
	group := make(map[learner.ID]int)
	for i, n := range nodes {
		waitForAddrs(t, n)
		group[gossip.ID(n.self)] = i % 2
	}
	var right, wrong, lonely int
	require.Eventually(t, "the groups have found each other", func() bool {
		right, wrong, lonely = 0, 0, 0
		for i, n := range nodes {
			mine := 0
			for _, e := range n.session.hood.forAgent() {
				if group[e.Peer] == i%2 {
					mine++
				} else {
					wrong++
				}
			}
			right += mine
			if mine < degree {
				lonely++
			}
		}
		return wrong == 0 && lonely == 0
	})
	t.Logf("%d ends of edges in the groups", right)
}
