package sim

import (
	"errors"
	"iter"
	"math"
	"time"

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

// release puts an agent's model into its outbox, where the others find it from the next
// window on: none can arrive before.
func (h *shard) release(i int32, now time.Duration, m *learner.Message) {
	a := &h.s.actors[i]
	v := version{at: [3]time.Duration{now, longAgo, longAgo}, round: m.Round, noiseStd: m.NoiseStd, previous: a.said}
	if a.said != nothing { // of the round before
		copy(v.at[1:], h.pool.at(a.said).at[:])
	}
	a.said = h.pool.store(v)
	h.released = append(h.released, i)
	h.sent[learner.KindModel] += len(a.ties)
	if h.s.Loss == 0 {
		return
	}
	for k := range a.ties {
		if first, _ := h.s.copies(v.posted(i, a.ties[k].peer)); first == learner.Never {
			h.lost++
		}
	}
}

func (v *version) posted(from, to int32) posted {
	return posted{from, to, v.at[0], learner.KindModel, v.round}
}

// publish lets the others see what the shard's agents have released in the window.
func (h *shard) publish() {
	for _, i := range h.released {
		h.s.newest[i] = h.s.actors[i].said
	}
	h.released = h.released[:0]
}

// since goes through the versions of an agent that may arrive after a time, the newest
// first.
func (s *simulation) since(looked time.Duration, from int32) iter.Seq2[int32, *version] {
	return func(yield func(int32, *version) bool) {
		p := &s.home(from).pool
		for n := s.newest[from]; n != nothing; {
			v := p.at(n)
			if !yield(n, v) || v.at[1]+s.longest <= looked {
				return
			}
			n = v.previous
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

// take lets an agent take the newest version of each neighbour that has arrived since it
// looked.
func (h *shard) take(i int32, looked, now time.Duration) error {
	a := &h.s.actors[i]
	for k := range a.ties {
		h.between()
		if n := h.newest(i, k, looked, now); n != nothing {
			if err := h.hand(i, k, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest is the newest version that has arrived from an agent's k-th neighbour, if it is
// news. Those before that would have been when they arrived count as taken, too.
func (h *shard) newest(i int32, k int, looked, now time.Duration) int32 {
	t := &h.s.actors[i].ties[k]
	n := h.s.newest[t.peer]
	if n == nothing || n == t.held {
		return nothing
	}
	p := &h.s.home(t.peer).pool
	v := p.at(n)
	heard, earliest := int32(nothing), learner.Never
	for back := 0; v.round-uint64(back) > t.round; {
		m := posted{t.peer, i, v.at[back], learner.KindModel, v.round - uint64(back)}
		if at := h.s.arrival(m, looked, now); at <= min(now, earliest) {
			earliest = at
			h.taken++
			h.last = max(h.last, at)
			if heard == nothing {
				heard = p.before(n, back)
			}
		}
		if back++; back == len(v.at) {
			n, back = p.before(n, back-1), 1
			v = p.at(n)
		}
		if v.at[back]+h.s.longest <= looked {
			break
		}
	}
	return heard
}

// arrival is when the first copy of a message arrives after a time; [learner.Never] if
// none does until now.
func (s *simulation) arrival(m posted, after, now time.Duration) time.Duration {
	first := learner.Never
	if m.at+s.leastDelay() > now {
		return first
	}
	one, other := s.copies(m)
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
	for _, v := range h.s.since(looked, peer) {
		one, other := h.s.copies(v.posted(peer, i))
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
			for _, v := range s.since(s.looked[i], a.ties[k].peer) {
				one, other := s.copies(v.posted(a.ties[k].peer, int32(i)))
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
