package learner

import (
	"time"
)

// Receive implements [Agent].
func (r *rounds) Receive(now time.Duration, m Message) (Output, error) {
	l, known := r.inboxes[m.From]
	if !known {
		return Output{Next: r.next}, ErrStranger
	}
	var answer []Message
	var err error
	switch m.Kind {
	case KindModel:
		answer, err = r.hearModel(now, l, &m)
	case KindAck:
		err = r.hearAck(l, &m)
	default:
		err = ErrShape
	}
	if err != nil {
		return Output{Next: r.next}, err
	}
	return r.advance(now, answer), nil
}

// hearModel keeps a model of this round or of a later one, and returns the
// acknowledgement for a model of this round. A model of an earlier round is remembered
// too: it tells how far its sender is.
func (r *rounds) hearModel(now time.Duration, l *inbox, m *Message) ([]Message, error) {
	switch {
	case len(m.Real) != len(r.model) || !finite(m.Real) || m.Degree < 1 || !deviation(m.NoiseStd),
		m.Round > r.task.Rounds.last():
		return nil, ErrShape
	case r.collecting && m.Round == r.round && l.now == nil && r.admits(l):
		l.now = m
		_ = r.remember(l, m) // the error means that the model is known from before a restart
		return []Message{r.ack(m.From, l)}, nil
	case m.Round > r.round && (l.next == nil || m.Round > l.next.Round):
		l.next = m
		_ = r.remember(l, m)
		if r.collecting {
			r.hurry(now)
		}
		return nil, nil
	}
	return nil, r.remember(l, m) // the sender is behind, or its model came too late
}

// admits reports whether the neighbour is in the round. A late one can still join: with
// degree + 1 edges of weight at most 1/(1 + degree) each, the agent's own weight is at
// least 0.
func (r *rounds) admits(l *inbox) bool {
	if !l.member && r.members <= r.degree {
		l.member = true
		r.members++
	}
	return l.member
}

// remember keeps the newest model of each neighbour for the owner's own fit, or returns
// ErrStale.
func (r *rounds) remember(l *inbox, m *Message) error {
	err := r.hood.hear(m, len(r.model))
	if err == nil {
		l.silent = false
	}
	return err
}

// hurry moves the deadline closer once a neighbour has begun a later round. That
// neighbour waits for this agent in the next round and must hear it before its own
// deadline, or the two would miss each other for ever. If all neighbours have gone on,
// whatever is missing is already on its way. The same holds if more than maxFaulty
// neighbours, and at least two, have gone on, since these may not wait.
func (r *rounds) hurry(now time.Duration) {
	wait, gone := r.seconds()/10, 0
	for i := range r.hood.edges {
		l, live := r.inboxes[r.hood.edges[i].Peer], r.hood.edges[i].Live
		if live && l.next != nil {
			gone++
		}
		if l.member && live && !l.counts() && l.next == nil {
			wait = r.seconds() / 2
		}
	}
	if gone >= max(2, maxFaulty(len(r.hood.edges))+1) {
		wait = min(wait, r.grace.inTransit(now))
	}
	r.deadline = min(r.deadline, now+wait)
}

func (r *rounds) hearAck(l *inbox, m *Message) error {
	switch {
	case len(m.Real) != 1 || m.Real[0] != 0 && m.Real[0] != 1:
		return ErrShape
	case !r.collecting || m.Round != r.round || !l.member || l.acked:
		return ErrStale
	}
	l.acked = true
	if m.Real[0] != r.lastUse(l) {
		r.asymmetric++
	}
	return nil
}
