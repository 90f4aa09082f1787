package sim

import (
	"time"

	"p2pnode/learner"
)

// Result is what a simulation leaves behind; slices follow Participants.
type Result struct {
	States   []learner.State
	Releases []int                // made by each agent
	Spent    []float64            // share of the budget of the first cohort, in [0, 1]; 0 without a budget
	Messages int                  // delivered and taken
	Sent     map[learner.Kind]int // messages sent, one for each receiver
	Lost     int                  // of those: by chance, or because the receiver was away
	End      time.Duration        // virtual
	Traces   [][]learner.Input    // of the life since the last restart; nil unless Config.Trace
	Edges    [][]learner.Edge     // at the end
	// EdgeChanges is when an edge came or went, of discovery.
	EdgeChanges []time.Duration
}

func (s *simulation) sampleUpTo(at time.Duration) error {
	for ; s.Sample != nil && s.Every > 0 && s.sample <= at; s.sample += s.Every {
		if err := s.settle(s.sample - 1); err != nil {
			return err
		}
		s.Sample(s.sample, s.states())
	}
	return nil
}

// settle lets everybody hear what has arrived until a time at which nobody has
// anything else to do.
func (s *simulation) settle(now time.Duration) error {
	for i := range s.actors {
		if err := s.home(int32(i)).hear(int32(i), now); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) states() []learner.State {
	states := make([]learner.State, len(s.actors))
	for i := range s.actors {
		states[i] = s.actors[i].State()
	}
	return states
}

func (s *simulation) result() (*Result, error) {
	if err := s.settle(s.Until); err != nil {
		return nil, err
	}
	r := &Result{
		States: s.states(), Sent: map[learner.Kind]int{}, End: s.last, EdgeChanges: s.edgeChanges,
	}
	for i := range s.shards {
		h := &s.shards[i]
		r.Messages += h.taken
		r.Lost += h.lost
		r.End = max(r.End, h.last)
		for kind, n := range h.sent {
			if n > 0 {
				r.Sent[learner.Kind(kind)] += n
			}
		}
	}
	for i := range s.actors {
		a := &s.actors[i]
		r.Edges = append(r.Edges, a.edges)
		r.Releases = append(r.Releases, a.door.made)
		r.Spent = append(r.Spent, a.door.spent(a.cohort))
		if a.recorder != nil {
			r.Traces = append(r.Traces, a.recorder.Trace)
		}
	}
	if s.Sample != nil {
		s.Sample(r.End, r.States)
	}
	return r, nil
}
