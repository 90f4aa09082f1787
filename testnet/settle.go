package testnet

import (
	"cmp"
	"slices"

	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/testnet/sim"
)

// settle joins nodes by the requests and answers of package graph, as if every node
// knew all others and no estimate changed any more. This is the graph that gossip tends
// to. It returns each node's edges, sorted by peer.
func settle(rule learner.Graph, ends []graph.End) [][]learner.Edge {
	s := newSettling(rule, ends)
	for s.round = range settleRounds {
		s.changed = false
		for i := range s.nodes {
			s.turn(i)
		}
		if !s.changed {
			break
		}
	}
	edges := make([][]learner.Edge, len(ends))
	for i, n := range s.nodes {
		for _, l := range n.links {
			edges[i] = append(edges[i], learner.Edge{Peer: l.Peer, Weight: l.Weight, Live: true})
		}
		slices.SortFunc(edges[i], func(a, b learner.Edge) int { return cmp.Compare(a.Peer, b.Peer) })
	}
	return edges
}

const (
	settleRounds = 40
	// refusedFor is how many rounds a node waits before it asks the same node again.
	refusedFor = 5
	// settleNear is how many candidates a node looks at, per wanted neighbour.
	settleNear = 8
)

type settling struct {
	rule    learner.Graph
	nodes   []settler
	round   int
	changed bool
}

type settler struct {
	end   graph.End
	near  []int // the most similar other nodes, the best first
	links []graph.Link
	asked map[learner.ID]int // the round in which each was asked
}

func newSettling(rule learner.Graph, ends []graph.End) *settling {
	s := &settling{rule: rule, nodes: make([]settler, len(ends))}
	for i, e := range ends {
		s.nodes[i] = settler{end: e, asked: map[learner.ID]int{}}
	}
	weight := make([]float64, len(ends))
	for i := range s.nodes {
		var near []int
		for j := range ends {
			if weight[j] = graph.Weight(rule, ends[i], ends[j]); j != i && weight[j] > 0 {
				near = append(near, j)
			}
		}
		slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
		s.nodes[i].near = slices.Clone(near[:min(len(near), settleNear*rule.Degree)])
	}
	return s
}

// turn lets node i choose and ask.
func (s *settling) turn(i int) {
	n := &s.nodes[i]
	choice := graph.Choose(s.rule, n.end, n.links, s.candidates(i), true)
	for _, id := range choice.Drop {
		s.part(i, sim.Number(id))
	}
	for _, id := range choice.Ask {
		j := sim.Number(id)
		n.asked[id] = s.round
		w := graph.Weight(s.rule, n.end, s.nodes[j].end)
		accepted, instead := graph.Accept(s.rule, s.nodes[j].links, graph.Link{Peer: sim.Name(i), Weight: w, Known: true}, true)
		if !accepted {
			continue
		}
		if instead != "" {
			s.part(j, sim.Number(instead))
		}
		n.links = append(n.links, graph.Link{Peer: id, Weight: w, Known: true, Up: true})
		s.nodes[j].links = append(s.nodes[j].links, graph.Link{Peer: sim.Name(i), Weight: w, Known: true, Up: true, Theirs: true})
		s.changed = true
	}
}

func (s *settling) candidates(i int) []graph.Entry {
	n := &s.nodes[i]
	var out []graph.Entry
	for _, j := range n.near {
		id := sim.Name(j)
		asked, ever := n.asked[id]
		if !s.linked(i, id) && (!ever || asked+refusedFor < s.round) {
			out = append(out, graph.Entry{Peer: id, End: s.nodes[j].end})
		}
	}
	return out
}

func (s *settling) linked(i int, id learner.ID) bool {
	return slices.ContainsFunc(s.nodes[i].links, func(l graph.Link) bool { return l.Peer == id })
}

func (s *settling) part(i, j int) {
	for _, side := range [][2]int{{i, j}, {j, i}} {
		n := &s.nodes[side[0]]
		n.links = slices.DeleteFunc(n.links, func(l graph.Link) bool { return l.Peer == sim.Name(side[1]) })
	}
	s.changed = true
}
