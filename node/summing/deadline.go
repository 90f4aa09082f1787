package summing

import (
	"time"

	"p2pnode/sums"
)

// deadline is when this member's keys for the sum must be erased. Once there is an opening, it
// says so: this member's own clock may have been wrong when it made its keys.
func (m *member) deadline() time.Time {
	closes := m.closes
	if m.machine != nil && m.machine.Opening() != nil {
		closes = time.Unix(m.machine.Opening().Closes, 0)
	}
	return closes.Add(m.options.Later)
}

// overdue reports whether this member's keys for the sum must be erased by now.
func (m *member) overdue() bool { return !m.closes.IsZero() && !time.Now().Before(m.deadline()) }

// timely is what the machine is told at a tick: that the time at which the opening closes the
// sum has come, or the time after which nothing is opened any more. It asks the clock each time.
// A timer would know nothing of a clock that is set, as that of a board without a battery is soon
// after its start, and of the time for which a machine sleeps.
func (m *member) timely() sums.Input {
	switch o := m.machine.Opening(); {
	case o == nil:
	case m.overdue():
		return sums.Deadline{}
	case !m.machine.Closed() && !time.Now().Before(time.Unix(o.Closes, 0)):
		return sums.Closing{}
	}
	return sums.Tick{}
}
