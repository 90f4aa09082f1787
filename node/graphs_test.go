package node

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"gonum.org/v1/gonum/floats"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/peering"
)

// topology lists the neighbours of each node.
type topology [][]int

func ring(n int) topology {
	g := make(topology, n)
	for i := range g {
		g[i] = []int{(i + n - 1) % n, (i + 1) % n}
	}
	return g
}

func star(n int) topology {
	g := make(topology, n)
	for i := 1; i < n; i++ {
		g[0], g[i] = append(g[0], i), []int{0}
	}
	return g
}

func full(n int) topology {
	g := make(topology, n)
	for i := range g {
		for j := range g {
			if j != i {
				g[i] = append(g[i], j)
			}
		}
	}
	return g
}

// graphNetwork is running nodes with the edges of a graph and no others.
type graphNetwork struct {
	nodes  []*Node
	graph  topology
	stops  []func()
	asking []*atomic.Int32    // requests for new edges that each has under way
	index  map[learner.ID]int // of each node
}

// add takes in a node that does not run yet.
func (w *graphNetwork) add(n *Node) {
	w.index[gossip.ID(n.self)] = len(w.nodes)
	w.nodes = append(w.nodes, n)
	w.watch(n)
}

// watch counts the requests for new edges that a node has under way; only those say
// where their peer is.
func (w *graphNetwork) watch(n *Node) {
	asking, open := new(atomic.Int32), make(map[learner.ID]bool)
	n.observePeering = func(_ time.Duration, in peering.Input, out peering.Output) {
		if over, ok := in.(peering.Answered); ok {
			delete(open, over.From)
		}
		for _, c := range out.Calls {
			if c.Kind == peering.Ask && c.To.Passport != nil {
				open[c.To.Peer] = true
			}
		}
		asking.Store(int32(len(open)))
	}
	w.asking = append(w.asking, asking)
}

// startGraph starts the nodes of a graph and waits until each listens to its
// neighbours. They have no records yet.
func startGraph(t *testing.T, g topology, task *learner.Task, change func(*datadir.Config)) *graphNetwork {
	t.Helper()
	w := &graphNetwork{graph: g, stops: make([]func(), len(g)), index: make(map[learner.ID]int)}
	for range g {
		w.add(testNode(t, task, nil, change))
	}
	for i, n := range w.nodes {
		for _, j := range g[i] {
			n.files.Config.Neighbours = append(n.files.Config.Neighbours, w.nodes[j].self.String())
		}
		w.stops[i] = start(t, n)
	}
	w.introduce(t)
	w.listen(t)
	return w
}

// listen waits until each node listens to its neighbours and has no others.
func (w *graphNetwork) listen(t *testing.T) {
	t.Helper()
	require.Eventually(t, "the edges of the graph", func() bool {
		for i, n := range w.nodes {
			if s := status(t, n); s.Listening != len(w.graph[i]) || s.Neighbours != len(w.graph[i]) {
				return false
			}
		}
		return true
	})
}

// introduce tells the nodes each other's addresses, as discovery would.
func (w *graphNetwork) introduce(t *testing.T) {
	t.Helper()
	infos := make([]peer.AddrInfo, len(w.nodes))
	for i, n := range w.nodes {
		if _, err := n.Addrs(t.Context()); err != nil {
			t.Fatal(err)
		}
		infos[i] = peer.AddrInfo{ID: n.self, Addrs: n.session.host.Addrs()}
	}
	for _, n := range w.nodes {
		for _, info := range infos {
			n.session.hood.found(info)
		}
	}
}

// addRecords gives every node records of its own, and returns those it trains on.
func (w *graphNetwork) addRecords(t *testing.T, random *rand.Rand, least int) [][]learner.Record {
	t.Helper()
	training := make([][]learner.Record, len(w.nodes))
	for i, n := range w.nodes {
		if err := n.Add(t.Context(), lineRecords(random, least+random.IntN(20))); err != nil {
			t.Fatal(err)
		}
		stored, _ := storedRecords(t, n)
		for _, r := range stored {
			if !r.Seq.HeldOut() {
				training[i] = append(training[i], r)
			}
		}
	}
	return training
}

// distance is that of the newest models the neighbours have heard of each node, the worst
// of them; huge while some are missing.
func (w *graphNetwork) distance(t *testing.T, want [][]float64, far func(got, want []float64) float64) (worst float64) {
	t.Helper()
	for i, n := range w.nodes {
		state, err := n.state()
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Heard) < len(w.graph[i]) {
			return 1e300
		}
		for _, h := range state.Heard {
			worst = max(worst, far(h.Model, want[w.index[h.Peer]]))
		}
	}
	return worst
}

// discover starts nodes that find each other from the first one's address, waits
// until each has the neighbours it seeks, and reads the graph.
func discover(t *testing.T, count int, task *learner.Task, change func(*datadir.Config)) *graphNetwork {
	t.Helper()
	w := &graphNetwork{graph: make(topology, count), index: make(map[learner.ID]int)}
	var bootstrap []string
	for i := range count {
		n := testNode(t, task, nil, func(c *datadir.Config) {
			c.Bootstrap = bootstrap
			change(c)
		})
		w.add(n)
		w.stops = append(w.stops, start(t, n))
		if i == 0 {
			var err error
			if bootstrap, err = n.Addrs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range w.nodes {
		if _, err := n.Addrs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	require.Eventually(t, "everybody has the neighbours it seeks", func() bool { return w.settled(task.Graph.Degree) })
	return w
}

// settled reads the graph, and reports whether it will stay as it is while nobody loses a
// neighbour. A node that has enough neighbours asks for no more, but an answer may be on
// its way; and an edge that nobody listens over yet, or that one end alone knows of, soon
// carries models as all others do.
func (w *graphNetwork) settled(degree int) bool {
	for i, n := range w.nodes {
		if w.asking[i].Load() > 0 {
			return false
		}
		w.graph[i] = nil
		for _, e := range n.session.hood.forAgent() {
			if !e.Live {
				return false
			}
			w.graph[i] = append(w.graph[i], w.index[e.Peer])
		}
		if len(w.graph[i]) < degree {
			return false
		}
	}
	return w.graph.symmetric()
}

// An edge that both ends agreed on and that carries nothing yet is not left out of the
// graph, however many others there are: as soon as it does, the fixed point is another.
func TestGraphWithASilentEdgeIsNotSettled(t *testing.T) {
	t.Parallel()
	w := startGraph(t, full(3), lineTask(), nil)
	defer w.stop()
	settled := func() bool { return w.settled(1) }
	require.Eventually(t, "the graph is settled", settled)
	a, b := w.nodes[0], w.nodes[1]
	silence := func(from, to *Node) {
		if err := from.session.gossip.Unfollow(to.self); err != nil {
			t.Fatal(err)
		}
		require.Eventually(t, "nobody listens over the edge", func() bool {
			return !slices.Contains(to.session.gossip.Listeners(), from.self)
		})
	}
	silence(a, b)
	silence(b, a)
	if settled() {
		t.Errorf("settled as %v, and two ends hold an edge that is not in it", w.graph)
	}
	for from, to := range map[*Node]*Node{a: b, b: a} {
		if err := from.session.gossip.Follow(to.self); err != nil {
			t.Fatal(err)
		}
	}
	require.Eventually(t, "the graph is settled again", settled)
}

func (g topology) symmetric() bool {
	for i := range g {
		for _, j := range g[i] {
			if !slices.Contains(g[j], i) {
				return false
			}
		}
	}
	return true
}

// explain says what keeps a network from the given models: edges that are not those of
// the graph, and who lacks whose newest.
func (w *graphNetwork) explain(t *testing.T, want [][]float64) {
	t.Helper()
	states := make([]learner.State, len(w.nodes))
	for i, n := range w.nodes {
		var err error
		if states[i], err = n.state(); err != nil {
			t.Error(err)
			return
		}
	}
	for i, n := range w.nodes {
		t.Logf("node %d: round %d, %.2g from its model; the graph says %v", i, states[i].Round,
			floats.Distance(states[i].Model, want[i], 2)/floats.Norm(want[i], 2), w.graph[i])
		for _, e := range n.session.hood.forAgent() {
			j, heard := w.index[e.Peer], uint64(0)
			for _, m := range states[i].Heard {
				if m.Peer == e.Peer {
					heard = m.Round
				}
			}
			t.Logf("  node %d: in the graph %v, listens %v, heard round %d of %d", j, slices.Contains(w.graph[i], j), e.Live, heard, states[j].Round)
		}
	}
}
