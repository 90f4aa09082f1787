package node

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// learnerTask is lineTask for another learner.
func learnerTask(name string) *learner.Task {
	task := lineTask()
	task.Name, task.Learner = "line by "+name, name
	rounds := learner.Rounds{Seconds: 5, Step: 0.2}
	switch name {
	case "propagation":
		task.Propagation = learner.Propagation{Ridge: 0.5, Tolerance: 1e-9}
		task.Release.Releases, task.Release.MaxReleases = 1, 1
		task.Release.WakeSeconds = 0.02
	case "diffusion":
		task.Rounds, task.Diffusion = rounds, learner.Diffusion{Noise: "iid"}
	case "km":
		task.Rounds, task.KM = rounds, learner.KM{Operator: "gradient", Relaxation: 1}
	}
	return task
}

// degrees and Metropolis weights of a graph.
func metropolis(g topology, i, j int) float64 { return 1 / (1 + float64(max(len(g[i]), len(g[j])))) }

// mix is sum over l of a_lk x_l, a_kk included.
func (g topology) mix(x [][]float64, k int) []float64 {
	out, self := make([]float64, len(x[k])), 1.0
	for _, l := range g[k] {
		a := metropolis(g, k, l)
		floats.AddScaled(out, a, x[l])
		self -= a
	}
	floats.AddScaled(out, self, x[k])
	return out
}

// descent is x less step times the gradient of the local objective (squared loss,
// Bellet et al. 2018, eq. 1) at x.
func descent(task *learner.Task, records []learner.Record, x []float64) []float64 {
	m, step := float64(len(records)), task.Rounds.Step
	out := slices.Clone(x)
	floats.AddScaled(out, -step*2*task.Lambda/m, x)
	for _, r := range records {
		floats.AddScaled(out, step*2*(r.Y-floats.Dot(x, r.X))/m, r.X)
	}
	return out
}

// fixedPoint is the plain iteration of the whole network, without messages, until
// nothing moves.
func fixedPoint(n, p int, step func(x [][]float64, k int) []float64) [][]float64 {
	x := make([][]float64, n)
	for k := range x {
		x[k] = make([]float64, p)
	}
	for moved := 1.0; moved > 1e-15; {
		next := make([][]float64, n)
		moved = 0
		for k := range x {
			next[k] = step(x, k)
			moved = max(moved, floats.Distance(next[k], x[k], math.Inf(1)))
		}
		x = next
	}
	return x
}

// published is the fixed point of what the nodes publish, by learner. Diffusion
// (Vlaski and Sayed, eq. 3-4) publishes phi = adapt(w), w the mix of the phi; km
// (DP-dKM, algorithm 1) publishes the mix plus alpha times what T moves.
func published(t *testing.T, task *learner.Task, w *graphNetwork, training [][]learner.Record) [][]float64 {
	g, p := w.graph, task.Dimension()
	switch task.Learner {
	case "diffusion":
		return fixedPoint(len(g), p, func(x [][]float64, k int) []float64 {
			return descent(task, training[k], g.mix(x, k))
		})
	case "km":
		return fixedPoint(len(g), p, func(x [][]float64, k int) []float64 {
			next := g.mix(x, k)
			floats.AddScaled(next, task.KM.Relaxation, descent(task, training[k], x[k]))
			floats.AddScaled(next, -task.KM.Relaxation, x[k])
			return next
		})
	}
	return propagated(t, task, w, training)
}

// propagated solves Bellet et al. 2018, eq. 15, for the local models that the
// nodes have released.
func propagated(t *testing.T, task *learner.Task, w *graphNetwork, training [][]learner.Record) [][]float64 {
	t.Helper()
	local := make([][]float64, len(w.nodes))
	require.Eventually(t, "every node has released its local model", func() bool {
		for i, n := range w.nodes {
			state, err := n.state()
			if err != nil {
				t.Fatal(err)
			}
			if state.Fit == nil {
				return false
			}
			local[i] = state.Fit.Model
		}
		return true
	})
	return fixedPoint(len(w.graph), task.Dimension(), func(x [][]float64, k int) []float64 {
		mean, weight := make([]float64, len(x[k])), task.Mu*min(1, float64(len(training[k]))/float64(task.ConfidenceAt))
		for _, l := range w.graph[k] {
			floats.AddScaled(mean, 1/float64(len(w.graph[k])), x[l])
		}
		floats.AddScaled(mean, weight, local[k])
		floats.Scale(1/(1+weight), mean)
		return mean
	})
}

// Without noise the learners reach, over real libp2p, the fixed point of their
// own schemes to 1e-6 relative, on the ring, the star and the full graph.
func TestLearnersReachTheirFixedPoints(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	graphs := map[string]topology{"ring": ring(5), "star": star(5), "full": full(4)}
	if testing.Short() {
		graphs = map[string]topology{"ring": ring(4)}
	}
	t.Run("on", func(t *testing.T) { // returns when all parallel tests in it have
		for graphName, g := range graphs {
			for _, name := range []string{"propagation", "diffusion", "km"} {
				t.Run(graphName+"/"+name, func(t *testing.T) {
					t.Parallel()
					reachFixedPoint(t, learnerTask(name), g)
				})
			}
		}
	})
}

// The same on a graph that nobody drew: each node looks for 4 neighbours and has at most 8,
// too few to be clipped (see learner/clippedgossip.go).
func TestLearnersReachTheirFixedPointsOnADiscoveredGraph(t *testing.T) {
	t.Parallel()
	learners, nodes, degree := []string{"propagation", "diffusion", "km"}, 10, 4
	if testing.Short() {
		learners, nodes, degree = learners[:1], 7, 3 // ten nodes each under the race detector take minutes
	}
	for _, name := range learners {
		t.Run(name, func(t *testing.T) {
			task := learnerTask(name)
			task.Graph.Degree = degree
			w := discover(t, nodes, task, func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 0 })
			defer w.stop()
			training := w.addRecords(t, rand.New(rand.NewPCG(27, 28)), 15)
			w.settle(t, task, training)
		})
	}
}

func reachFixedPoint(t *testing.T, task *learner.Task, g topology) {
	w := startGraph(t, g, task, func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 0 })
	defer w.stop()
	training := w.addRecords(t, rand.New(rand.NewPCG(11, 12)), 15)
	w.converge(t, published(t, task, w, training))
}

// converge waits until all that was heard is the given models, to 1e-6 relative.
func (w *graphNetwork) converge(t *testing.T, want [][]float64) {
	t.Helper()
	defer func() {
		if t.Failed() {
			w.explain(t, want)
		}
	}()
	var worst float64
	require.Eventually(t, "the fixed point", func() bool {
		worst = w.distance(t, want, relative)
		return worst < 1e-6
	})
	state, err := w.nodes[0].state()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("round %d, largest relative distance to the fixed point %.2g; %d edges dropped, %d asymmetric",
		state.Round, worst, state.Dropped, state.Asymmetric)
}

// settle waits until all that was heard is the fixed point of the graph there is, as
// converge does. On a busy machine a node may lose a neighbour and look for another: then
// the graph has a new fixed point.
func (w *graphNetwork) settle(t *testing.T, task *learner.Task, training [][]learner.Record) {
	t.Helper()
	var graph topology
	var want [][]float64
	defer func() {
		if t.Failed() && want != nil {
			w.explain(t, want)
		}
	}()
	require.Eventually(t, "the fixed point of the graph", func() bool {
		if !w.settled(task.Graph.Degree) {
			return false
		}
		if !slices.EqualFunc(graph, w.graph, slices.Equal) {
			graph = make(topology, len(w.graph))
			for i := range graph {
				graph[i] = slices.Clone(w.graph[i])
			}
			want = published(t, task, w, training)
		}
		return w.distance(t, want, relative) < 1e-6
	})
}

// relative is how far two models are from each other, as a part of the second.
func relative(got, want []float64) float64 {
	return floats.Distance(got, want, 2) / floats.Norm(want, 2)
}

func (w *graphNetwork) stop() {
	for _, stop := range w.stops {
		stop()
	}
}
