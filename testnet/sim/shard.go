package sim

import (
	"math/bits"
	"runtime"
	"sync"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Shards have a power of two of agents, at least minShard, and there are at most maxShards
// of them: numbers that do not depend on the machine, and enough for its processors to
// have about equally much to do.
const minShard, maxShards = 64, 32

// shard is a part of the agents, with everything that one goroutine needs to let
// them go through a window.
type shard struct {
	s      *simulation
	first  int32 // agent
	agenda agenda
	pool   pool
	out    [][]dispatch // by shard it goes to
	err    error

	events  int // handled in this window
	working int // agents that have something left to do
	flying  int // messages sent less those arrived, which may be others'
	wakes   int // that asked the door
	taken   int // messages delivered and taken
	lost    int
	sent    [learner.KindMasked + 1]int
	last    time.Duration // of what it handled

	workspace learner.Workspace
	answer    privacy.Answer
	payment   payment
	come      []arrival       // to the agent at work
	message   learner.Message // that it hears
	released  []release       // in this window
	edges     []learner.Edge
	worker    *worker // at work on it now, or last

	estimates []talk // published in this window
}

// dispatch is an arrival on its way to an agent.
type dispatch struct {
	arrival
	to int32
}

// divide makes the shards.
func (s *simulation) divide() {
	n := len(s.actors)
	size := max(minShard, (n+maxShards-1)/maxShards)
	if s.Wrap != nil {
		size = max(1, n)
	}
	s.shift = uint8(bits.Len(uint(size - 1)))
	size = 1 << s.shift
	s.shards = make([]shard, (n+size-1)/size)
	for i := range s.shards {
		count := min(size, n-i*size)
		h := &s.shards[i]
		*h = shard{
			s: s, first: int32(i * size), agenda: newAgenda(count, learner.Never),
			out: make([][]dispatch, len(s.shards)), message: learner.Message{Kind: learner.KindModel}, worker: s.worker(0),
		}
		if s.fetch {
			h.workspace.Between = func() { h.worker.between() }
		}
	}
	if s.pull {
		s.reservePools()
		s.reserveAgents()
	}
}

// home is the shard of an agent.
func (s *simulation) home(i int32) *shard { return &s.shards[i>>s.shift] }

// worthwhile is how many events a window must have had for the next to be given to
// several processors: below, they would mostly wait for each other.
const worthwhile = 64

// processors is how many of them the next window is worth.
func (s *simulation) processors() int {
	if s.busy < worthwhile {
		return 1
	}
	return max(1, min(runtime.GOMAXPROCS(0), len(s.shards)))
}

// each lets f see every shard, on all processors if that is worthwhile.
func (s *simulation) each(f func(h *shard)) {
	workers := s.processors()
	if workers == 1 {
		for i := range s.shards {
			f(&s.shards[i])
		}
		return
	}
	s.untaken.Store(0)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for h := s.takeShard(); h != nil; h = s.takeShard() {
				f(h)
			}
		})
	}
	all.Wait()
}

// takeShard gives each shard to one who asks; nil if none is left.
func (s *simulation) takeShard() *shard {
	if i := int(s.untaken.Add(1)) - 1; i < len(s.shards) {
		return &s.shards[i]
	}
	return nil
}

// live lets an agent that is due before the end of the window live until then.
func (h *shard) live(i int32) error {
	who := i - h.first
	due := h.agenda.due(who)
	for ; due < h.s.until; due = h.due(i) {
		h.events++
		h.last = max(h.last, due)
		if err := h.handle(i, due); err != nil {
			return err
		}
	}
	h.agenda.set(who, due)
	return nil
}

// handle lets an agent live through the time at which it is due.
func (h *shard) handle(i int32, now time.Duration) error {
	if err := h.hear(i, now); err != nil {
		return err
	}
	a := &h.s.actors[i]
	if !a.armed || a.next > now || a.done || a.away {
		return nil
	}
	a.armed = false
	return h.apply(i, now, a.Tick(now))
}

// due is when an agent has something to do next.
func (h *shard) due(i int32) time.Duration {
	a := &h.s.actors[i]
	due := learner.Never
	if a.armed && !a.done && !a.away {
		due = a.next
	}
	if !h.s.pull || a.changes > 0 {
		for _, r := range a.inbox {
			if !h.s.pull || r.change() {
				due = min(due, r.at)
			}
		}
	}
	return due
}

// arrange enters into the agenda when an agent is due.
func (h *shard) arrange(i int32) { h.agenda.set(i-h.first, h.due(i)) }

// takeIn puts what was sent to the shard's agents into their inboxes, and publishes what
// they have released.
func (h *shard) takeIn() {
	h.publish()
	me := h.first >> h.s.shift
	for from := range h.s.shards {
		box := &h.s.shards[from].out[me]
		for _, d := range *box {
			h.enter(d)
		}
		*box = (*box)[:0]
	}
}

// enter puts one arrival into an inbox.
func (h *shard) enter(d dispatch) {
	a := &h.s.actors[d.to]
	a.inbox = append(a.inbox, d.arrival)
	if d.change() {
		a.changes++
	}
	k := d.to - h.first
	if (!h.s.pull || d.change()) && d.at < h.agenda.due(k) {
		h.agenda.set(k, d.at)
	}
}

// apply carries out what an agent asks, the door's answer included.
func (h *shard) apply(i int32, now time.Duration, out learner.Output) error {
	a := &h.s.actors[i]
	for out.Ask != nil {
		h.wakes++
		if err := a.door.answer(out.Ask, &h.answer, &h.payment); err != nil {
			return h.failed("the door of %q: %w", i, err)
		}
		a.done = a.done || h.s.clocked && h.answer.Exhausted()
		h.send(i, now, out.Send)
		out = a.Released(now, h.answer)
		h.published(i, now)
	}
	h.send(i, now, out.Send)
	next := max(out.Next, now)
	if next != a.next {
		a.armed = next != learner.Never
	}
	a.next = next
	h.account(a)
	return nil
}

// account keeps working the number of agents with something left to do.
func (h *shard) account(a *actor) {
	works := !a.done && (a.away || a.next != learner.Never)
	if works && !a.works {
		h.working++
	} else if !works && a.works {
		h.working--
	}
	a.works = works
}
