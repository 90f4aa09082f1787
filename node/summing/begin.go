package summing

import (
	"slices"
	"time"

	"p2pnode/sums"
)

// begin brings the machine to the state in which it was stopped.
func (m *member) begin() error {
	if !m.dir.begun() && !(m.rest() && m.gather()) {
		return nil
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
		m.desk.config.Logger.Warn("the journal of a private sum ended in something incomplete, as after a crash: it was cut off", "directory", m.dir.path, "bytes", cut)
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
// members that began that one of them is honest: a clock may be hours wrong. It returns
// false if the run ends before.
func (m *member) rest() bool {
	for m.ctx.Err() == nil && time.Now().Before(m.options.Opens) {
		if wait(m.ctx, min(time.Until(m.options.Opens), longestPause), m.part.others) {
			break
		}
	}
	return m.ctx.Err() == nil
}

// gather waits until all other members answer, and are there but for as many as may be wrong:
// these begin when they hear of it, see rest. The time for contributions counts from then. It
// returns false if the run ends before.
func (m *member) gather() bool {
	var missing []int
	for i := range m.part.peers {
		if i != m.self {
			missing = append(missing, i)
		}
	}
	for {
		m.part.onDuty(Duty{Missing: slices.Clone(missing)})
		silent := 0
		missing = slices.DeleteFunc(missing, func(i int) bool {
			n, err := m.desk.ask(m.ctx, m.part, m.part.peers[i], nil)
			if err != nil {
				silent++
			}
			return err == nil && !n.absent
		})
		if silent == 0 && len(missing) <= m.part.sum.Committee.Colluding {
			return true
		}
		if wait(m.ctx, m.desk.config.Tick, nil); m.ctx.Err() != nil {
			return false
		}
	}
}
