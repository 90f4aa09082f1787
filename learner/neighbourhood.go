package learner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// neighbourhood is an agent's edges with the newest shared model heard over
// each.
type neighbourhood struct {
	self  ID
	edges []edge // sorted by peer
}

// edge is a neighbour and the newest it said.
type edge struct {
	Edge
	heard Heard // Round 0: nothing yet, Model is nil
}

// set replaces the edges and keeps what was heard from those that stay. Edges
// without a positive finite weight, to itself, or named twice are ignored.
func (n *neighbourhood) set(edges []Edge) {
	old := n.edges
	fresh := make([]edge, 0, len(edges))
	for _, e := range edges {
		if e.Weight > 0 && !math.IsInf(e.Weight, 0) && e.Peer != n.self {
			fresh = append(fresh, edge{Edge: e})
		}
	}
	slices.SortStableFunc(fresh, func(a, b edge) int { return cmp.Compare(a.Peer, b.Peer) })
	fresh = slices.CompactFunc(fresh, func(a, b edge) bool { return a.Peer == b.Peer })
	for i := range fresh {
		if k, found := findEdge(old, fresh[i].Peer); found {
			fresh[i].heard = old[k].heard
			fresh[i].heard.Weight = fresh[i].Weight
		}
	}
	n.edges = fresh
}

func findEdge(edges []edge, peer ID) (int, bool) {
	return slices.BinarySearchFunc(edges, peer, func(e edge, id ID) int { return cmp.Compare(e.Peer, id) })
}

// hear takes a neighbour's model of p parameters if it is newer than the last.
func (n *neighbourhood) hear(m *Message, p int) error {
	i, found := findEdge(n.edges, m.From)
	switch {
	case !found:
		return ErrStranger
	case m.Kind != KindModel || len(m.Real) != p || !finite(m.Real) || !(m.NoiseStd >= 0) || math.IsInf(m.NoiseStd, 0):
		return ErrShape
	case m.Round <= n.edges[i].heard.Round:
		return ErrStale
	}
	n.edges[i].heard = Heard{Peer: m.From, Weight: n.edges[i].Weight, Round: m.Round, NoiseStd: m.NoiseStd, Model: m.Real}
	return nil
}

// listened reports whether anybody is listening.
func (n *neighbourhood) listened() bool {
	return slices.ContainsFunc(n.edges, func(e edge) bool { return e.Live })
}

// mean returns sum_j (W_ij/D_i) T_j over the neighbours heard so far, and the
// standard deviation of the noise in it. heard is false when there are none:
// then the mean is own, not a copy, since the agent agrees with itself.
func (n *neighbourhood) mean(own []float64) (mean []float64, std float64, heard bool) {
	var degree float64
	for i := range n.edges {
		if n.edges[i].heard.Round > 0 {
			degree += n.edges[i].Weight
		}
	}
	if degree == 0 {
		return own, 0, false
	}
	mean = make([]float64, len(own))
	for i := range n.edges {
		if h := &n.edges[i].heard; h.Round > 0 {
			w := h.Weight / degree
			floats.AddScaled(mean, w, h.Model)
			std = math.Hypot(std, w*h.NoiseStd)
		}
	}
	return mean, std, true
}

// heard returns a copy of what was heard, as [State] has it.
func (n *neighbourhood) heard() []Heard {
	var list []Heard
	for i := range n.edges {
		if h := n.edges[i].heard; h.Round > 0 {
			h.Model = slices.Clone(h.Model)
			list = append(list, h)
		}
	}
	return list
}

// resume takes back what heard returned: the edges are known from it until the
// first call of set.
func (n *neighbourhood) resume(list []Heard, p int) error {
	edges := make([]Edge, len(list))
	for i, h := range list {
		edges[i] = Edge{Peer: h.Peer, Weight: h.Weight}
	}
	n.set(edges)
	for _, h := range list {
		if len(h.Model) != p {
			return fmt.Errorf("learner: the saved model of %s does not fit the task", h.Peer)
		}
		if i, found := findEdge(n.edges, h.Peer); found {
			h.Model = slices.Clone(h.Model)
			n.edges[i].heard = h
		}
	}
	return nil
}
