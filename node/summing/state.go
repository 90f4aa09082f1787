package summing

import (
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/sums"
)

// State is what this device knows of a sum that it takes part in.
type State struct {
	Closes time.Time // when the certified opening closes the sum; zero: none is known
	Closed bool      // the time is over, or a quorum has certified the list
	Here   bool      // the result is here
	Dead   bool      // the keys of the member here are erased, or those of enough members, and there is no result
	Duty   *Duty     // what this device has done as a member of the committee; nil: it is none, or Failure says why
	// Failure is why the member here takes no part, until it tries again; nil: nothing failed.
	Failure error
	// Absent are the members that had not begun with the sum when they were asked last.
	Absent map[peer.ID]bool
}

// Duty is how far a member of the committee has come in a sum.
type Duty struct {
	Missing []int // members whose answer, keys or noise has not come, so the sum cannot open
	Silent  bool  // this member takes no part, because its keys were lost
	Held    int   // how many contributions it holds
	Over    bool  // its keys are erased
}

// Contact says when a member was last called, and with what success.
type Contact struct {
	Answered time.Time // when it last answered; zero: never
	Failure  error     // why it did not answer the last call; nil: it did
}

// State returns what is known of a sum. If nobody here takes part in the sum, nothing is
// known.
func (d *Desk) State(sum sums.Digest) State {
	p := d.known(sum)
	if p == nil {
		return State{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Closes: p.closes, Here: p.result.size > 0, Dead: p.dead && p.result.size == 0, Closed: p.decision.size > 0 || !p.closes.IsZero() && !time.Now().Before(p.closes), Absent: maps.Clone(p.absent)}
	s.Failure = p.failure
	if p.duty != nil {
		duty := *p.duty
		duty.Missing = slices.Clone(duty.Missing)
		s.Duty = &duty
	}
	return s
}

// Contact says whether a member answers the calls that this device has made since it
// started.
func (d *Desk) Contact(who peer.ID) Contact {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.contacts[who]
}

// called notes whether a peer answered.
func (d *Desk) called(who peer.ID, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.contacts[who]
	if c.Failure = err; err == nil {
		c.Answered = time.Now()
	}
	d.contacts[who] = c
}

// opened serves a certified opening. Only the first one counts.
func (p *part) opened(o *sums.Opening) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opening == nil {
		p.openedLocked(o)
		p.wake()
	}
}

// openedLocked serves an opening. The caller holds p.mu.
func (p *part) openedLocked(o *sums.Opening) {
	p.opening, p.closes = o.Bytes(), time.Unix(o.Closes, 0)
}

// otherBegan notes that another member began with a sum, or wants to, with which the one here
// did not begin.
func (p *part) otherBegan(member int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began[member] {
		return
	}
	if p.began[member] = true; len(p.began) == p.sum.Committee.Colluding+1 {
		close(p.others)
	}
}

// ended notes that the member here erased its keys, or enough others, and whether the sum is
// dead. A dead sum never has a result, as far as this node can tell.
func (p *part) ended(dead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = dead
}

// bury notes that so many members say that the sum is dead that one of them is honest. Nobody here
// asks for its result any more.
func (p *part) bury() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead, p.buried = true, true
}

// over reports whether there is nothing more to ask of others: the result is here, or the sum is
// buried.
func (p *part) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result.size > 0 || p.buried
}

// onDuty publishes how far the member has come.
func (p *part) onDuty(duty Duty) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.duty, p.failure = &duty, nil
}

// offDuty says why the member here takes no part for now.
func (p *part) offDuty(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.duty, p.failure = nil, why
}
