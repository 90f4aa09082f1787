package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"p2pnode/learner"
)

// Away says that a participant is not there from From until To: it hears
// nothing, its timer does not ring, and its neighbours see a dead edge. When it
// comes back, both ends of each edge serve the other their newest broadcast. A
// From of 0 lets it join late; a To after [Config.Until] lets it leave for good.
// The absences of one participant must not overlap.
type Away struct {
	Who      int // index in Config.Participants
	From, To time.Duration
	Restart  bool // the agent comes back as a new one with the old one's State
}

// change is a participant's leaving or coming.
type change struct {
	at   time.Duration
	who  int32
	what int32 // leaves, comes or restarts
}

func (s *simulation) scheduleChanges() error {
	for _, w := range s.Away {
		switch {
		case w.Who < 0 || w.Who >= len(s.actors):
			return fmt.Errorf("sim: participant %d is away but there are %d", w.Who, len(s.actors))
		case w.From < 0 || w.To < w.From:
			return fmt.Errorf("sim: participant %d is away from %v to %v; an end comes after its beginning", w.Who, w.From, w.To)
		case w.From == 0:
			s.actors[w.Who].away = true // before anybody looks
		default:
			s.changes = append(s.changes, change{w.From, int32(w.Who), leaves})
		}
		back := change{w.To, int32(w.Who), comes}
		if w.Restart {
			back.what = restarts
		}
		s.changes = append(s.changes, back)
	}
	slices.SortStableFunc(s.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for i := range s.actors {
		for k := range s.actors[i].ties {
			t := &s.actors[i].ties[k]
			t.away = t.peer >= 0 && s.actors[t.peer].away
		}
	}
	return nil
}

// announceChanges tells those concerned of the comings and goings of a window: each
// handles them at their time, like everything else.
func (s *simulation) announceChanges(end time.Duration) {
	for len(s.changes) > 0 && s.changes[0].at < end {
		c := s.changes[0]
		s.changes = s.changes[1:]
		news := arrival{at: c.at, from: c.who, what: c.what}
		s.home(c.who).enter(dispatch{news, c.who})
		for _, t := range s.actors[c.who].ties {
			if t.peer >= 0 {
				s.home(t.peer).enter(dispatch{news, t.peer})
			}
		}
	}
}

// meet handles somebody's leaving or coming: the agent's own, or a neighbour's.
func (h *shard) meet(i int32, r arrival) error {
	if r.from == i {
		return h.turn(i, r)
	}
	a := &h.s.actors[i]
	k, known := a.tie(r.from)
	if known {
		a.ties[k].away = r.what == leaves
	}
	if err := h.lookAt(i, k, known, r.at); err != nil {
		return err
	}
	if known && r.what != leaves && !a.away {
		h.serve(i, r.from, r.at)
	}
	return nil
}

// turn lets an agent leave or come.
func (h *shard) turn(i int32, r arrival) error {
	a := &h.s.actors[i]
	a.away, a.next, a.armed = r.what == leaves, learner.Never, false
	if r.what == restarts {
		state := a.State()
		if err := h.s.start(i, &state); err != nil {
			return h.failed("participant %q comes back: %w", i, err)
		}
	}
	h.account(a)
	if err := h.look(i, r.at); err != nil {
		return err
	}
	for _, t := range a.ties {
		if !a.away && t.peer >= 0 && !t.away {
			h.serve(i, t.peer, r.at)
		}
	}
	return nil
}

// lookAt tells participant i that its k-th neighbour has left or come.
func (h *shard) lookAt(i int32, k int, known bool, now time.Duration) error {
	a := &h.s.actors[i]
	if !h.s.pull || !known {
		return h.look(i, now)
	}
	if a.away {
		return nil
	}
	return h.apply(i, now, a.listener.Listens(now, k, a.edges[k].Live && !a.ties[k].away))
}

// look tells participant i who of its neighbours is there.
func (h *shard) look(i int32, now time.Duration) error {
	a := &h.s.actors[i]
	if a.away {
		return nil
	}
	h.edges = append(h.edges[:0], a.edges...)
	for k := range h.edges {
		h.edges[k].Live = h.edges[k].Live && !a.ties[k].away
		if peer := a.ties[k].peer; peer >= 0 {
			h.edges[k].Peer = h.s.Participants[peer].ID // the same memory as in its messages: quick to compare
		}
	}
	return h.apply(i, now, a.Neighbours(now, h.edges))
}
