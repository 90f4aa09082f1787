package sim

import (
	"container/heap"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/peering"
)

// talk is something of discovery that happens to a participant at a time: between two
// windows, since it may touch its agent and the other end's.
type talk struct {
	at    time.Duration
	order uint64
	kind  talkKind
	who   int
	// Of a request and its answer.
	from    int // the other end
	request peering.Request
	reply   peering.Reply
	sent    time.Duration // when the request was

	end     graph.End // of declares
	restart bool      // of comesBack
}

type talkKind uint8

const (
	tick talkKind = iota
	isAsked
	isAnswered
	getsNoAnswer
	declares
	goesAway
	comesBack
)

// agendaOfTalks is a heap ordered by time, ties by participant, then by order of
// creation. So it does not depend on how windows divide what agents do.
type agendaOfTalks struct {
	list []talk
	made uint64
}

// Len implements [sort.Interface].
func (t *agendaOfTalks) Len() int { return len(t.list) }

// Swap implements [sort.Interface].
func (t *agendaOfTalks) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }

// Push implements [heap.Interface].
func (t *agendaOfTalks) Push(x any) { t.list = append(t.list, x.(talk)) }

// Less implements [sort.Interface].
func (t *agendaOfTalks) Less(i, j int) bool {
	a, b := &t.list[i], &t.list[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.who != b.who:
		return a.who < b.who
	}
	return a.order < b.order
}

// Pop implements [heap.Interface].
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

// talk lets the next one take place.
func (s *simulation) talk() error {
	t := heap.Pop(&s.agenda).(talk)
	s.last = t.at
	f := &s.finders[t.who]
	switch t.kind {
	case tick:
		if f.next != t.at {
			return nil // it was set to another time since
		}
		if f.next = 0; f.away {
			return nil
		}
		if err := s.introduce(t.who); err != nil {
			return err
		}
		_, err := s.step(t.who, peering.Tick{})
		return err
	case isAsked:
		return s.ask(t)
	case declares:
		f.own = t.end
		_, err := s.step(t.who, peering.Declared{End: t.end})
		return err
	case goesAway:
		return s.leave(t.who)
	case comesBack:
		return s.comeBack(t.who, t.restart)
	}
	return s.answer(t)
}

// call sends a request.
func (s *simulation) call(i int, c peering.Call) {
	to := int(s.index[c.To.Peer])
	s.carry(i, talk{kind: isAsked, who: to, from: i, request: c.Request, sent: s.now})
}

// carry takes what i says to its other end after a delay, unless it is lost: then the
// end that asked waits in vain. Of the requests that fail half are heard, and their
// answers are not.
func (s *simulation) carry(i int, t talk) {
	r := s.finders[i].chance
	t.at = s.now + s.delay(r.ExpFloat64())
	if r.Float64() < s.Loss/2 {
		t = s.inVain(t)
	}
	s.agenda.add(t)
}

// inVain is what becomes of a request that is not answered.
func (s *simulation) inVain(t talk) talk {
	asking, asked := t.from, t.who
	if t.kind == isAnswered {
		asking, asked = t.who, t.from
	}
	return talk{at: max(s.now, t.sent+callTimeout), kind: getsNoAnswer, who: asking, from: asked}
}

// ask lets a request reach its other end.
func (s *simulation) ask(t talk) error {
	if s.finders[t.who].away {
		s.agenda.add(s.inVain(t))
		return nil
	}
	out, err := s.step(t.who, peering.Asked{Request: t.request})
	if err != nil {
		return err
	}
	s.carry(t.who, talk{kind: isAnswered, who: t.from, from: t.who, reply: *out.Reply, sent: t.sent})
	return nil
}

// answer lets an answer, or the lack of one, reach the end that asked. One that is
// away finds out when it is back.
func (s *simulation) answer(t talk) error {
	f := &s.finders[t.who]
	if f.away {
		f.missed = append(f.missed, t.from)
		return nil
	}
	from := s.Participants[t.from].ID
	_, linked := f.Edge(from)
	_, err := s.step(t.who, peering.Answered{From: from, Reply: t.reply, Failed: t.kind == getsNoAnswer, Dialled: !linked})
	return err
}
