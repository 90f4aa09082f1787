package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"p2pnode/learner"
)

// Name is the ID of the i-th participant in the graphs of this package; names
// sort like the numbers.
func Name(i int) learner.ID { return learner.ID(fmt.Sprintf("%07d", i)) }

// RandomGraph returns the edges of n agents: symmetric, weight 1, connected,
// and of the given degree up to one or two where numbers do not come out. It is
// a random cycle, for connection, and random edges between agents that still
// have less than degree.
func RandomGraph(n, degree int, seed uint64) [][]learner.Edge {
	g := newGraph(n)
	r := rand.New(rand.NewPCG(seed, 0))
	cycle := r.Perm(n)
	for k := range cycle {
		g.join(cycle[k], cycle[(k+1)%n], 1)
	}
	for range 2 * degree {
		order := r.Perm(n)
		for k := 0; k+1 < n; k += 2 {
			if a, b := order[k], order[k+1]; len(g.edges[a]) < degree && len(g.edges[b]) < degree {
				g.join(a, b, 1)
			}
		}
	}
	return g.sorted()
}

// ProfileGraph joins each agent with the degree agents whose public profiles
// are most similar to its own, by [learner.ProfileWeight]: nearest neighbours
// in either direction, so that some have more edges. Similarities below 0.01
// make no edge.
func ProfileGraph(profiles [][]float64, degree int, gamma float64) [][]learner.Edge {
	g := newGraph(len(profiles))
	type candidate struct {
		to     int
		weight float64
	}
	for i := range profiles {
		var near []candidate
		for j := range profiles {
			if w := learner.ProfileWeight(profiles[i], profiles[j], gamma); j != i && w > 0 {
				near = append(near, candidate{j, w})
			}
		}
		slices.SortFunc(near, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.to, b.to))
		})
		for _, c := range near[:min(degree, len(near))] {
			g.join(i, c.to, c.weight)
		}
	}
	return g.sorted()
}

// graph collects symmetric edges.
type graph struct {
	edges []map[int]float64
}

func newGraph(n int) *graph {
	g := &graph{edges: make([]map[int]float64, n)}
	for i := range g.edges {
		g.edges[i] = map[int]float64{}
	}
	return g
}

func (g *graph) join(i, j int, weight float64) {
	if i != j {
		g.edges[i][j], g.edges[j][i] = weight, weight
	}
}

// sorted returns the edges with both ends alive, each list sorted by peer.
func (g *graph) sorted() [][]learner.Edge {
	all := make([][]learner.Edge, len(g.edges))
	for i, to := range g.edges {
		for j, w := range to {
			all[i] = append(all[i], learner.Edge{Peer: Name(j), Weight: w, Live: true})
		}
		slices.SortFunc(all[i], func(a, b learner.Edge) int { return cmp.Compare(a.Peer, b.Peer) })
	}
	return all
}
