// Package sim runs the agents of package learner under virtual time: the code
// that runs on a device, without network, disk or clock. One goroutine, one
// event heap; the same seed gives the same bits.
package sim

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Participant is one agent with what surrounds it.
type Participant struct {
	ID      learner.ID // required, unique
	Records []learner.Record
	Edges   []learner.Edge // see [RandomGraph], [ProfileGraph], [Ring], [Star] and [Full]
	Profile []float64      // declared public, for [Discovery] under the graph rule "profile"
	// Policy is the budget of each cohort and the mechanisms of the releases.
	// Without terms there is no account and no guarantee.
	Policy privacy.Policy
	// Releases is the largest number of releases; 0 means as many as the budget
	// allows (protected) or until Config.Until (unprotected).
	Releases int
	// Start is where the agent begins, as after a restart: for measurements that
	// begin at given models, each known to the neighbours. nil: at zero.
	Start *learner.State
}

// Config is one simulation.
type Config struct {
	Task         *learner.Task // required
	Participants []Participant
	Seed         uint64
	WakeMean     time.Duration // mean time between an agent's wakes, > 0
	Latency      time.Duration // mean of the exponential delay of each delivery
	Loss         float64       // probability in [0, 1) that a delivery never arrives; nothing is sent again
	Away         []Away        // who is not there when; see [Churn]
	Discovery    *Discovery    // how edges come and go; nil: they are those of the participants
	Until        time.Duration // required: the simulation never runs longer
	// Sample, if set, is called at virtual times Every, 2 Every, ... and at the
	// end with the states in the order of Participants.
	Sample func(now time.Duration, states []learner.State)
	Every  time.Duration
	// Wrap, if set, returns what stands in for an agent each time it starts: to look
	// at every input and output of a round, not only at states.
	Wrap  func(participant int, a learner.Agent) learner.Agent
	Trace bool // keep every agent's inputs for [learner.Replay]
}

// Run simulates until every message has arrived and no agent has anything left
// to do, or until Config.Until. A learner with a clock has nothing left to do
// when its releases are used up, one in rounds when it waits for messages only.
// With Config.Discovery a run always lasts until Config.Until.
func Run(c Config) (*Result, error) {
	s, err := newSimulation(c)
	if err != nil {
		return nil, err
	}
	for s.working > 0 || s.flying > 0 || s.Discovery != nil {
		at, change := s.upcoming()
		if at > c.Until {
			break
		}
		s.sampleUpTo(at)
		s.now = at
		if change {
			err = s.nextChange()
		} else {
			err = s.handle(heap.Pop(&s.events).(event))
		}
		if err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

type simulation struct {
	Config
	actors  []actor
	index   map[learner.ID]int // looked up, never iterated
	latency *rand.Rand
	losses  *rand.Rand
	events  events
	changes []change // in order of time
	now     time.Duration
	order   uint64 // breaks ties in time
	flying  int    // messages on their way
	working int    // agents that have something left to do
	taken   int    // messages delivered and taken
	sent    map[learner.Kind]int
	lost    int
	sample  time.Duration // when the next one is due

	finders     []finder   // of discovery
	talks       *rand.Rand // delays and losses of its conversations
	exchanges   int
	edgeChanges []time.Duration
}

func newSimulation(c Config) (*simulation, error) {
	if c.Task == nil || c.Until <= 0 || c.WakeMean <= 0 || !(c.Loss >= 0 && c.Loss < 1) {
		return nil, errors.New("sim: Task, Until and WakeMean are required, and Loss is a probability below 1")
	}
	s := &simulation{
		Config: c, index: map[learner.ID]int{}, sent: map[learner.Kind]int{}, sample: c.Every,
		latency: rand.New(rand.NewPCG(c.Seed, 1)), losses: rand.New(rand.NewPCG(c.Seed, 3)),
	}
	for i, p := range c.Participants {
		if _, twice := s.index[p.ID]; twice {
			return nil, fmt.Errorf("sim: participant %q is there twice", p.ID)
		}
		s.index[p.ID] = i
		a, err := newActor(&c, i)
		if err != nil {
			return nil, fmt.Errorf("sim: participant %q: %w", p.ID, err)
		}
		s.actors = append(s.actors, a)
	}
	if err := s.scheduleChanges(); err != nil {
		return nil, err
	}
	for i := range s.actors {
		s.actors[i].next = learner.Never
		if err := s.look(i); err != nil {
			return nil, err
		}
		s.account(i)
	}
	if c.Discovery != nil {
		return s, s.startDiscovery()
	}
	return s, nil
}

// upcoming returns the time of what happens next, and whether it is somebody's
// coming or going. When nothing does, it is after the end.
func (s *simulation) upcoming() (at time.Duration, change bool) {
	at = learner.Never
	if len(s.events) > 0 {
		at = s.events[0].at
	}
	if len(s.changes) > 0 && s.changes[0].at <= at {
		return s.changes[0].at, true
	}
	return at, false
}

func (s *simulation) push(e event) {
	e.order = s.order
	s.order++
	heap.Push(&s.events, e)
}

func (s *simulation) handle(e event) error {
	if e.call != nil {
		return e.call()
	}
	a := &s.actors[e.to]
	if e.message != nil {
		s.flying--
		if a.away {
			s.lost++
			return nil
		}
		return s.deliver(e.to, e.message)
	}
	if e.at != a.next || a.done || a.away {
		return nil // re-armed since, or nothing left to wake for
	}
	return s.apply(e.to, a.Tick(s.now))
}

func (s *simulation) deliver(to int, m *learner.Message) error {
	out, err := s.actors[to].Receive(s.now, *m)
	switch {
	case err == nil:
		s.taken++
	case !errors.Is(err, learner.ErrStale) && !errors.Is(err, learner.ErrStranger):
		return fmt.Errorf("sim: message from %q to %q: %w", m.From, s.Participants[to].ID, err)
	} // else it was overtaken on the way, or the edge is one-sided
	return s.apply(to, out)
}

// apply carries out what an agent asks, the door's answer included.
func (s *simulation) apply(i int, out learner.Output) error {
	a := &s.actors[i]
	for out.Ask != nil {
		answer, err := a.door.answer(out.Ask)
		if err != nil {
			return fmt.Errorf("sim: the door of %q: %w", s.Participants[i].ID, err)
		}
		a.done = a.done || s.clocked() && answer.Exhausted()
		s.send(i, out.Send)
		out = a.Released(s.now, answer)
		s.published(i)
	}
	s.send(i, out.Send)
	next := max(out.Next, s.now)
	if next != a.next && next != learner.Never {
		s.push(event{at: next, to: i})
	}
	a.next = next
	s.account(i)
	return nil
}

// clocked reports whether the agents' clocks go on for ever, so that an armed
// timer does not mean there is work left.
func (s *simulation) clocked() bool { return s.Task.Learner == "personal" }

// account keeps working the number of actors with something left to do.
func (s *simulation) account(i int) {
	a := &s.actors[i]
	works := !a.done && (a.away || a.next != learner.Never)
	if works && !a.works {
		s.working++
	} else if !works && a.works {
		s.working--
	}
	a.works = works
}

// send delivers broadcasts along the sender's edges, and other messages to
// whom they name.
func (s *simulation) send(from int, messages []learner.Message) {
	for _, m := range messages {
		if m.To != "" {
			s.sendTo(m.To, &m)
			continue
		}
		s.actors[from].newest = &m
		for _, e := range s.actors[from].edges {
			s.sendTo(e.Peer, &m)
		}
	}
}

func (s *simulation) sendTo(peer learner.ID, m *learner.Message) {
	to, known := s.index[peer]
	if !known {
		return
	}
	s.sent[m.Kind]++
	delay := time.Duration(float64(s.Latency) * s.latency.ExpFloat64())
	if s.Loss > 0 && s.losses.Float64() < s.Loss {
		s.lost++
		return
	}
	s.push(event{at: s.now + delay, to: to, message: m})
	s.flying++
}
