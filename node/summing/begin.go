package summing

import (
	"slices"
	"time"

	"p2pnode/sums"
)

// begin brings the machine to the state in which it was stopped.
func (m *member) begin() error {
	if !m.dir.begun() {
		if !m.rest() {
			return nil
		}
		if err := m.dir.room(); err != nil { // the others must not begin without this one
			return err
		}
		if !m.gather() {
			return nil
		}
	}
	secrets, closes, err := m.dir.secrets(time.Now().Add(m.options.Open).Unix())
	if err != nil {
		return err
	}
	m.closes = time.Unix(closes, 0)
	pledge, err := m.part.sum.Pledge(m.desk.config.Identity, secrets, closes)
	if err != nil {
		return err
	}
	m.machine = sums.NewMember(m.part.sum, secrets, pledge)
	var ends []sums.Output // the process may have died between writing the journal and the end
	restarted := false
	cut, err := m.dir.replay(func(in sums.Input) error {
		restarted = true
		out, err := m.machine.Step(in)
		m.taken(in, err)
		if out.Done != nil || out.Erase {
			ends = append(ends, out)
		}
		return err
	})
	if err != nil {
		return err
	}
	if cut > 0 {
		m.part.log.Warn("the journal of a private sum ended in something incomplete, as after a crash: it was cut off", "directory", m.dir.path, "bytes", cut)
	}
	for _, out := range ends {
		if err := m.end(&out); err != nil {
			return err
		}
	}
	if restarted {
		return m.step(sums.Restarted{})
	}
	m.show()
	return nil
}

// rest waits until the sum may begin. This member's own clock says so, or so many other
// members that want to begin that one of them is honest: a clock may be hours wrong. It
// returns false if the run ends before.
func (m *member) rest() bool {
	for m.ctx.Err() == nil && time.Now().Before(m.options.Opens) {
		if wait(m.ctx, min(time.Until(m.options.Opens), longestPause), m.part.others) {
			break
		}
	}
	return m.ctx.Err() == nil
}

// gather waits until all other members answer and are there, too: the sum opens when all have
// made their keys, and the time for contributions counts from when most of them did. Those that
// rest begin when they hear of it. It returns false if the run ends before.
func (m *member) gather() bool {
	var others []int
	for i := range m.part.peers {
		if i != m.self {
			others = append(others, i)
		}
	}
	there := func(i int) bool {
		n, err := m.desk.ask(m.ctx, m.part, m.part.peers[i], m.part.sum.ID[:])
		return err == nil && !n.absent
	}
	for missing := slices.Clone(others); ; {
		m.part.onDuty(Duty{Missing: slices.Clone(missing)})
		if missing = slices.DeleteFunc(missing, there); len(missing) == 0 {
			missing = slices.DeleteFunc(slices.Clone(others), there) // those who came first may have gone
		}
		if len(missing) == 0 {
			return true
		}
		if wait(m.ctx, m.desk.config.Tick, nil); m.ctx.Err() != nil {
			return false
		}
	}
}
