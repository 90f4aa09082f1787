package sim

import (
	"slices"

	"p2pnode/learner"
	"p2pnode/peering"
)

// join lets agents know of the edges that came, changed or went at participant i. Who
// follows another gets its newest broadcast, which came with the request or the answer.
func (s *simulation) join(i int, out peering.Output) error {
	concerned := []int(nil)
	if out.Changed {
		concerned = append(concerned, i)
	}
	for _, d := range out.Drops {
		j := int(s.index[d.Peer])
		s.finders[j].holders = slices.DeleteFunc(s.finders[j].holders, func(k int) bool { return k == i })
		concerned = append(concerned, j)
		s.count(i, j)
	}
	var follows []int
	for _, e := range out.Keeps {
		j := int(s.index[e.Peer])
		if slices.Contains(s.finders[j].holders, i) {
			continue
		}
		s.finders[j].holders = append(s.finders[j].holders, i)
		concerned, follows = append(concerned, j), append(follows, j)
		s.count(i, j)
	}
	if err := s.tell(concerned...); err != nil {
		return err
	}
	for _, j := range follows {
		s.home(int32(j)).serve(int32(j), int32(i), s.now)
	}
	return nil
}

// count counts an edge that came or went at i: a graph is what both ends hold.
func (s *simulation) count(i, j int) {
	if slices.Contains(s.finders[i].holders, j) {
		s.edgeChanges = append(s.edgeChanges, s.now)
	}
}

// tell hands participants their edges. One is live while its other end holds it too,
// and so listens.
func (s *simulation) tell(ends ...int) error {
	for _, i := range ends {
		f := &s.finders[i]
		held := f.Edges()
		edges := make([]learner.Edge, len(held))
		for k, e := range held {
			live := e.Met && slices.Contains(f.holders, int(s.index[e.Peer]))
			edges[k] = learner.Edge{Peer: e.Peer, Weight: e.Weight, Live: live}
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

// leave takes a participant away: its neighbours lose the connection to it.
func (s *simulation) leave(i int) error {
	s.finders[i].away = true
	return s.toHolders(i, peering.Lost{Peer: s.Participants[i].ID})
}

// comeBack lets a participant come, as a new one with its stored edges if it was
// switched off. Connections are made again, from either end.
func (s *simulation) comeBack(i int, restart bool) error {
	f := &s.finders[i]
	f.away = false
	edges := f.Edges()
	if restart {
		s.begin(i, edges)
		if err := s.tell(i); err != nil {
			return err
		}
	}
	for _, j := range f.missed {
		if _, err := s.step(i, peering.Answered{From: s.Participants[j].ID, Failed: true}); err != nil {
			return err
		}
	}
	f.missed = f.missed[:0]
	for _, e := range edges {
		if _, err := s.step(i, peering.Lost{Peer: e.Peer}); err != nil {
			return err
		}
		if s.finders[s.index[e.Peer]].away {
			continue
		}
		if _, err := s.step(i, peering.Connected{Peer: e.Peer}); err != nil {
			return err
		}
	}
	s.arm(i, s.now)
	return s.toHolders(i, peering.Connected{Peer: s.Participants[i].ID})
}

// toHolders lets all those who are there and have an edge to i take an input in.
func (s *simulation) toHolders(i int, in peering.Input) error {
	for _, j := range slices.Clone(s.finders[i].holders) {
		if s.finders[j].away {
			continue
		}
		if _, err := s.step(j, in); err != nil {
			return err
		}
	}
	return nil
}
