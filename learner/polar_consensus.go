package learner

import (
	"slices"
	"time"
)

// The servers' part in the secure consensus that ends a window; mask.go has the
// arithmetic.

// otherServer holds the newest messages of another server for a consensus.
type otherServer struct {
	id           ID
	mask, masked Message // without one, its Round is 0
}

func (p *polarServer) other(id ID) (*otherServer, bool) {
	i := slices.IndexFunc(p.others, func(o otherServer) bool { return o.id == id })
	if i < 0 {
		return nil, false
	}
	return &p.others[i], true
}

func (p *polarServer) hearServer(now time.Duration, o *otherServer, m Message) error {
	if m.Kind == KindModel {
		return p.hearModel(now, m)
	}
	slot := &o.mask
	if m.Kind == KindMasked {
		slot = &o.masked
	}
	current := p.task.Polar.window(max(1, p.step))
	switch {
	case m.Kind != KindMask && m.Kind != KindMasked || len(m.Ring) != len(p.model) || m.Round < 1 || m.Round > maxStep:
		return ErrShape
	case m.Round < current || m.Round < slot.Round || m.Round == slot.Round && slot.Ring != nil && m.Attempt <= slot.Attempt:
		return ErrStale
	}
	*slot = m
	return nil
}

// newestAttempt is the highest attempt that another server has begun of the present
// consensus.
func (p *polarServer) newestAttempt() uint32 {
	var newest uint32
	for i := range p.others {
		if o := &p.others[i]; o.mask.Round == p.agreeing.round {
			newest = max(newest, o.mask.Attempt)
		}
	}
	return newest
}

// mask begins an attempt and sends its masks.
func (p *polarServer) mask(now time.Duration, attempt uint32) []Message {
	p.deadline = p.after(now)
	masks := p.agreeing.start(attempt, p.masks, len(p.others))
	send := make([]Message, len(masks))
	for i := range masks {
		send[i] = p.directed(i, KindMask, masks[i])
	}
	return send
}

func (p *polarServer) directed(other int, kind Kind, content []uint64) Message {
	return Message{From: p.self, To: p.others[other].id, Kind: kind, Round: p.agreeing.round, Attempt: p.agreeing.attempt, Ring: content}
}

// agree continues the secure consensus. An attempt that lost a server, or that another
// server gave up, begins again with new masks and always with all servers: the sum over
// fewer servers, compared with the sum over all, would show the state of the others.
func (p *polarServer) agree(now time.Duration, late bool) []Message {
	c := p.agreeing
	if newest := p.newestAttempt(); newest > c.attempt {
		return p.mask(now, newest)
	}
	masks, masked := p.said()
	switch {
	case !c.masked && len(masks) == len(p.others):
		share := c.complete(masks)
		send := make([]Message, len(p.others))
		for i := range send {
			send[i] = p.directed(i, KindMasked, share)
		}
		return send
	case c.masked && len(masked) == len(p.others):
		if mean, ok := p.residues.mean(append(masked, c.share)...); ok {
			return p.publish(now, p.step+1, mean)
		}
		return p.mask(now, c.attempt+1)
	case late:
		return p.mask(now, c.attempt+1)
	}
	return nil
}

// said returns the masks and masked states of this attempt that have arrived.
func (p *polarServer) said() (masks, masked [][]uint64) {
	c := p.agreeing
	for i := range p.others {
		o := &p.others[i]
		if o.mask.Round == c.round && o.mask.Attempt == c.attempt {
			masks = append(masks, o.mask.Ring)
		}
		if o.masked.Round == c.round && o.masked.Attempt == c.attempt {
			masked = append(masked, o.masked.Ring)
		}
	}
	return masks, masked
}
