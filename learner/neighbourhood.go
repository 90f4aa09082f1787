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

	scratch []float64 // of radius
}

// edge is a neighbour and the newest it said.
type edge struct {
	Edge
	round    uint64 // 0: nothing yet
	noiseStd float64
	model    []float64 // nil before
	distance float64   // of the model from the own one, while their mean is taken
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
			fresh[i].round, fresh[i].noiseStd, fresh[i].model = old[k].round, old[k].noiseStd, old[k].model
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
	if !found {
		return ErrStranger
	}
	return n.edges[i].hear(m, p)
}

// hear takes a model of p parameters if it is newer than the last.
func (e *edge) hear(m *Message, p int) error {
	switch {
	case m.Kind != KindModel || len(m.Real) != p || !finite(m.Real) || !(m.NoiseStd >= 0) || math.IsInf(m.NoiseStd, 0):
		return ErrShape
	case m.Round <= e.round:
		return ErrStale
	}
	e.round, e.noiseStd, e.model = m.Round, m.NoiseStd, m.Real
	return nil
}

// listened reports whether anybody is listening.
func (n *neighbourhood) listened() bool {
	return slices.ContainsFunc(n.edges, func(e edge) bool { return e.Live })
}

// mean returns sum_j (W_ij/D_i) T_j over the neighbours heard so far, each clipped around
// own (see gossipRadius), whose noise has the standard deviation ownStd; and the standard
// deviation of the noise in it, in the memory of dst. heard is false when there are none:
// then the mean is own, not a copy, since the agent agrees with itself.
func (n *neighbourhood) mean(dst, own []float64, ownStd float64) (mean []float64, std float64, heard bool) {
	var degree float64
	for i := range n.edges {
		if n.edges[i].round > 0 {
			degree += n.edges[i].Weight
		}
	}
	if degree == 0 {
		return own, 0, false
	}
	clear(dst)
	radius, kept := n.radius(own), 0.
	for i := range n.edges {
		e := &n.edges[i]
		if e.round == 0 {
			continue
		}
		w := e.Weight / degree
		left := addClipped(dst, e.model, w, e.distance, radius)
		kept += left
		if e.noiseStd > 0 {
			std = math.Hypot(std, (w-left)*e.noiseStd)
		}
	}
	if kept > 0 {
		floats.AddScaled(dst, kept, own)
		std = math.Hypot(std, kept*ownStd)
	}
	return dst, std, true
}

// radius is that of ClippedGossip around own. Of few neighbours it is infinite, and how far
// they are need not be worked out.
func (n *neighbourhood) radius(own []float64) float64 {
	if len(n.edges) < enoughToJudge {
		return math.Inf(1)
	}
	n.scratch = n.scratch[:0]
	for i := range n.edges {
		if e := &n.edges[i]; e.round > 0 {
			e.distance = floats.Distance(e.model, own, 2)
			n.scratch = append(n.scratch, e.distance)
		}
	}
	return gossipRadius(n.scratch, len(n.edges))
}

// heard returns a copy of what was heard, as [State] has it.
func (n *neighbourhood) heard() []Heard {
	var list []Heard
	for i := range n.edges {
		if e := &n.edges[i]; e.round > 0 {
			list = append(list, Heard{e.Peer, e.Weight, e.round, e.noiseStd, slices.Clone(e.model)})
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
			e := &n.edges[i]
			e.round, e.noiseStd, e.model = h.Round, h.NoiseStd, slices.Clone(h.Model)
		}
	}
	return nil
}
