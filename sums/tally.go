package sums

import (
	"slices"
)

// tally keeps the newest message of one kind of each member. A message that comes late,
// in a view that its author has left, is of no use; and so nobody can fill the memory.
type tally struct{ newest [mostMembers]*Message }

// add keeps a message whose signature was checked. fresh reports whether it is newer
// than the one before. twice reports whether its author has said something else under
// the same number, which no honest member does.
func (t *tally) add(m *Message) (fresh, twice bool) {
	old := t.newest[m.By]
	switch {
	case old == nil || m.Number > old.Number:
		t.newest[m.By] = m
		return true, false
	case m.Number == old.Number:
		return false, !slices.Equal(m.Payload, old.Payload)
	}
	return false, false
}

// proof returns the signatures of the members that say this, ascending by member, at
// most most of them.
func (t *tally) proof(number uint32, payload []byte, most int) proof {
	var p proof
	for by, m := range t.newest {
		if len(p) < most && m != nil && m.Number == number && slices.Equal(m.Payload, payload) {
			p = append(p, memberSignature{by, m.Signature})
		}
	}
	return p
}

// agreed looks for a statement that at least least members have made.
func (t *tally) agreed(least int) (number uint32, payload []byte, p proof) {
	for _, m := range t.newest {
		if m == nil {
			continue
		}
		if p := t.proof(m.Number, m.Payload, least); len(p) == least {
			return m.Number, m.Payload, p
		}
	}
	return 0, nil, nil
}

// under lists the messages with the number, ascending by member, at most most of them.
func (t *tally) under(number uint32, most int) []*Message {
	var list []*Message
	for _, m := range t.newest {
		if m != nil && m.Number == number && len(list) < most {
			list = append(list, m)
		}
	}
	return list
}
