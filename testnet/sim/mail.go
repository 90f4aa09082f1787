package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"p2pnode/learner"
)

// arrival is what comes to an agent at a time: a letter, or the news that an agent left
// or came.
type arrival struct {
	at      time.Duration
	from    int32
	what    int32            // a change; or of agents that pull the number of a version
	message *learner.Message // of agents that do not pull
}

// What an arrival can be beside a letter.
const (
	leaves = -1 - iota
	comes
	restarts // comes as a new agent with the old one's state
)

// change reports whether the arrival is somebody's leaving or coming.
func (r arrival) change() bool { return r.what <= leaves }

// order is that in which an agent handles what has arrived: by time, comings and
// goings first, then by sender. What one sent at one time stays in its order.
func order(a, b arrival) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	if a.change() != b.change() {
		if a.change() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.from, b.from)
}

// hear handles what has arrived at an agent until now.
func (h *shard) hear(i int32, now time.Duration) error {
	if len(h.s.actors[i].inbox) > 0 {
		if err := h.open(i, now); err != nil {
			return err
		}
	}
	if h.s.pull {
		return h.catchUp(i, now)
	}
	return nil
}

// open handles the arrivals until now.
func (h *shard) open(i int32, now time.Duration) error {
	a := &h.s.actors[i]
	h.come = h.come[:0]
	later := a.inbox[:0]
	for _, r := range a.inbox {
		if r.at <= now {
			h.come = append(h.come, r)
		} else {
			later = append(later, r)
		}
	}
	a.inbox = later
	slices.SortStableFunc(h.come, order)
	for _, r := range h.come {
		if h.s.pull && (r.from == i || !r.change()) { // a neighbour's change has nothing to do with what is heard
			if err := h.catchUp(i, r.at-1); err != nil {
				return err
			}
		}
		if err := h.handleArrival(i, r); err != nil {
			return err
		}
	}
	return nil
}

func (h *shard) handleArrival(i int32, r arrival) error {
	if r.change() {
		h.s.actors[i].changes--
		return h.meet(i, r)
	}
	h.last = max(h.last, r.at)
	h.flying--
	if h.s.actors[i].away {
		h.lost++
		return nil
	}
	return h.deliver(i, r)
}

// deliver hands an agent a letter.
func (h *shard) deliver(i int32, r arrival) error {
	a := &h.s.actors[i]
	if h.s.pull {
		k, _ := a.tie(r.from)
		if h.s.home(r.from).pool.at(r.what).round <= a.ties[k].round {
			return nil
		}
		h.taken++
		return h.hand(i, k, r.what)
	}
	out, err := a.Receive(r.at, *r.message)
	switch {
	case err == nil:
		h.taken++
	case !errors.Is(err, learner.ErrStale) && !errors.Is(err, learner.ErrStranger):
		return h.failed(fmt.Sprintf("message from %q to %%q: %%w", r.message.From), i, err)
	} // else it was overtaken on the way, or the edge is one-sided
	return h.apply(i, r.at, out)
}

// failed is the error of what a participant did.
func (h *shard) failed(format string, i int32, err error) error {
	return fmt.Errorf("sim: "+format, h.s.Participants[i].ID, err)
}

// send sends broadcasts along the sender's edges, and other messages to whom they
// name.
func (h *shard) send(from int32, now time.Duration, messages []learner.Message) {
	a := &h.s.actors[from]
	for k := range messages {
		if h.s.pull {
			h.release(from, now, &messages[k])
			continue
		}
		m := messages[k]
		if m.To != "" {
			if to, known := h.s.index[m.To]; known {
				h.post(from, to, now, &m)
			}
			continue
		}
		a.newest = &m
		for _, t := range a.ties {
			if t.peer >= 0 {
				h.post(from, t.peer, now, &m)
			}
		}
	}
}

// serve sends the newest broadcast of an agent once more, to one.
func (h *shard) serve(from, to int32, now time.Duration) {
	switch a := &h.s.actors[from]; {
	case h.s.pull && a.said != nothing:
		v := h.pool.at(a.said)
		h.carry(posted{from, to, now, learner.KindModel, v.round}, arrival{what: a.said})
	case a.newest != nil:
		h.post(from, to, now, a.newest)
	}
}

// post puts a message on its way.
func (h *shard) post(from, to int32, now time.Duration, m *learner.Message) {
	h.carry(posted{from, to, now, m.Kind, m.Round}, arrival{message: m})
}

// carry lets a letter arrive when its fate says.
func (h *shard) carry(p posted, letter arrival) {
	h.sent[p.kind]++
	one, other := h.s.copies(p)
	if one == learner.Never {
		h.lost++
	}
	letter.from = p.from
	home := p.to >> h.s.shift
	for _, at := range [...]time.Duration{one, other} {
		if at == learner.Never {
			break
		}
		h.flying++
		letter.at = at
		h.out[home] = append(h.out[home], dispatch{letter, p.to})
	}
}
