package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
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

// Churn lets each of n participants come and go until the end, independently:
// present for exponential times of mean up, then away for those of mean down.
// The same seed gives the same times.
func Churn(n int, up, down, until time.Duration, seed uint64) []Away {
	r := rand.New(rand.NewPCG(seed, 5))
	wait := func(mean time.Duration) time.Duration { return time.Duration(float64(mean) * r.ExpFloat64()) }
	var list []Away
	for i := range n {
		for from := wait(up); from < until; {
			to := from + wait(down)
			list = append(list, Away{Who: i, From: from, To: to})
			from = to + wait(up)
		}
	}
	return list
}

// change is a participant's leaving or coming.
type change struct {
	at      time.Duration
	who     int
	comes   bool
	restart bool
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
			s.changes = append(s.changes, change{at: w.From, who: w.Who})
		}
		s.changes = append(s.changes, change{at: w.To, who: w.Who, comes: true, restart: w.Restart})
	}
	slices.SortStableFunc(s.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return nil
}

func (s *simulation) nextChange() error {
	c := s.changes[0]
	s.changes = s.changes[1:]
	a := &s.actors[c.who]
	a.away, a.next = !c.comes, learner.Never
	if c.comes && c.restart {
		state := a.State()
		if err := a.start(&s.Config, c.who, &state); err != nil {
			return fmt.Errorf("sim: participant %q comes back: %w", s.Participants[c.who].ID, err)
		}
	}
	s.account(c.who)
	if err := s.look(c.who); err != nil {
		return err
	}
	for _, e := range s.actors[c.who].edges {
		j, known := s.index[e.Peer]
		if !known {
			continue
		}
		if err := s.look(j); err != nil {
			return err
		}
		if c.comes && !s.actors[j].away {
			s.serve(j, c.who)
			s.serve(c.who, j)
		}
	}
	return nil
}

// look tells participant i who of its neighbours is there.
func (s *simulation) look(i int) error {
	if s.actors[i].away {
		return nil
	}
	edges := slices.Clone(s.actors[i].edges)
	for k := range edges {
		if j, known := s.index[edges[k].Peer]; known && s.actors[j].away {
			edges[k].Live = false
		}
	}
	return s.apply(i, s.actors[i].Neighbours(s.now, edges))
}

// serve sends the newest broadcast of from once more, to one.
func (s *simulation) serve(from, to int) {
	if m := s.actors[from].newest; m != nil {
		s.sendTo(s.Participants[to].ID, m)
	}
}
