package sim

import (
	"errors"
	"iter"
	"math"
	"time"
	"unsafe"

	"p2pnode/learner"
)

// Agents that only ever need the newest model of each neighbour are not sent any. What
// one releases goes into its outbox, as a version with its time; a neighbour that wakes
// takes the newest version that has arrived until then, as a node's inbox keeps the
// newest of each sender. When a version arrives is a hash, so nothing is stored for it.
// What is sent otherwise, and to one alone, is a letter in both cases; see mail.go.

// pulls reports whether the agents can do with that: their learner has a clock of its
// own, nobody looks at what they are told, and edges stay, hold at both ends, and are
// in the order in which agents keep them.
func (s *simulation) pulls() bool {
	if !s.clocked || s.Wrap != nil || s.Trace || s.Discovery != nil {
		return false
	}
	for i := range s.actors {
		a := &s.actors[i]
		for k, e := range a.edges {
			peer := a.ties[k].peer
			if peer < 0 || peer == int32(i) || !(e.Weight > 0) || math.IsInf(e.Weight, 0) || k > 0 && e.Peer <= a.edges[k-1].Peer {
				return false
			}
			if _, back := s.actors[peer].tie(int32(i)); !back {
				return false
			}
		}
	}
	return true
}

// outbox is what the others can see of an agent's versions: when it released the newest
// ones, the newest first, in two lines of the cache. They nearly always say what arrived when,
// without a look at the versions.
type outbox struct {
	at      [recent]time.Duration // longAgo where there is none
	version [recent]int32
	round   uint64 // of the newest; 0: there is none
}

// recent is how many versions an outbox has. One of a thousand neighbours releases more
// between two wakes.
const recent = 10

// longAgo is when a version that never was is said to have been released: long before
// anybody looked, but time can be added to it.
const longAgo = -learner.Never / 2

func emptyOutbox() outbox {
	var o outbox
	for k := range recent {
		o.at[k], o.version[k] = longAgo, nothing
	}
	return o
}

// edition is a version as those see it who may take it.
type edition struct {
	version int32
	at      time.Duration
	round   uint64
}

func (e edition) posted(from, to int32) posted {
	return posted{from, to, e.at, learner.KindModel, e.round}
}

// put puts an edition before the others.
func (o *outbox) put(e edition) {
	copy(o.at[1:], o.at[:])
	copy(o.version[1:], o.version[:])
	o.at[0], o.version[0], o.round = e.at, e.version, e.round
}

// newest is the first edition.
func (o *outbox) newest() edition { return edition{o.version[0], o.at[0], o.round} }

// before is the edition of an agent before another, which came back rounds before the
// newest. When it was released is known even if its version was freed.
func (s *simulation) before(from int32, back int, e edition) edition {
	if back++; back < recent {
		o := &s.outboxes[from]
		return edition{o.version[back], o.at[back], e.round - 1}
	}
	v := s.home(from).pool.at(e.version)
	return edition{v.previous, v.before, e.round - 1}
}

// release puts an agent's model into its outbox, where the others find it from the next
// window on: none can arrive before.
func (h *shard) release(i int32, now time.Duration, m *learner.Message) {
	a := &h.s.actors[i]
	v := version{at: now, before: longAgo, round: m.Round, noiseStd: m.NoiseStd, previous: a.said}
	if a.said != nothing { // of the round before
		v.before = h.pool.at(a.said).at
	}
	a.said = h.pool.store(v)
	e := edition{a.said, now, m.Round}
	h.released = append(h.released, release{i, e})
	h.sent[learner.KindModel] += len(a.ties)
	if h.s.Loss == 0 {
		return
	}
	for k := range a.ties {
		if first, _ := h.s.copies(e.posted(i, a.ties[k].peer)); first == learner.Never {
			h.lost++
		}
	}
}

// release is an edition that the others cannot see yet.
type release struct {
	who int32
	edition
}

// publish lets the others see what the shard's agents have released in the window.
func (h *shard) publish() {
	const soon = 8 // how many releases ahead the outbox is fetched that will be written to
	for k, r := range h.released {
		if h.s.fetch && k+soon < len(h.released) {
			o := &h.s.outboxes[h.released[k+soon].who]
			prefetch(unsafe.Pointer(o), int(unsafe.Sizeof(*o))/lineSize)
		}
		h.s.outboxes[r.who].put(r.edition)
	}
	h.released = h.released[:0]
}

// since goes through the editions of an agent that may arrive after a time, the newest
// first.
func (s *simulation) since(looked time.Duration, from int32) iter.Seq[edition] {
	return func(yield func(edition) bool) {
		e := s.outboxes[from].newest()
		for back := 0; e.version != nothing && yield(e); back++ {
			if e = s.before(from, back, e); e.at+s.longest <= looked {
				return
			}
		}
	}
}

// catchUp lets an agent take what has arrived until now. While it is away that is lost.
func (h *shard) catchUp(i int32, now time.Duration) error {
	a := &h.s.actors[i]
	looked := h.s.looked[i]
	if now <= looked {
		return nil
	}
	h.s.looked[i] = now
	if a.away {
		for k := range a.ties {
			h.miss(i, a.ties[k].peer, looked, now)
		}
		return nil
	}
	return h.take(i, looked, now)
}

// plan is what an agent takes at a time: found out ahead of it, so that it can be
// fetched.
type plan struct {
	who         int32
	looked, now time.Duration
	takes       []take
	taken       int
	last        time.Duration // that any of them arrived
}

// take is a version to take over an edge.
type take struct{ edge, version int32 }

// make makes the plan of an agent that takes the newest version of each neighbour
// that has arrived since it looked.
func (p *plan) make(s *simulation, i int32, looked, now time.Duration) {
	*p = plan{who: i, looked: looked, now: now, takes: p.takes[:0]}
	ties := s.actors[i].ties
	for k := range ties {
		if n := p.newest(s, &ties[k]); n != nothing {
			p.takes = append(p.takes, take{int32(k), n})
		}
	}
}

// take lets an agent take what has arrived since it looked.
func (h *shard) take(i int32, looked, now time.Duration) error {
	p := h.worker.plan()
	if p.who != i || p.looked != looked || p.now != now {
		p.make(h.s, i, looked, now)
	}
	h.taken += p.taken
	h.last = max(h.last, p.last)
	for _, t := range p.takes {
		h.worker.between()
		if err := h.hand(i, int(t.edge), t.version); err != nil {
			return err
		}
	}
	return nil
}

// newest is the newest version that has arrived over an edge, if it is news. Those
// before that would have been when they arrived count as taken, too.
func (p *plan) newest(s *simulation, t *tie) int32 {
	heard, earliest := int32(nothing), p.now
	e := s.outboxes[t.peer].newest()
	for back := 0; e.round > t.round; back++ {
		if at := s.arrival(t.way, e, p.looked, p.now); at <= earliest {
			earliest = at
			p.taken++
			p.last = max(p.last, at)
			if heard == nothing {
				heard = e.version
			}
		}
		if e.round <= t.round+1 {
			break // what lies behind may be far away
		}
		if e = s.before(t.peer, back, e); e.at+s.longest <= p.looked {
			break
		}
	}
	return heard
}

// arrival is when the first copy of an edition arrives after a time; [learner.Never] if
// none does until now.
func (s *simulation) arrival(way uint64, e edition, after, now time.Duration) time.Duration {
	first := learner.Never
	if e.at+s.leastDelay() > now {
		return first
	}
	one, other := s.copiesOn(way, e.at, learner.KindModel, e.round)
	if one > after && one <= now {
		first = one
	}
	if other > after && other <= now {
		first = min(first, other)
	}
	return first
}

// hand hands an agent a version of its k-th neighbour.
func (h *shard) hand(i int32, k int, n int32) error {
	a := &h.s.actors[i]
	t := &a.ties[k]
	p := &h.s.home(t.peer).pool
	v := p.at(n)
	h.message.Round, h.message.NoiseStd, h.message.Real = v.round, v.noiseStd, p.model(n)
	switch err := a.listener.Hear(k, &h.message); {
	case err == nil:
		t.held = n
	case !errors.Is(err, learner.ErrStale): // which it is after a start with something newer
		return h.failed("what %q hears: %w", i, err)
	}
	t.round = v.round
	return nil
}

// miss counts what arrives from a neighbour while an agent is away.
func (h *shard) miss(i, peer int32, looked, now time.Duration) {
	for e := range h.s.since(looked, peer) {
		one, other := h.s.copies(e.posted(peer, i))
		for _, at := range [...]time.Duration{one, other} {
			if at > looked && at <= now {
				h.lost++
			}
		}
	}
}

// ending is when the last thing arrives that is on its way.
func (s *simulation) ending() time.Duration {
	var last time.Duration
	for i := range s.actors {
		a := &s.actors[i]
		for _, r := range a.inbox {
			last = max(last, r.at)
		}
		for k := range a.ties {
			for e := range s.since(s.looked[i], a.ties[k].peer) {
				one, other := s.copies(e.posted(a.ties[k].peer, int32(i)))
				for _, at := range [...]time.Duration{one, other} {
					if at != learner.Never {
						last = max(last, at)
					}
				}
			}
		}
	}
	return last
}
