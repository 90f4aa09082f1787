package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"p2pnode/learner"
)

// Name is the ID of the i-th participant in the graphs of this package; names
// sort like the numbers.
func Name(i int) learner.ID { return learner.ID(fmt.Sprintf("%07d", i)) }

// Number is the i of a name of [Name].
func Number(id learner.ID) int {
	var i int
	for _, digit := range []byte(id) {
		i = 10*i + int(digit-'0')
	}
	return i
}

// RandomGraph returns the edges of n agents: symmetric, weight 1, connected,
// and of the given degree, or a little less where the numbers do not come out.
// It is a random cycle, for connection, and random edges between agents that
// still have less than degree.
func RandomGraph(n, degree int, seed uint64) [][]learner.Edge {
	g := newEdgeSet(n, degree)
	r := rand.New(rand.NewPCG(seed, 0))
	cycle := r.Perm(n)
	for k := range cycle {
		g.join(cycle[k], cycle[(k+1)%n], 1)
	}
	free := func(i int) bool { return len(g.edges[i]) < degree }
	for range degree {
		order := r.Perm(n)
		for k := 0; k+1 < n; k += 2 {
			if free(order[k]) && free(order[k+1]) {
				g.join(order[k], order[k+1], 1)
			}
		}
	}
	// The few that drew the same partner twice make up for it.
	var short []int
	for _, i := range r.Perm(n) {
		if free(i) {
			short = append(short, i)
		}
	}
	for k, i := range short {
		for _, j := range short[:k] {
			if free(i) && free(j) {
				g.join(i, j, 1)
			}
		}
	}
	return g.sorted()
}

// AlikeGraph returns the edges of agents that stand on a circle, at these angles: symmetric,
// weight 1, and of the given degree, or a little less where the numbers do not come out.
// The angle between two neighbours is about normal with a standard deviation of spread.
// It takes time proportional to n log n: in each of degree rounds all stand up in the
// order of their angles, each moved at random, and join hands in pairs.
func AlikeGraph(angles []float64, degree int, spread float64, seed uint64) [][]learner.Edge {
	g := newEdgeSet(len(angles), degree)
	r := rand.New(rand.NewPCG(seed, 19))
	place, order := make([]float64, len(angles)), make([]int32, len(angles))
	for range degree {
		for i, a := range angles {
			turns := (a + spread*math.Sqrt2/2*r.NormFloat64()) / (2 * math.Pi)
			place[i], order[i] = turns-math.Floor(turns), int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
		for k := 0; k+1 < len(order); k += 2 {
			g.join(int(order[k]), int(order[k+1]), 1)
		}
	}
	return g.sorted()
}

// Ring joins each of n agents with the one before and the one after.
func Ring(n int) [][]learner.Edge {
	g := newEdgeSet(n, 2)
	for i := range n {
		g.join(i, (i+1)%n, 1)
	}
	return g.sorted()
}

// Star joins agent 0 with each of the n-1 others.
func Star(n int) [][]learner.Edge {
	g := newEdgeSet(n, 1)
	for i := 1; i < n; i++ {
		g.edges[0] = append(g.edges[0], halfEdge{i, 1})
		g.edges[i] = append(g.edges[i], halfEdge{0, 1})
	}
	return g.sorted()
}

// Full joins all n agents.
func Full(n int) [][]learner.Edge {
	g := newEdgeSet(n, n-1)
	for i := range n {
		for j := range n {
			if j != i {
				g.edges[i] = append(g.edges[i], halfEdge{j, 1})
			}
		}
	}
	return g.sorted()
}

// Weights is the matrix W of the edges between agents that carry the names of
// [Name], for [learner.Q] and [learner.MinimiseQ].
func Weights(edges [][]learner.Edge) [][]float64 {
	index := map[learner.ID]int{}
	for i := range edges {
		index[Name(i)] = i
	}
	w := make([][]float64, len(edges))
	for i := range edges {
		w[i] = make([]float64, len(edges))
		for _, e := range edges[i] {
			w[i][index[e.Peer]] = e.Weight
		}
	}
	return w
}

// ProfileGraph lets each agent ask degree others, drawn at random with
// probability proportional to the similarity of their public profiles
// ([learner.ProfileWeight], which is also the weight of the edge). Edges hold
// both ways, so that the mean degree lies between degree and twice that.
// Asking the most similar ones instead makes a graph of small worlds in which
// noise averages out badly. The draws are the same at every call.
func ProfileGraph(profiles [][]float64, degree int, gamma float64) [][]learner.Edge {
	g := newEdgeSet(len(profiles), degree)
	r := rand.New(rand.NewPCG(uint64(len(profiles)), uint64(degree)))
	for i := range profiles {
		for _, a := range askProfile(profiles, i, degree, gamma, r) {
			g.join(i, a.to, a.weight)
		}
	}
	return g.sorted()
}

// ask is a candidate for an edge. The smallest of exponential draws with rates
// w are a sample without replacement with probabilities proportional to w.
type ask struct {
	to          int
	weight, key float64
}

// askProfile draws whom agent i asks.
func askProfile(profiles [][]float64, i, degree int, gamma float64, r *rand.Rand) []ask {
	var similar []ask
	for j := range profiles {
		if w := learner.ProfileWeight(profiles[i], profiles[j], gamma); j != i && w > 0 {
			similar = append(similar, ask{j, w, r.ExpFloat64() / w})
		}
	}
	slices.SortFunc(similar, func(a, b ask) int { return cmp.Compare(a.key, b.key) })
	return similar[:min(degree, len(similar))]
}

// edgeSet collects symmetric edges.
type edgeSet struct {
	edges [][]halfEdge
}

// halfEdge is an edge as one of its ends sees it.
type halfEdge struct {
	to     int
	weight float64
}

// newEdgeSet returns a set without edges, with memory for so many of each agent's; an
// agent may have more.
func newEdgeSet(n, degree int) *edgeSet {
	block, edges := make([]halfEdge, n*degree), make([][]halfEdge, n)
	for i := range edges {
		edges[i] = block[i*degree : i*degree : (i+1)*degree]
	}
	return &edgeSet{edges}
}

// join adds an edge, or gives it another weight. It takes time proportional to the
// edges that i and j have.
func (g *edgeSet) join(i, j int, weight float64) {
	if i == j {
		return
	}
	for _, e := range [][2]int{{i, j}, {j, i}} {
		from, to := e[0], e[1]
		at := slices.IndexFunc(g.edges[from], func(h halfEdge) bool { return h.to == to })
		if at < 0 {
			g.edges[from] = append(g.edges[from], halfEdge{to, weight})
		} else {
			g.edges[from][at].weight = weight
		}
	}
}

// sorted returns the edges with both ends alive, each list sorted by peer. Lists
// and names share their memory.
func (g *edgeSet) sorted() [][]learner.Edge {
	names, total := make([]learner.ID, len(g.edges)), 0
	for i := range names {
		names[i] = Name(i)
		total += len(g.edges[i])
	}
	flat := make([]learner.Edge, 0, total)
	all := make([][]learner.Edge, len(g.edges))
	for i, to := range g.edges {
		slices.SortFunc(to, func(a, b halfEdge) int { return cmp.Compare(a.to, b.to) })
		first := len(flat)
		for _, h := range to {
			flat = append(flat, learner.Edge{Peer: names[h.to], Weight: h.weight, Live: true})
		}
		if len(to) > 0 {
			all[i] = flat[first:len(flat):len(flat)]
		}
	}
	return all
}
