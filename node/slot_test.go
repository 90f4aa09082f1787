package node

import (
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// A slot is on the grid and at least the wait after the wake; the late one is at twice
// the wait, four times, and so on, and never between.
func TestPublicSlots(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		woke, wait, now, want time.Duration
	}{
		{0, 0, 5 * ms, 0}, // at once
		{10 * ms, slot, 11 * ms, 200 * ms},
		{99 * ms, slot, 199 * ms, 200 * ms},
		{100 * ms, slot, 300 * ms, 300 * ms},
		{100 * ms, slot, 301 * ms, 400 * ms},
		{100 * ms, slot, 401 * ms, 600 * ms},
		{100 * ms, slot, 601 * ms, 1000 * ms},
		{5 * ms, 1234 * ms, 1200 * ms, 1300 * ms},
		{5 * ms, 1234 * ms, 1301 * ms, 2500 * ms},
	} {
		if got := (publicSlot{c.woke, c.wait}).at(c.now); got != c.want {
			t.Errorf("woken at %v to wait %v, at %v: %v, want %v", c.woke, c.wait, c.now, got, c.want)
		}
	}
}

// The estimate of the work grows with the slots, the passes over them and the
// coordinates, stays bounded, and is the same for a record and an empty slot.
func TestWorkIsPublic(t *testing.T) {
	m, err := privacy.NewGaussian(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	asks := func(slots, passes, dim int, empty bool) *learner.Query {
		s, gradient := m.NewSum(1, dim), make([]float64, dim)
		for range slots {
			if empty {
				s.AddEmpty(gradient)
			} else {
				s.Add(gradient)
			}
		}
		return &learner.Query{Mechanism: m, Sums: []privacy.Sum{s}, Passes: passes}
	}
	few := work(asks(10, 0, 20, false))
	if work(asks(10, 1, 20, true)) != few {
		t.Error("a deletion shows")
	}
	for name, more := range map[string]time.Duration{
		"slots": work(asks(1000, 0, 20, false)), "passes": work(asks(10, 100, 20, false)), "coordinates": work(asks(10, 0, 2000, false)),
	} {
		if more < 5*few {
			t.Errorf("more %s: %v, was %v", name, more, few)
		}
	}
	if most := work(asks(1000, 1<<40, 20, false)); most != longestWork {
		t.Errorf("endless work is estimated as %v", most)
	}
}

// released is an agent that writes down when it is told of an answer.
type released struct {
	learner.Agent
	at *[]time.Duration
}

func (r released) Released(now time.Duration, a privacy.Answer) learner.Output {
	*r.at = append(*r.at, now)
	return r.Agent.Released(now, a)
}

// How long a computation takes, within what is publicly expected of it, neither moves
// the slot nor what the agent does next: here half a second in place of none.
func TestLateComputationDoesNotMoveTheSlot(t *testing.T) {
	var told []time.Duration
	var slots []time.Duration
	for _, took := range []time.Duration{0, 500 * time.Millisecond} {
		n := testNode(t, lineTask(), lineRecords(fixed(5), 10), nil)
		n.observe = func(a learner.Agent) learner.Agent { return released{a, &told} }
		s := attachedSession(t, n)
		s.loop.timer = time.NewTimer(time.Hour)
		s.loop.woke = time.Hour
		s.loop.agent.Neighbours(0, []learner.Edge{{Peer: "b", Weight: 1, Live: true}})
		out := s.loop.agent.Tick(s.loop.woke)
		if out.Ask == nil {
			t.Fatal("asks for no release")
		}
		out.Ask.Passes = 1e6 // nine seconds are expected
		s.loop.start = time.Now().Add(-s.loop.woke - took)
		if err := s.loop.handle(out); err != nil {
			t.Fatal(err)
		}
		slots = append(slots, (<-s.loop.outgoing).at)
	}
	if slots[0] != slots[1] || told[0] != told[1] || told[0] != slots[0] {
		t.Errorf("published at %v, the agent was told at %v", slots, told)
	}
}
