package node

import (
	"math/rand/v2"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// A node that leaves does not stop the others, and when it comes back it goes on
// with them: all reach the fixed point of all.
func TestLeavingAndJoining(t *testing.T) {
	t.Parallel()
	count, names := 4, []string{"propagation", "diffusion", "km"}
	if testing.Short() {
		count, names = 3, names[1:2] // few messages; a node that leaves holds up rounds most
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := learnerTask(name)
			task.Rounds.Seconds /= 5
			w := startGraph(t, full(count), task, func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 0 })
			defer w.stop()
			training := w.addRecords(t, rand.New(rand.NewPCG(13, 14)), 15)
			if name == "propagation" {
				propagated(t, task, w, training) // waits for the releases
			}
			rounds := w.rounds(t)
			require.Eventually(t, "a few rounds", func() bool { return w.ahead(t, rounds, 3) || name == "propagation" })

			gone := count - 1
			dir := w.nodes[gone].dir
			w.stops[gone]()
			if err := w.nodes[gone].Close(); err != nil {
				t.Fatal(err)
			}
			rest := &graphNetwork{nodes: w.nodes[:gone], graph: full(gone)}
			rounds = rest.rounds(t)
			require.Eventually(t, "the others go on", func() bool { return rest.ahead(t, rounds, 10) || name == "propagation" })

			n := openNode(t, dir)
			for _, other := range rest.nodes {
				n.files.Config.Neighbours = append(n.files.Config.Neighbours, other.self.String())
			}
			w.nodes[gone], w.stops[gone] = n, start(t, n)
			w.introduce(t)
			w.converge(t, published(t, task, w, training))
		})
	}
}

func (w *graphNetwork) rounds(t *testing.T) []uint64 {
	t.Helper()
	out := make([]uint64, len(w.nodes))
	for i, n := range w.nodes {
		out[i] = status(t, n).Round
	}
	return out
}

// ahead reports whether every node is that many rounds further.
func (w *graphNetwork) ahead(t *testing.T, than []uint64, by uint64) bool {
	t.Helper()
	for i, r := range w.rounds(t) {
		if r < than[i]+by {
			return false
		}
	}
	return true
}

// A run of a number of rounds ends with them, at the same round everywhere.
func TestRunsEnd(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"diffusion", "km"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := learnerTask(name)
			task.Rounds.Count = 7
			w := startGraph(t, ring(4), task, func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 0 })
			defer w.stop()
			w.addRecords(t, rand.New(rand.NewPCG(15, 16)), 15)
			require.Eventually(t, "the last round", func() bool { return w.ahead(t, make([]uint64, 4), 7) })
			for i, r := range w.rounds(t) {
				if r != 7 {
					t.Errorf("node %d ends at round %d", i, r)
				}
			}
		})
	}
}

// The same with protection: every round is a release, until the budget is used, and all
// messages wait for the public slots.
func TestProtectedRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		learner, form string
		change        func(t *learner.Task, form string)
	}{
		{"diffusion", "iid", func(*learner.Task, string) {}},
		{"diffusion", "transmit-only", func(t *learner.Task, form string) { t.Diffusion.Noise = form }},
		{"diffusion", "graph-homomorphic", func(t *learner.Task, form string) { t.Diffusion.Noise = form }},
		{"km", "gradient", func(*learner.Task, string) {}},
		{"km", "douglas-rachford", func(t *learner.Task, form string) { t.KM.Operator = form }},
		{"propagation", "", func(*learner.Task, string) {}},
	} {
		t.Run(c.learner+"/"+c.form, func(t *testing.T) {
			t.Parallel()
			task := learnerTask(c.learner)
			c.change(task, c.form)
			w := startGraph(t, ring(3), task, nil)
			defer w.stop()
			w.addRecords(t, rand.New(rand.NewPCG(17, 18)), 30)
			require.Eventually(t, "all budgets used", func() bool {
				for _, n := range w.nodes {
					if !status(t, n).Done {
						return false
					}
				}
				return true
			})
			for i, n := range w.nodes {
				b, err := n.Budget(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if b.Unbounded || len(b.Cohorts) != 1 || b.Cohorts[0].Releases < 1 || b.Cohorts[0].Spent > 1 {
					t.Errorf("node %d: budget %+v", i, b)
				}
			}
		})
	}
}
