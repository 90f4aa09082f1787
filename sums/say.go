package sums

import "slices"

// sentLetter is a letter that was sent, with the ticks since then.
type sentLetter struct {
	Letter
	age int
}

// again repeats letters that are one tick old, two, four and then every four. Accepts,
// of which there are many, it repeats more and more rarely, down to every 32 ticks.
func (m *Member) again() {
	for i := range m.said {
		r, rarely := &m.said[i], 4
		if Kind(r.Message[0]) == KindAccept {
			rarely = 32
		}
		if r.age++; r.age&(r.age-1) == 0 || r.age%rarely == 0 {
			m.out.Send = append(m.out.Send, r.Letter)
		}
	}
}

// sayAgain repeats all messages of the kind at once.
func (m *Member) sayAgain(kind Kind) {
	for i := range m.said {
		if r := &m.said[i]; Kind(r.Message[0]) == kind && r.age > 0 {
			r.age = 0
			m.out.Send = append(m.out.Send, r.Letter)
		}
	}
}

// say sends a message, and repeats it at later ticks.
func (m *Member) say(to int, kind Kind, number uint32, payload []byte) *Message {
	msg := m.sum.sign(m.keys, m.secrets, m.self, kind, number, payload)
	l := Letter{To: to, Message: msg.Bytes()}
	m.said = append(m.said, sentLetter{Letter: l})
	m.out.Send = append(m.out.Send, l)
	m.own[statementOf(kind, number, payload)] = true
	m.out.Took = true
	return msg
}

// unsay stops repeating messages of the kind.
func (m *Member) unsay(kind Kind) {
	m.said = slices.DeleteFunc(m.said, func(r sentLetter) bool { return Kind(r.Message[0]) == kind })
}

// answer sends a message once.
func (m *Member) answer(to int, kind Kind, payload []byte, secret bool) {
	msg := m.sum.sign(m.keys, m.secrets, m.self, kind, 0, payload)
	m.out.Send = append(m.out.Send, Letter{to, secret, msg.Bytes()})
}

// blame tells the driver once what a member did.
func (m *Member) blame(member int, reason string) {
	if b := (Blame{member, reason}); !m.blamed[b] {
		m.blamed[b] = true
		m.out.Blame = append(m.out.Blame, b)
	}
}

func (Tick) happen(m *Member) error {
	if m.silent {
		return nil
	}
	m.again()
	if m.over {
		m.lingered = min(m.lingered+1, maxWait)
		m.end()
		return nil
	}
	m.sayFresh()
	m.repeat()
	for i := range m.pledges {
		if i != m.self && (m.recalled>>i&1 == 0 || m.quiet() && m.confirmed>>i&1 == 0) {
			b := Message{Kind: KindRecall, By: m.self}
			m.out.Send = append(m.out.Send, Letter{To: i, Message: b.Bytes()})
		}
	}
	m.seekMissing()
	return nil
}

// maxWait is for how many ticks a member goes on computing a result on which others
// have agreed.
const maxWait = 16

const (
	// settling is for how many ticks the first leader waits for what others hold. Each
	// later leader waits twice as long, up to mostDoublings times. A driver gives a
	// view twice that time.
	settling      = 5
	mostDoublings = 6
	inboxTicks    = 2 // for messages that have arrived already
	// eagerView is the first view whose leader proposes what it has, however little.
	eagerView = 3
)

// repeat asks again for what only the driver can do, because the driver may have been
// stopped.
func (m *Member) repeat() {
	if m.quiet() {
		return
	}
	if m.asked && m.noise[m.self] == (Digest{}) {
		m.out.Noise = &NoiseRequest{m.keys}
	}
	if m.closed && m.decided == nil && m.settling < settlingIn(m.voter.View) {
		m.settling++
		m.out.Took = true // a decision depends on this count, so it must be in the journal
	}
	if m.asking && m.result == nil {
		m.out.Add = &Addition{m.decided.list.Digest(), m.inSum()}
	}
	if _, agreed, _ := m.results.agreed(m.honest()); agreed != nil && m.waited < maxWait {
		m.waited++
		m.out.Took = true
	}
}

// mostAccepts is how many entries a message accepts at most: devices get it in one reply,
// together with the opening. It also accepts no more than the sum takes contributors, or
// nobody would believe it.
const mostAccepts = 1024

// sayFresh announces the contributions that were accepted since the last announcement.
// The announcement is repeated until the end.
func (m *Member) sayFresh() {
	if len(m.fresh) == 0 || m.keys == nil || m.over || m.silent || m.quiet() {
		return
	}
	for some := range slices.Chunk(m.fresh, min(mostAccepts, m.sum.Contributors)) {
		var w writer
		for _, d := range some {
			w.fixed(d[:])
		}
		m.say(-1, KindAccept, 0, w)
	}
	m.fresh, m.out.Took = nil, true
}
