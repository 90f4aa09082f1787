package sim

import (
	"cmp"
	"maps"
	"slices"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// choose compares a participant's edges with its candidates, gives up what it has
// better ones for, and asks for others.
func (s *simulation) choose(i int) error {
	f := &s.finders[i]
	if err := s.forgetAway(i); err != nil {
		return err
	}
	maps.DeleteFunc(f.asked, func(_ learner.ID, until int) bool { return until <= f.turns })
	candidates := f.view.Best(f.view.Len(), func(id learner.ID) bool {
		_, linked := f.find(id)
		return !linked && f.asked[id] == 0
	})
	c := graph.Choose(s.Task.Graph, f.own, s.links(i), candidates)
	for _, id := range c.Drop {
		if err := s.part(i, int(s.index[id])); err != nil {
			return err
		}
	}
	for _, id := range c.Ask {
		f.asked[id] = f.turns + patience
		s.converse(talk{kind: askForEdge, i: i, j: int(s.index[id])})
	}
	return nil
}

// forgetAway gives up edges to participants that are away while there are more
// edges than a node may have.
func (s *simulation) forgetAway(i int) error {
	for _, l := range slices.Clone(s.finders[i].links) {
		if len(s.finders[i].links) > 2*s.Task.Graph.Degree && s.actors[l.to].away {
			if err := s.part(i, l.to); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask is i's request for an edge, which j decides.
func (s *simulation) ask(i, j int) error {
	if _, linked := s.finders[i].find(s.Participants[j].ID); linked {
		return nil // both asked
	}
	weight := graph.Weight(s.Task.Graph, s.finders[i].own, s.finders[j].own)
	accepted, instead := graph.Accept(s.Task.Graph, s.links(j), s.Participants[i].ID, weight)
	if !accepted {
		return nil
	}
	if instead != "" {
		if err := s.part(j, int(s.index[instead])); err != nil {
			return err
		}
	}
	s.connect(i, j, weight, false)
	s.connect(j, i, weight, true)
	if err := s.changed(i, j); err != nil {
		return err
	}
	s.home(int32(i)).serve(int32(i), int32(j), s.now)
	s.home(int32(j)).serve(int32(j), int32(i), s.now)
	return nil
}

// renew computes anew the weight that i has left alone for longest.
func (s *simulation) renew(i int) {
	f := &s.finders[i]
	if r := s.Task.Graph.Rule; r == "random" || r == "profile" || len(f.links) == 0 {
		return // those never change
	}
	oldest := slices.MinFunc(f.links, func(a, b link) int { return cmp.Compare(a.renewed, b.renewed) })
	at, _ := f.find(oldest.Peer)
	f.links[at].renewed = f.turns
	s.converse(talk{kind: renewWeight, i: i, j: oldest.to})
}

// reweigh computes the weight of the edge of i and j anew.
func (s *simulation) reweigh(i, j int) error {
	mine, ok := s.finders[i].find(s.Participants[j].ID)
	if !ok {
		return nil // given up meanwhile
	}
	old := s.finders[i].links[mine].Weight
	weight := graph.Weight(s.Task.Graph, s.finders[i].own, s.finders[j].own)
	if !(weight > 0) {
		return s.part(i, j)
	}
	if weight == old {
		return nil
	}
	s.connect(i, j, weight, s.finders[i].links[mine].Theirs)
	theirs, _ := s.finders[j].find(s.Participants[i].ID)
	s.connect(j, i, weight, s.finders[j].links[theirs].Theirs)
	return s.tell(i, j)
}

// find is the position of the edge to a peer.
func (f *finder) find(id learner.ID) (int, bool) {
	return slices.BinarySearchFunc(f.links, id, func(l link, id learner.ID) int { return cmp.Compare(l.Peer, id) })
}

// links are the edges of a participant as the choice of neighbours sees them.
func (s *simulation) links(i int) []graph.Link {
	out := make([]graph.Link, len(s.finders[i].links))
	for k, l := range s.finders[i].links {
		out[k] = l.Link
		out[k].Up = !s.actors[l.to].away
	}
	return out
}

// connect sets i's side of the edge to j.
func (s *simulation) connect(i, j int, weight float64, theirs bool) {
	f := &s.finders[i]
	known := graph.Known(s.Task.Graph, f.own, s.finders[j].own)
	l := link{graph.Link{Peer: s.Participants[j].ID, Weight: weight, Known: known, Theirs: theirs}, j, f.turns}
	at, there := f.find(l.Peer)
	if there {
		f.links[at] = l
	} else {
		f.links = slices.Insert(f.links, at, l)
	}
}

// part ends the edge of i and j at both ends.
func (s *simulation) part(i, j int) error {
	for _, side := range [][2]int{{i, j}, {j, i}} {
		f := &s.finders[side[0]]
		if at, there := f.find(s.Participants[side[1]].ID); there {
			f.links = slices.Delete(f.links, at, at+1)
		}
	}
	return s.changed(i, j)
}

// changed counts a change of the graph and tells both ends.
func (s *simulation) changed(i, j int) error {
	s.edgeChanges = append(s.edgeChanges, s.now)
	return s.tell(i, j)
}

// tell hands i and j their edges.
func (s *simulation) tell(ends ...int) error {
	for _, i := range ends {
		edges := make([]learner.Edge, len(s.finders[i].links))
		for k, l := range s.finders[i].links {
			edges[k] = learner.Edge{Peer: l.Peer, Weight: l.Weight, Live: true}
		}
		h := s.home(int32(i))
		if err := h.hear(int32(i), s.now-1); err != nil { // by the edges that there were
			return err
		}
		s.setEdges(int32(i), edges)
		if err := h.look(int32(i), s.now); err != nil {
			return err
		}
		h.arrange(int32(i))
	}
	return nil
}
