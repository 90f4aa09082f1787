package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// Swarm is a network of views without agents, for measuring how candidates get
// about: what each node is known by is given and does not change. Time is counted
// in cycles, in each of which every node begins one exchange.
type Swarm struct {
	rule     learner.Graph
	limits   graph.Limits
	loss     float64
	contacts int
	random   *rand.Rand
	nodes    []swarmNode
	index    map[learner.ID]int // of those that are there
	born     int
	order    []int // of a cycle
	sent     int
	reply    []graph.Entry // reused
}

type swarmNode struct {
	view *graph.View
	own  graph.Entry
}

// NewSwarm makes a network of nodes with the given ends. Each message of an
// exchange is lost with probability loss. A node that knows nobody is told of
// contacts others, drawn at random. The same seed gives the same run.
func NewSwarm(rule learner.Graph, l graph.Limits, ends []graph.End, contacts int, loss float64, seed uint64) *Swarm {
	s := &Swarm{
		rule: rule, limits: l, loss: loss, contacts: contacts, random: rand.New(rand.NewPCG(seed, 11)),
		nodes: make([]swarmNode, len(ends)), index: make(map[learner.ID]int, len(ends)), order: make([]int, len(ends)),
	}
	for i, e := range ends {
		s.order[i] = i
		s.put(i, e)
	}
	return s
}

// put lets a newcomer take the place i.
func (s *Swarm) put(i int, e graph.End) {
	id := Name(s.born)
	s.born++
	s.index[id] = i
	s.nodes[i] = swarmNode{graph.NewView(id, s.rule, s.limits, s.random), graph.Entry{Peer: id, End: e}}
	s.nodes[i].view.SetOwn(e)
}

// Replace lets the node at place i leave and a newcomer take the place. Nobody has heard
// of the newcomer.
func (s *Swarm) Replace(i int, e graph.End) {
	delete(s.index, s.nodes[i].own.Peer)
	s.put(i, e)
}

// Cycle lets every node begin an exchange, in random order.
func (s *Swarm) Cycle() {
	s.random.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	for _, i := range s.order {
		s.exchange(&s.nodes[i])
	}
}

func (s *Swarm) exchange(n *swarmNode) {
	if n.view.Len() == 0 {
		for range s.contacts {
			n.view.Add(graph.Entry{Peer: s.nodes[s.random.IntN(len(s.nodes))].own.Peer})
		}
	}
	to, offer, ok := n.view.Partner()
	if !ok {
		return
	}
	j, there := s.index[to.Peer]
	if !there {
		n.view.Remove(to.Peer)
		return
	}
	s.sent += 1 + len(offer)
	if s.random.Float64() < s.loss {
		return
	}
	far := &s.nodes[j]
	reply := far.view.Answer(n.own, offer)
	s.sent += 1 + len(reply)
	if s.random.Float64() < s.loss {
		return
	}
	s.reply = append(append(s.reply[:0], far.own), reply...)
	n.view.Merge(s.reply)
}

// Sent is how many entries were sent so far, by all nodes together.
func (s *Swarm) Sent() int { return s.sent }

// Best lists the places of the n nodes that the one at place i thinks most similar
// to itself; those that have left are left out.
func (s *Swarm) Best(i, n int) []int {
	out := make([]int, 0, n)
	for _, e := range s.nodes[i].view.Best(n, func(id learner.ID) bool { _, there := s.index[id]; return there }) {
		out = append(out, s.index[e.Peer])
	}
	return out
}

// Nearest lists the places of the n nodes that are most similar to the one at
// place i, of all that are there, by comparing with everybody: what Best tends to.
func (s *Swarm) Nearest(i, n int) []int {
	type other struct {
		place  int
		weight float64
	}
	best := make([]other, 0, n+1)
	for j := range s.nodes {
		w := graph.Weight(s.rule, s.nodes[i].own.End, s.nodes[j].own.End)
		if j == i || !(w > 0) || len(best) == n && w <= best[n-1].weight {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, w, func(o other, w float64) int { return cmp.Compare(w, o.weight) })
		best = slices.Insert(best, at, other{j, w})
		best = best[:min(n, len(best))]
	}
	out := make([]int, len(best))
	for k := range best {
		out[k] = best[k].place
	}
	return out
}
