package sim

import (
	"container/heap"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// talk is something of discovery that takes place at a time: between two windows,
// since it touches two agents at once.
type talk struct {
	at    time.Duration
	order uint64
	kind  talkKind
	i, j  int           // who, with whom; alone: j is i
	offer []graph.Entry // of an exchange
}

type talkKind uint8

const (
	takeTurn talkKind = iota
	exchangeEntries
	askForEdge
	renewWeight
)

// agendaOfTalks is a heap ordered by time, ties by order of creation. There are few:
// discovery happens in the large, not at every wake.
type agendaOfTalks struct {
	list []talk
	made uint64
}

func (t *agendaOfTalks) Len() int      { return len(t.list) }
func (t *agendaOfTalks) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *agendaOfTalks) Push(x any)    { t.list = append(t.list, x.(talk)) }

func (t *agendaOfTalks) Less(i, j int) bool {
	a, b := &t.list[i], &t.list[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (t *agendaOfTalks) Pop() any {
	last := t.list[len(t.list)-1]
	t.list[len(t.list)-1] = talk{}
	t.list = t.list[:len(t.list)-1]
	return last
}

func (t *agendaOfTalks) add(e talk) {
	e.order = t.made
	t.made++
	heap.Push(t, e)
}

// next is the time of the next one.
func (t *agendaOfTalks) next() time.Duration {
	if len(t.list) == 0 {
		return learner.Never
	}
	return t.list[0].at
}

// talk lets the next one take place, if those who talk are there. One whose partner
// is not there forgets it.
func (s *simulation) talk() error {
	e := heap.Pop(&s.agenda).(talk)
	s.last = e.at
	switch {
	case e.kind == takeTurn:
		return s.turn(e.i)
	case s.actors[e.i].away:
		return nil
	case s.actors[e.j].away:
		s.finders[e.i].view.Remove(s.Participants[e.j].ID)
		return nil
	case e.kind == exchangeEntries:
		reply := s.finders[e.j].view.Answer(s.entry(e.i), e.offer)
		s.finders[e.i].view.Merge(append([]graph.Entry{s.entry(e.j)}, reply...))
		return nil
	case e.kind == askForEdge:
		return s.ask(e.i, e.j)
	}
	return s.reweigh(e.i, e.j)
}
