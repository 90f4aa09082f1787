package graph

import (
	"slices"
	"testing"

	"p2pnode/learner"
)

// society is nodes that choose neighbours and know everybody.
type society struct {
	g     learner.Graph
	ends  []Entry
	links []map[learner.ID]Link
	index map[learner.ID]int
}

func newSociety(n int, seed uint64) *society {
	s := &society{g: profiles, index: map[learner.ID]int{}}
	r := source(seed)
	for i := range n {
		s.ends = append(s.ends, randomEntry(i, r))
		s.links = append(s.links, map[learner.ID]Link{})
		s.index[name(i)] = i
	}
	return s
}

// list is a node's links, in some order that is always the same.
func (s *society) list(i int) []Link {
	var out []Link
	for j := range s.ends {
		if l, ok := s.links[i][name(j)]; ok {
			out = append(out, l)
		}
	}
	return out
}

func (s *society) part(i, j int) {
	delete(s.links[i], name(j))
	delete(s.links[j], name(i))
}

// step lets one node choose and ask until it wants nobody else. It does not ask a node
// again that declined, and returns how many edges were added or removed.
func (s *society) step(i int) (changes int) {
	declined := map[learner.ID]bool{name(i): true}
	for {
		var candidates []Entry
		for _, e := range s.ends {
			if _, linked := s.links[i][e.Peer]; !linked && !declined[e.Peer] {
				candidates = append(candidates, e)
			}
		}
		c := Choose(s.g, s.ends[i].End, s.list(i), candidates, true)
		for _, id := range c.Drop {
			s.part(i, s.index[id])
			changes++
		}
		if len(c.Ask) == 0 {
			return changes
		}
		for _, id := range c.Ask {
			if ok := s.ask(i, s.index[id]); ok {
				changes++
			} else {
				declined[id] = true
			}
		}
	}
}

func (s *society) ask(i, j int) bool {
	w := Weight(s.g, s.ends[i].End, s.ends[j].End)
	ok, instead := Accept(s.g, s.list(j), Link{Peer: name(i), Weight: w, Known: true}, true)
	if !ok {
		return false
	}
	if instead != "" {
		s.part(j, s.index[instead])
	}
	s.links[i][name(j)] = Link{Peer: name(j), Weight: w, Known: true, Up: true}
	s.links[j][name(i)] = Link{Peer: name(i), Weight: w, Known: true, Up: true, Theirs: true}
	return true
}

// weights are those of a node's edges, the largest first.
func (s *society) weights(i int) []float64 {
	var out []float64
	for _, l := range s.links[i] {
		out = append(out, l.Weight)
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// With fixed ends the graph comes to rest. Then there is no pair of nodes where one wants
// the other and the other would accept, by the rules spelled out.
func TestChoicesSettle(t *testing.T) {
	for seed := range uint64(12) {
		s := newSociety(40, seed)
		rounds := 0
		for changes := 1; changes > 0; rounds++ {
			changes = 0
			for i := range s.ends {
				changes += s.step(i)
			}
			if rounds == 50 {
				t.Fatalf("seed %d: %d changes in round %d", seed, changes, rounds)
			}
		}
		k := s.g.Degree
		for i := range s.ends {
			mine := s.weights(i)
			if len(mine) < k || len(mine) > 2*k {
				t.Errorf("seed %d: node %d has %d edges", seed, i, len(mine))
			}
			for j := range s.ends {
				if _, linked := s.links[i][name(j)]; linked || i == j {
					continue
				}
				w, theirs := Weight(s.g, s.ends[i].End, s.ends[j].End), s.weights(j)
				wants := w > 0 && (len(mine) < k || w > 1.1*mine[k-1])
				accepts := len(theirs) < 2*k || w > 1.1*theirs[2*k-1]
				if wants && accepts {
					t.Errorf("seed %d: %d and %d belong together", seed, i, j)
				}
			}
		}
	}
}
