package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// Discovery lets the participants find their neighbours while they learn, by
// package graph: each keeps a view of candidates, exchanges some of it with one
// other at a time, asks the best for edges, and computes the weights anew from the
// newest estimates, or from the declared profiles. [Participant.Edges] are not
// looked at.
//
// An exchange and a request are conversations: they take place at one instant, a
// delay of [Config.Latency] after they began, and with probability [Config.Loss]
// they do not. So the two ends of an edge never disagree here.
type Discovery struct {
	Limits graph.Limits // of the views; zero: [graph.LimitsFor] the task's degree
	// Exchanges is how many exchanges of candidates an agent starts in the mean
	// between two of its wakes, > 0.
	Exchanges float64
	// Contacts is how many others, drawn at random, a participant is told of when it
	// begins, and whenever it knows nobody, > 0: what a rendezvous does.
	Contacts int
}

// patience is for how many of its turns a participant does not ask again whom it
// has asked for an edge.
const patience = 10

// finder is how a participant finds its neighbours.
type finder struct {
	view   *graph.View
	own    graph.End
	pauses *rand.Rand
	links  []link // sorted by peer
	turns  int
	asked  map[learner.ID]int // until which turn not to ask again
}

// link is an edge as one of its ends sees it.
type link struct {
	graph.Link
	to      int // the other end
	renewed int // the turn of this end at which the weight was computed last
}

func (s *simulation) startDiscovery() error {
	d := s.Discovery
	if !(d.Exchanges > 0) || d.Contacts < 1 || len(s.Participants) < 2 {
		return errors.New("sim: Discovery needs two participants, Exchanges and Contacts above 0")
	}
	limits := d.Limits
	if limits == (graph.Limits{}) {
		limits = graph.LimitsFor(s.Task.Graph.Degree)
	}
	s.talks = rand.New(rand.NewPCG(s.Seed, 9))
	s.finders = make([]finder, len(s.Participants))
	for i, p := range s.Participants {
		f := &s.finders[i]
		f.pauses = rand.New(rand.NewPCG(s.Seed^1<<62, 2*uint64(i)))
		f.view = graph.NewView(p.ID, s.Task.Graph, limits, rand.New(rand.NewPCG(s.Seed^1<<62, 2*uint64(i)+1)))
		f.own, f.asked = graph.End{Vector: p.Profile}, map[learner.ID]int{}
		f.view.SetOwn(f.own)
		s.nextTurn(i)
	}
	return nil
}

// nextTurn arms the clock of a participant's discovery.
func (s *simulation) nextTurn(i int) {
	mean := float64(s.WakeMean) / s.Discovery.Exchanges
	pause := time.Duration(mean * s.finders[i].pauses.ExpFloat64())
	s.agenda.add(talk{at: s.now + pause, kind: takeTurn, i: i, j: i})
}

// turn is what a participant does for its neighbourhood now and then: one
// exchange, the choice of neighbours, and the oldest weight computed anew.
func (s *simulation) turn(i int) error {
	s.nextTurn(i)
	if s.actors[i].away {
		return nil
	}
	f := &s.finders[i]
	f.turns++
	if f.turns == 1 || f.view.Len() == 0 {
		s.introduce(i)
	}
	s.exchange(i)
	if err := s.choose(i); err != nil {
		return err
	}
	s.renew(i)
	return nil
}

// introduce tells a participant of some others, who need not be there.
func (s *simulation) introduce(i int) {
	for range s.Discovery.Contacts {
		if j := s.talks.IntN(len(s.Participants)); j != i {
			s.finders[i].view.Add(graph.Entry{Peer: s.Participants[j].ID})
		}
	}
}

// exchange begins an exchange of candidates.
func (s *simulation) exchange(i int) {
	f := &s.finders[i]
	to, offer, ok := f.view.Partner()
	if !ok {
		return
	}
	s.exchanges++
	s.converse(talk{kind: exchangeEntries, i: i, j: int(s.index[to.Peer]), offer: slices.Clone(offer)})
}

// converse lets two talk after a delay, unless that is lost.
func (s *simulation) converse(t talk) {
	t.at = s.now + s.delay(s.talks)
	if s.talks.Float64() >= s.Loss {
		s.agenda.add(t)
	}
}

// entry is what a participant says of itself.
func (s *simulation) entry(i int) graph.Entry {
	return graph.Entry{Peer: s.Participants[i].ID, End: s.finders[i].own}
}

// published takes note of a participant's newest estimate.
func (s *simulation) published(i int32) {
	if s.Discovery == nil {
		return
	}
	if e := s.actors[i].State().Estimate; e != nil && e.Round > s.finders[i].own.Round {
		s.finders[i].own = graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std}
		s.finders[i].view.SetOwn(s.finders[i].own)
	}
}
