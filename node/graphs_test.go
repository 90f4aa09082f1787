package node

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
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
	nodes []*Node
	graph topology
	stops []func()
}

// startGraph starts the nodes of a graph and waits until each listens to its
// neighbours. They have no records yet.
func startGraph(t *testing.T, g topology, task *learner.Task, change func(*Config)) *graphNetwork {
	t.Helper()
	w := &graphNetwork{nodes: make([]*Node, len(g)), graph: g, stops: make([]func(), len(g))}
	for i := range w.nodes {
		w.nodes[i] = testNode(t, task, nil, change)
	}
	for i, n := range w.nodes {
		for _, j := range g[i] {
			n.files.config.Neighbours = append(n.files.config.Neighbours, w.nodes[j].self.String())
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
	eventually(t, "the edges of the graph", func() bool {
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
		stored, _, err := n.store.Records()
		if err != nil {
			t.Fatal(err)
		}
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
	index := make(map[learner.ID]int)
	for i, n := range w.nodes {
		index[gossip.ID(n.self)] = i
	}
	for i, n := range w.nodes {
		state, err := n.state(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Heard) < len(w.graph[i]) {
			return 1e300
		}
		for _, h := range state.Heard {
			worst = max(worst, far(h.Model, want[index[h.Peer]]))
		}
	}
	return worst
}

// discover starts nodes that find each other from the first one's address, waits
// until each has the neighbours it seeks, and reads the graph.
func discover(t *testing.T, count int, task *learner.Task, change func(*Config)) *graphNetwork {
	t.Helper()
	w := &graphNetwork{graph: make(topology, count)}
	var bootstrap []string
	for i := range count {
		n := testNode(t, task, nil, func(c *Config) {
			c.Bootstrap = bootstrap
			change(c)
		})
		w.nodes, w.stops = append(w.nodes, n), append(w.stops, start(t, n))
		if i == 0 {
			var err error
			if bootstrap, err = n.Addrs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	index := make(map[learner.ID]int)
	for i, n := range w.nodes {
		if _, err := n.Addrs(t.Context()); err != nil {
			t.Fatal(err)
		}
		index[gossip.ID(n.self)] = i
	}
	eventually(t, "everybody has the neighbours it seeks", func() bool {
		// Whoever has enough asks for no more edges, but an answer may be on its way.
		for _, n := range w.nodes {
			if h := n.session.hood; status(t, n).Listening < task.Graph.Degree || h.hoping() {
				return false
			}
		}
		for i, n := range w.nodes {
			w.graph[i] = nil
			for _, e := range n.session.hood.edges() {
				if e.Live {
					w.graph[i] = append(w.graph[i], index[e.Peer])
				}
			}
		}
		return w.graph.symmetric()
	})
	return w
}

// hoping reports whether a request for a new edge is under way.
func (h *neighbourhood) hoping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hopes()) > len(h.links)
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
