package learner

import (
	"math"
	"time"
)

// Receive implements [Agent].
func (r *rounds) Receive(now time.Duration, m Message) (Output, error) {
	l, known := r.letters[m.From]
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
// acknowledgement of one of this round.
func (r *rounds) hearModel(now time.Duration, l *letters, m *Message) ([]Message, error) {
	switch {
	case len(m.Real) != len(r.model) || !finite(m.Real) || m.Degree < 1,
		!(m.NoiseStd >= 0) || math.IsInf(m.NoiseStd, 0),
		m.Round > r.task.Rounds.last():
		return nil, ErrShape
	case r.collecting && m.Round == r.round && l.now == nil && r.admits(l):
		l.now = m
		r.remember(m)
		return []Message{r.ack(m.From, l)}, nil
	case m.Round > r.round && (l.next == nil || m.Round > l.next.Round):
		l.next = m
		r.remember(m)
		if r.collecting {
			r.hurry(now)
		}
		return nil, nil
	}
	return nil, ErrStale
}

// admits reports whether the neighbour is in the round, which a late one can still
// join: with degree + 1 edges of at most 1/(1 + degree) each the own weight is
// at least 0.
func (r *rounds) admits(l *letters) bool {
	if !l.member && r.members <= r.degree {
		l.member = true
		r.members++
	}
	return l.member
}

// remember keeps the newest model of each neighbour for the owner's own fit.
func (r *rounds) remember(m *Message) {
	_ = r.hood.hear(m, len(r.model)) // an error: it is not the newest
}

// hurry moves the deadline up once a neighbour has gone on: it waits for this agent
// in the next round, and must hear it before its own deadline, or the two would miss
// each other for ever. What is still to come if all have gone on is on its way.
func (r *rounds) hurry(now time.Duration) {
	wait := r.seconds() / 10
	for i := range r.hood.edges {
		l := r.letters[r.hood.edges[i].Peer]
		if l.member && r.hood.edges[i].Live && !l.counts() && l.next == nil {
			wait = r.seconds() / 2
		}
	}
	r.deadline = min(r.deadline, now+wait)
}

func (r *rounds) hearAck(l *letters, m *Message) error {
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
