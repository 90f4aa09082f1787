package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// wideTask has a vector of so many numbers, an embedding or a small picture, and classes.
func wideTask(length, classes int) *learner.Task {
	task := lineTask()
	task.Name, task.Loss, task.Constant = "wide", "multinomial", 0
	task.Features = []learner.Feature{{Name: "v", Kind: "vector", Length: length}}
	task.Target = learner.Target{Name: "y"}
	for k := range classes {
		task.Target.Classes = append(task.Target.Classes, fmt.Sprint(k))
	}
	task.Local.EtaConstant = 0
	task.Release.Epsilon, task.Release.Releases, task.Release.WakeSeconds = 10, 2, 0.2
	return task
}

// wideRecords are of a few classes each, around centres that all have in common.
func wideRecords(random *rand.Rand, task *learner.Task, m int) []learner.Record {
	classes, length := len(task.Target.Classes), task.Width()
	own := random.Perm(classes)[:4]
	out := make([]learner.Record, m)
	for i := range out {
		k := own[random.IntN(len(own))]
		x, centre := make([]float64, length), rand.New(rand.NewPCG(uint64(k), 77))
		for j := range x {
			x[j] = centre.NormFloat64() + random.NormFloat64()
		}
		floats.Scale(1/floats.Norm(x, 2), x)
		out[i] = learner.Record{X: x, Y: float64(k)}
	}
	return out
}

// Real nodes learn models of 7,840 and of 49,152 weights: they release them with noise, hear
// each other's to the bit, fit personal models to the records and predict; and what they
// store stays small.
func TestWideModelsEndToEnd(t *testing.T) {
	t.Parallel()
	cases := []struct{ length, classes int }{{784, 10}, {768, 64}}
	if testing.Short() {
		cases = cases[:1] // the wider one takes six times as long
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%d x %d", c.length, c.classes), func(t *testing.T) {
			task := wideTask(c.length, c.classes)
			nodes, stop := startWithoutRecords(t, 3, task, func(*datadir.Config) {})
			defer stop()
			random := rand.New(rand.NewPCG(5, uint64(c.classes)))
			for _, n := range nodes {
				if err := n.Add(t.Context(), wideRecords(random, task, 60)); err != nil {
					t.Fatal(err)
				}
			}
			states := make(map[learner.ID]learner.State)
			require.Eventually(t, "all budgets are used, and the last models heard", func() bool {
				for _, n := range nodes {
					state, err := n.state()
					if err != nil {
						t.Fatal(err)
					}
					states[gossip.ID(n.self)] = state
				}
				for _, n := range nodes {
					if !status(t, n).Done || len(states[gossip.ID(n.self)].Heard) < 2 {
						return false
					}
				}
				for _, s := range states {
					for _, h := range s.Heard {
						if h.Round != states[h.Peer].Round {
							return false
						}
					}
				}
				return true
			})
			for id, s := range states {
				if len(s.Model) != c.length*c.classes || s.NoiseStd == 0 || !learner.IsSingle(s.Model) {
					t.Errorf("%s: %d weights with noise %g, in single precision: %v", id, len(s.Model), s.NoiseStd, learner.IsSingle(s.Model))
				}
				for _, h := range s.Heard {
					if !floats.Same(h.Model, states[h.Peer].Model) {
						t.Errorf("%s heard another model than %s goes on from", id, h.Peer)
					}
				}
			}
			for _, n := range nodes {
				_, message := n.ledger.Outgoing()
				// Three models and two means of them, and base64 takes a third more.
				if stored := n.ledger.State(); len(message) < 4*task.Dimension() || len(message) > 4*task.Dimension()+300 || len(stored) > 27*task.Dimension()+2000 {
					t.Errorf("a message of %d bytes, a state of %d", len(message), len(stored))
				}
			}
			checkWideFit(t, nodes[0], task.Dimension())
		})
	}
}

// checkWideFit looks at the personal model of a node.
func checkWideFit(t *testing.T, n *Node, weights int) {
	t.Helper()
	fitted, err := n.Personal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := n.records.all()
	if err != nil {
		t.Fatal(err)
	}
	if e := fitted.Score(n.files.Task, rows.train.All()).Error; !(e < 0.2) || len(fitted.Theta) != weights || math.IsNaN(fitted.Theta[0]) {
		t.Errorf("error %v on the training records of the personal model with %d weights", e, len(fitted.Theta))
	}
}
