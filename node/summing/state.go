package summing

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/sums"
)

// State is what this device knows of a sum that it takes part in.
type State struct {
	Closes time.Time // of the certified opening; zero: none is known
	Closed bool      // the time is over, or a quorum certified what is in the sum
	Duty   *Duty     // as a member of the committee; nil: none
}

// Duty is how far a member of the committee has come in a sum.
type Duty struct {
	Missing []int // members of whom no answer, keys or noise has come: it cannot open
	Silent  bool  // it takes no part, since its keys were lost
	Held    int   // contributions here
	Over    bool  // its keys are erased
}

// Contact is the last time that a member was called.
type Contact struct {
	Answered time.Time // the last time that it did; zero: never
	Failure  error     // why it did not the last time; nil: it did
}

// State returns what is known of a sum. Of one that nobody here takes part in that is
// nothing.
func (d *Desk) State(sum sums.Digest) State {
	p := d.known(sum)
	if p == nil {
		return State{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Closes: p.closes, Closed: p.decision != nil || !p.closes.IsZero() && !time.Now().Before(p.closes)}
	if p.duty != nil {
		duty := *p.duty
		duty.Missing = slices.Clone(duty.Missing)
		s.Duty = &duty
	}
	return s
}

// contact says whether a member answers this device, as far as it was called since the
// device started.
func (d *Desk) contact(who peer.ID) Contact {
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

// opened serves a certified opening, the first that there is.
func (p *part) opened(o *sums.Opening) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opening == nil {
		p.opening, p.closes = o.Bytes(), time.Unix(o.Closes, 0)
		p.wake()
	}
}

// ended notes that the member here erased its keys, and whether the sum is dead: without
// them it never has a result, as far as this member can tell.
func (p *part) ended(dead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = dead
}

// onDuty shows how far the member has come.
func (p *part) onDuty(duty Duty) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.duty = &duty
}
