// Package sim runs the agents of package learner under virtual time: the code
// that runs on a device, without network, disk or clock. The same seed gives the
// same bits on any number of processors.
//
// Time goes on in windows. No message takes less than a public least delay, so
// within a window of that length agents cannot affect each other: each handles what
// is due to it, in the order of time, and what they sent is handed over at the
// window's end, or can be seen from then on. The agents are divided into shards, which
// change nothing of each other's within a window; one processor or many work through
// them. With few agents a window holds hardly more than one event, and then one
// processor does it all.
package sim

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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
	// Latency is the mean delay of each delivery: half of it is the same for all, the
	// rest exponential.
	Latency   time.Duration
	Loss      float64       // probability in [0, 1) that a delivery never arrives; nothing is sent again
	Duplicate float64       // probability in [0, 1] that a delivery that arrives does so twice, each in its time
	Away      []Away        // who is not there when; see [Weather]
	Discovery *Discovery    // how edges come and go; nil: they are those of the participants
	Until     time.Duration // required: the simulation never runs longer
	// Sample, if set, is called at virtual times Every, 2 Every, ... and at the
	// end with the states in the order of Participants.
	Sample func(now time.Duration, states []learner.State)
	Every  time.Duration
	// Wrap, if set, returns what stands in for an agent each time it starts: to look
	// at every input and output of a round, not only at states. Then everything
	// happens in the order of time on one goroutine, and what agents return lasts.
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
	if err := s.run(c.Until); err != nil {
		return nil, err
	}
	return s.result()
}

// Running is a simulation that goes on step by step.
type Running struct {
	s   *simulation
	now time.Duration
}

// Start makes the agents, at time 0.
func Start(c Config) (*Running, error) {
	s, err := newSimulation(c)
	return &Running{s: s}, err
}

// Advance goes on until a virtual time, inclusive, or until there is nothing left
// to do.
func (r *Running) Advance(until time.Duration) error {
	r.now = max(r.now, min(until, r.s.Until))
	return r.s.run(r.now)
}

// Wakes is how often agents have asked their doors for a release so far.
func (r *Running) Wakes() int {
	wakes := 0
	for i := range r.s.shards {
		wakes += r.s.shards[i].wakes
	}
	return wakes
}

// Messages is how many messages have been sent so far, one for each receiver, and how many
// of them were lost: by chance, or because the receiver was away.
func (r *Running) Messages() (sent, lost int) {
	for i := range r.s.shards {
		h := &r.s.shards[i]
		lost += h.lost
		for _, n := range h.sent {
			sent += n
		}
	}
	return sent, lost
}

// State is the state of one participant, who first hears what has arrived until now. A
// run goes on as if nobody had looked.
func (r *Running) State(participant int) (learner.State, error) {
	i := int32(participant)
	if err := r.s.home(i).hear(i, r.now); err != nil {
		return learner.State{}, err
	}
	return r.s.actors[i].State(), nil
}

type simulation struct {
	Config
	actors   []actor
	shards   []shard
	workers  []*worker
	untaken  atomic.Int32         // number of the first shard that no worker has taken in this window
	shift    uint8                // of an agent's number to that of its shard
	index    map[learner.ID]int32 // looked up, never iterated
	clocked  bool                 // agents' clocks go on for ever: an armed timer does not mean that there is work left
	pull     bool                 // agents take models when they wake; else messages are handled when they arrive
	fetch    bool                 // what agents will read is brought into the cache, if they pull
	outboxes []outbox             // of the agents, if they pull
	looked   []time.Duration      // when each agent last took what had arrived, likewise
	longest  time.Duration        // that a message can take
	ties     []tie                // not taken yet by agents
	changes  []change             // to come, in order of time
	now      time.Duration        // all before has happened
	last     time.Duration        // of what happened in discovery
	until    time.Duration        // end of the window
	busy     int                  // events of the window before
	sample   time.Duration        // when the next one is due

	finders     []finder // of discovery
	agenda      agendaOfTalks
	edgeChanges []time.Duration
}

func newSimulation(c Config) (*simulation, error) {
	if c.Task == nil || c.Until <= 0 || c.WakeMean <= 0 || c.Latency < 0 || !(c.Loss >= 0 && c.Loss < 1) || !(c.Duplicate >= 0 && c.Duplicate <= 1) {
		return nil, errors.New("sim: Task, Until and WakeMean are required, Latency is not negative, Loss is a probability below 1, and Duplicate a probability")
	}
	if err := c.Task.Validate(); err != nil {
		return nil, err
	}
	s := &simulation{
		Config: c, index: make(map[learner.ID]int32, len(c.Participants)), sample: c.Every,
		actors: inLargePages(make([]actor, len(c.Participants))), clocked: c.Task.Clocked(), longest: c.longestDelay(),
	}
	for i := range c.Participants {
		id := c.Participants[i].ID
		if _, twice := s.index[id]; twice {
			return nil, fmt.Errorf("sim: participant %q is there twice", id)
		}
		s.index[id] = int32(i)
	}
	if c.Discovery == nil {
		s.connect()
	}
	if s.pull = s.pulls(); s.pull {
		s.fetch = len(s.actors) >= outOfCache
		s.outboxes = inLargePages(make([]outbox, len(s.actors)))
		for i := range s.outboxes {
			s.outboxes[i] = emptyOutbox()
		}
		s.looked = slices.Repeat([]time.Duration{-1}, len(s.actors))
	}
	s.divide()
	for i := range s.actors {
		if err := s.newActor(int32(i)); err != nil {
			return nil, fmt.Errorf("sim: participant %q: %w", c.Participants[i].ID, err)
		}
	}
	if err := s.scheduleChanges(); err != nil {
		return nil, err
	}
	for i := range s.actors {
		h := s.home(int32(i))
		if err := h.look(int32(i), 0); err != nil {
			return nil, err
		}
		h.account(&s.actors[i])
		h.arrange(int32(i))
	}
	if err := s.handOver(); err != nil {
		return nil, err
	}
	if c.Discovery != nil {
		return s, s.startDiscovery()
	}
	return s, nil
}

// run goes from window to window, until a time, inclusive.
func (s *simulation) run(until time.Duration) error {
	until = min(until, learner.Never-1) // what is due at Never never happens
	for {
		at := s.upcoming()
		if working, flying := s.left(); working == 0 && s.Discovery == nil {
			if s.pull && s.ending() < at {
				return s.end(until)
			}
			if !s.pull && flying == 0 {
				return nil
			}
		}
		if at > until {
			return nil
		}
		if err := s.sampleUpTo(at); err != nil {
			return err
		}
		s.now = at
		var err error
		if s.agenda.next() <= at {
			if err = s.talk(); err == nil {
				err = s.handOver()
			}
		} else {
			err = s.window(min(s.windowEnd(at), until+1))
		}
		if err != nil {
			return err
		}
	}
}

// left counts the agents that have something left to do, and the messages on
// their way.
func (s *simulation) left() (working, flying int) {
	for i := range s.shards {
		working += s.shards[i].working
		flying += s.shards[i].flying
	}
	return working, flying
}

// end lets what is still on its way arrive, up to a time: it is all that is left.
func (s *simulation) end(until time.Duration) error {
	last := s.ending()
	if last > until {
		return nil
	}
	s.last = max(s.last, last)
	return s.sampleUpTo(last)
}

// upcoming returns the time of what happens next. When nothing does, it is after
// the end.
func (s *simulation) upcoming() time.Duration {
	at := s.agenda.next()
	for i := range s.shards {
		at = min(at, s.shards[i].agenda.next())
	}
	if len(s.changes) > 0 {
		at = min(at, s.changes[0].at)
	}
	return at
}

// windowEnd is that of the window that begins with what happens at the given time.
func (s *simulation) windowEnd(at time.Duration) time.Duration {
	end := at + 1
	if s.Wrap == nil {
		end = at + max(1, s.leastDelay())
	}
	if s.Sample != nil && s.Every > 0 {
		end = min(end, s.sample)
	}
	return min(end, s.agenda.next())
}

// window handles everything before its end.
func (s *simulation) window(end time.Duration) error {
	s.announceChanges(end)
	s.until = end
	s.work()
	s.collectEstimates()
	s.busy = 0
	for i := range s.shards {
		s.busy += s.shards[i].events
		if err := s.shards[i].err; err != nil {
			return err
		}
	}
	return s.handOver()
}

// handOver gives what was sent to those it goes to.
func (s *simulation) handOver() error {
	s.each((*shard).takeIn)
	return s.collect()
}
