package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"p2pnode/learner"
)

// arrival is what comes to an agent at a time: a letter, by its number among those
// of its sender's shard, or the news that an agent left or came.
type arrival struct {
	at     time.Duration
	from   int32
	letter int32
	round  uint64 // of the letter
}

// What the letter of an arrival can be beside a number.
const (
	leaves = -2 - iota
	comes
	restarts // comes as a new agent with the old one's state
)

// change reports whether the arrival is somebody's leaving or coming.
func (r arrival) change() bool { return r.letter <= leaves }

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
	sortArrivals(h.come)
	skip := !h.s.prompt && a.changes == 0 && len(h.come) <= fewArrivals
	for k, r := range h.come {
		if skip && h.overtaken(i, r, h.come[k+1:]) {
			h.last = max(h.last, r.at)
			h.flying--
			continue
		}
		if r.change() {
			a.changes--
			if err := h.meet(i, r); err != nil {
				return err
			}
			continue
		}
		h.last = max(h.last, r.at)
		h.flying--
		if a.away {
			h.lost++
		} else if err := h.deliver(i, r); err != nil {
			return err
		}
	}
	return nil
}

// overtaken reports whether a letter was followed by a newer one before the agent
// looked, which is then all that it would know of the two: nobody need read it. It
// counts as taken if it is newer than what was.
func (h *shard) overtaken(i int32, r arrival, later []arrival) bool {
	for _, l := range later {
		if l.from != r.from || l.round <= r.round {
			continue
		}
		a := &h.s.actors[i]
		if a.away {
			h.lost++
		} else if k, known := a.tie(r.from); known && r.round > a.ties[k].round {
			a.ties[k].round = r.round
			h.taken++
		}
		return true
	}
	return false
}

// fewArrivals is how many are sorted and compared with each other in the simple way.
const fewArrivals = 64

// sortArrivals is a stable sort by order.
func sortArrivals(list []arrival) {
	if len(list) > fewArrivals {
		slices.SortStableFunc(list, order)
		return
	}
	for i := 1; i < len(list); i++ {
		r := list[i]
		k := i
		for ; k > 0 && order(r, list[k-1]) < 0; k-- {
			list[k] = list[k-1]
		}
		list[k] = r
	}
}

// deliver hands an agent a letter.
func (h *shard) deliver(i int32, r arrival) error {
	a := &h.s.actors[i]
	m := *h.s.home(r.from).letters.at(r.letter)
	k, known := a.tie(r.from)
	out, err := a.Receive(r.at, m)
	switch {
	case err == nil:
		h.taken++
		if known {
			a.ties[k].held, a.ties[k].round = r.letter, r.round
		}
	case !errors.Is(err, learner.ErrStale) && !errors.Is(err, learner.ErrStranger):
		return h.failed(fmt.Sprintf("message from %q to %%q: %%w", m.From), i, err)
	} // else it was overtaken on the way, or the edge is one-sided
	return h.apply(i, r.at, out)
}

// failed is the error of what a participant did.
func (h *shard) failed(format string, i int32, err error) error {
	return fmt.Errorf("sim: "+format, h.s.Participants[i].ID, err)
}

// send delivers broadcasts along the sender's edges, and other messages to
// whom they name.
func (h *shard) send(from int32, now time.Duration, messages []learner.Message) {
	a := &h.s.actors[from]
	for k := range messages {
		m := &messages[k]
		if m.To != "" {
			if to, known := h.s.index[m.To]; known {
				h.post(from, to, now, h.letters.store(m))
			}
			continue
		}
		a.newest = h.letters.store(m)
		for _, t := range a.ties {
			if t.peer >= 0 {
				h.post(from, t.peer, now, a.newest)
			}
		}
	}
}

// serve sends the newest broadcast of an agent once more, to one.
func (h *shard) serve(from, to int32, now time.Duration) {
	if n := h.s.actors[from].newest; n != nothing {
		h.post(from, to, now, n)
	}
}

// post puts a letter on its way.
func (h *shard) post(from, to int32, now time.Duration, letter int32) {
	a := &h.s.actors[from]
	m := h.letters.at(letter)
	h.sent[m.Kind]++
	delay := h.s.delay(&a.chance)
	if h.s.Loss > 0 && a.chance.Float64() < h.s.Loss {
		h.lost++
		return
	}
	h.dispatch(from, to, now+delay, letter, m.Round)
	if h.s.Duplicate > 0 && a.chance.Float64() < h.s.Duplicate {
		h.dispatch(from, to, now+h.s.delay(&a.chance), letter, m.Round)
	}
}

// dispatch lets a letter arrive at a time.
func (h *shard) dispatch(from, to int32, at time.Duration, letter int32, round uint64) {
	h.flying++
	home := to / h.s.size
	h.out[home] = append(h.out[home], dispatch{arrival{at, from, letter, round}, to})
}
