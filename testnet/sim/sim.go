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
	Edges   []learner.Edge // see [RandomGraph] and [ProfileGraph]
	// Policy is the budget of each cohort and the mechanisms of the releases.
	// Without terms there is no account and no guarantee.
	Policy privacy.Policy
	// Releases is the largest number of releases; 0 means as many as the budget
	// allows (protected) or until Config.Until (unprotected).
	Releases int
}

// Config is one simulation.
type Config struct {
	Task         *learner.Task // required
	Participants []Participant
	Seed         uint64
	WakeMean     time.Duration // mean time between an agent's wakes, > 0
	Latency      time.Duration // mean of the exponential delay of each delivery
	Until        time.Duration // required: the simulation never runs longer
	// Sample, if set, is called at virtual times Every, 2 Every, ... and at the
	// end with the states in the order of Participants.
	Sample func(now time.Duration, states []learner.State)
	Every  time.Duration
	Trace  bool // keep every agent's inputs for [learner.Replay]
}

// Result is what a simulation leaves behind; slices follow Participants.
type Result struct {
	States   []learner.State
	Releases []int             // made by each agent
	Spent    []float64         // share of the budget of the first cohort, in [0, 1]; 0 without a budget
	Messages int               // delivered
	End      time.Duration     // virtual
	Traces   [][]learner.Input // nil unless Config.Trace
}

// Run simulates until every agent has used its releases and every message has
// arrived, or until Config.Until.
func Run(c Config) (*Result, error) {
	s, err := newSimulation(c)
	if err != nil {
		return nil, err
	}
	for s.events.Len() > 0 && s.busy() {
		e := heap.Pop(&s.events).(event)
		if e.at > c.Until {
			break
		}
		s.sampleUpTo(e.at)
		s.now = e.at
		if err := s.handle(e); err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

// AgentSchedule is the source of the wake times of participant i: what a replay
// of its trace must be constructed with.
func AgentSchedule(seed uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 2*uint64(i)))
}

type simulation struct {
	Config
	actors  []actor
	index   map[learner.ID]int // looked up, never iterated
	latency *rand.Rand
	events  events
	now     time.Duration
	order   uint64        // breaks ties in time
	flying  int           // messages on their way
	working int           // agents that may release again
	heard   int           // messages delivered
	sample  time.Duration // when the next one is due
}

// actor is an agent with its door.
type actor struct {
	learner.Agent
	recorder *learner.Recorder // nil without a trace
	door     door
	next     time.Duration // of its timer
	done     bool
	cohort   privacy.Cohort
}

func newSimulation(c Config) (*simulation, error) {
	if c.Task == nil || c.Until <= 0 || c.WakeMean <= 0 {
		return nil, errors.New("sim: Task, Until and WakeMean are required")
	}
	s := &simulation{
		Config: c, index: map[learner.ID]int{},
		latency: rand.New(rand.NewPCG(c.Seed, 1)), sample: c.Every,
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
	for i, p := range c.Participants {
		if a := &s.actors[i]; len(p.Edges) == 0 || len(p.Records) == 0 {
			a.done = true // it will never release
		} else {
			s.working++
		}
		if err := s.apply(i, s.actors[i].Neighbours(0, p.Edges)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newActor(c *Config, i int) (actor, error) {
	p := &c.Participants[i]
	agent, err := learner.New(learner.Config{
		Self: p.ID, Task: c.Task, Policy: p.Policy,
		WakeMean: c.WakeMean.Seconds(), Schedule: AgentSchedule(c.Seed, i),
	})
	if err != nil {
		return actor{}, err
	}
	a := actor{Agent: agent}
	if c.Trace {
		a.recorder = &learner.Recorder{Agent: agent}
		a.Agent = a.recorder
	}
	if len(p.Records) > 0 {
		a.cohort = p.Records[0].Cohort
	}
	if a.door, err = newDoor(p, c.Seed+uint64(i)<<32); err != nil {
		return actor{}, err
	}
	return a, a.Records(p.Records, nil)
}

func (s *simulation) push(e event) {
	e.order = s.order
	s.order++
	heap.Push(&s.events, e)
}

// busy reports whether anything but idle clocks is left.
func (s *simulation) busy() bool { return s.working > 0 || s.flying > 0 }

func (s *simulation) handle(e event) error {
	a := &s.actors[e.to]
	if e.message != nil {
		s.flying--
		out, err := a.Receive(s.now, *e.message)
		if errors.Is(err, learner.ErrStale) || errors.Is(err, learner.ErrStranger) {
			return s.apply(e.to, out) // overtaken on the way, or a one-sided edge
		}
		if err != nil {
			return fmt.Errorf("sim: message from %q to %q: %w", e.message.From, s.Participants[e.to].ID, err)
		}
		s.heard++
		return s.apply(e.to, out)
	}
	if e.at != a.next || a.done {
		return nil // re-armed since, or nothing left to wake for
	}
	return s.apply(e.to, a.Tick(s.now))
}

// apply carries out what an agent asks, the door's answer included.
func (s *simulation) apply(i int, out learner.Output) error {
	a := &s.actors[i]
	for out.Ask != nil {
		answer, err := a.door.answer(out.Ask)
		if err != nil {
			return fmt.Errorf("sim: the door of %q: %w", s.Participants[i].ID, err)
		}
		if answer.Exhausted() && !a.done {
			a.done = true
			s.working--
		}
		s.send(out.Send)
		out = a.Released(s.now, answer)
	}
	s.send(out.Send)
	if out.Next != a.next && out.Next != learner.Never {
		s.push(event{at: out.Next, to: i})
	}
	a.next = out.Next
	return nil
}

// send delivers broadcasts along the sender's edges.
func (s *simulation) send(messages []learner.Message) {
	for _, m := range messages {
		for _, e := range s.Participants[s.index[m.From]].Edges {
			to, known := s.index[e.Peer]
			if !known {
				continue
			}
			delay := time.Duration(float64(s.Latency) * s.latency.ExpFloat64())
			s.push(event{at: s.now + delay, to: to, message: &m})
			s.flying++
		}
	}
}

func (s *simulation) sampleUpTo(at time.Duration) {
	for ; s.Sample != nil && s.Every > 0 && s.sample <= at; s.sample += s.Every {
		s.Sample(s.sample, s.states())
	}
}

func (s *simulation) states() []learner.State {
	states := make([]learner.State, len(s.actors))
	for i := range s.actors {
		states[i] = s.actors[i].State()
	}
	return states
}

func (s *simulation) result() *Result {
	r := &Result{States: s.states(), Messages: s.heard, End: s.now}
	for i := range s.actors {
		a := &s.actors[i]
		r.Releases = append(r.Releases, a.door.made)
		r.Spent = append(r.Spent, a.door.spent(a.cohort))
		if a.recorder != nil {
			r.Traces = append(r.Traces, a.recorder.Trace)
		}
	}
	if s.Sample != nil {
		s.Sample(s.now, r.States)
	}
	return r
}
