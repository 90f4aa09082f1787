package sums

import (
	"bytes"
	"math/bits"
	"slices"
)

// progress does everything that has become possible. Each thing is done once, after the
// last input that it needs.
func (m *Member) progress() {
	m.pledge()
	if m.keys == nil {
		return
	}
	m.certify()
	if m.opening == nil {
		return
	}
	if m.closed && m.decided == nil {
		m.follow()
		m.propose()
		m.prepare()
		m.commit()
	}
	m.decideByVotes()
	m.openSums()
	m.add()
	m.believe()
}

// pledge publishes this member's keys once every other member has said what it holds of
// this one, and takes up the keys of all.
func (m *Member) pledge() {
	all := uint16(1<<len(m.pledges) - 1)
	if m.recalled != all || m.keys != nil {
		return
	}
	if len(m.said) == 0 {
		b := Message{Kind: KindPledge, By: m.self, Payload: m.pledges[m.self].Bytes()}
		l := Letter{To: -1, Message: b.Bytes()}
		m.said, m.out.Send = append(m.said, sentLetter{Letter: l}), append(m.out.Send, l)
		m.out.Took = true
	}
	var list []Pledge
	for _, p := range m.pledges {
		if p == nil {
			return
		}
		list = append(list, *p)
	}
	k, err := m.sum.newKeys(list)
	if err != nil {
		return // a key is invalid: the sum never opens, and Missing lists that member
	}
	m.keys, m.asked = k, true
	m.out.Noise = &NoiseRequest{k}
}

// certify signs the opening once all noise is held with its seeds, and takes up an
// opening that a quorum has signed.
func (m *Member) certify() {
	if m.opening != nil {
		return
	}
	for _, d := range m.noise {
		if !m.whole(d) {
			return
		}
	}
	o := m.sum.newOpening(m.keys, m.noise)
	if m.certifies.newest[m.self] == nil {
		m.certifies.add(m.say(-1, KindCertify, 0, o.Digest[:]))
	}
	if p := m.certifies.proof(0, o.Digest[:], m.quorum()); len(p) == m.quorum() {
		o.proof = p
		m.open(o)
		m.unsay(KindCertify)
	}
}

// follow joins a later view that t+1 others are in: one of them is honest.
func (m *Member) follow() {
	var later []uint32
	for _, v := range m.views.newest {
		if v != nil && v.Number > m.voter.View {
			later = append(later, v.Number)
		}
	}
	if len(later) >= m.honest() {
		slices.Sort(later)
		m.leave(later[len(later)-m.honest()])
	}
}

// propose is the leader's part. It proposes the locked list, or else everything that a
// quorum holds.
func (m *Member) propose() {
	view := m.voter.View
	if m.leader(view) != m.self || m.proposed > view {
		return
	}
	var w writer
	var locked bool
	l, open := m.ownList()
	digest := l.Digest()
	if view > 0 {
		reasons := m.views.under(view, m.quorum())
		if len(reasons) < m.quorum() {
			return
		}
		var locks []Lock
		for _, v := range reasons {
			lock, _ := m.readLock(v) // it was checked when it was heard
			locks = append(locks, lock)
			w.u8(v.By)
			w.variable(v.Payload)
			w.fixed(v.Signature[:])
		}
		if lock := highest(locks); lock != (Lock{}) {
			locked = true
			if digest, l = lock.Digest, m.lists[lock.Digest]; l == nil {
				return // the locked members repeat the list
			}
		}
	}
	if !locked && !m.ripe(len(l.Entries), open) {
		return
	}
	m.proposed = view + 1
	m.keepList(m.self, l)
	m.unsay(KindList)
	m.say(-1, KindList, view, l.Bytes())
	msg := m.say(-1, KindPropose, view, append(digest[:], w...))
	_ = m.hearProposal(msg) // the message is this member's own
}

// ripe reports whether a leader proposes its own list. It first waits inboxTicks for
// messages that have already arrived, then until it expects no more messages, or for
// half of the view. Even then an early leader passes if it lists less than half of what
// it knows of, because the members are slow, not the contributors: the next leader has
// twice the time. So Sybils that nobody accepts can delay a sum, but not stop it.
func (m *Member) ripe(listed, open int) bool {
	view := m.voter.View
	switch {
	case open == 0 && listed > 0:
		return m.settling >= inboxTicks
	case open == 0: // nobody contributed, as far as it knows
		return m.settling >= settlingIn(view)
	}
	return m.settling >= settlingIn(view) && (listed >= open || view >= eagerView)
}

// settlingIn is how many ticks the leader of a view waits for what others hold.
func settlingIn(view uint32) int { return settling << min(view, mostDoublings) }

// ownList returns the entries that a quorum says it holds, at most as many as the sum
// takes. open is how many more entries this member knows of, because it holds them or
// another member says that it does.
func (m *Member) ownList() (l *List, open int) {
	l, open = &List{Opening: m.opening.Digest}, len(m.accepts)
	for from, d := range m.first {
		by, said := m.accepts[d]
		if !said {
			open++
		}
		if m.whole(d) && bits.OnesCount16(by) >= m.quorum() {
			l.Entries = append(l.Entries, Listed{from, d, m.entries[d].entry.Records})
		}
	}
	open -= len(l.Entries)
	if len(l.Entries) > m.sum.Contributors {
		slices.SortFunc(l.Entries, func(a, b Listed) int { return compare(a.Entry, b.Entry) })
		l.Entries = l.Entries[:m.sum.Contributors]
	}
	slices.SortFunc(l.Entries, func(a, b Listed) int { return bytes.Compare(a.From[:], b.From[:]) })
	return l, open
}

// prepare votes for a proposal if this member holds everything that it lists.
func (m *Member) prepare() {
	p := m.proposal
	if p == nil || p.view < m.voter.View {
		return
	}
	l := m.lists[p.digest]
	if l == nil || !m.holds(l) || !m.voter.prepare(p.view, p.digest, p.locks) {
		return
	}
	if old := m.prepares.newest[m.self]; old != nil && old.Number >= p.view {
		return
	}
	m.unsay(KindPrepare)
	m.prepares.add(m.say(-1, KindPrepare, p.view, p.digest[:]))
}

// holds reports whether this member holds a list's contributions with all seeds.
func (m *Member) holds(l *List) bool {
	for _, d := range m.noise {
		if !m.whole(d) {
			return false
		}
	}
	for _, e := range l.Entries {
		if !m.whole(e.Entry) {
			return false
		}
		if h := m.entries[e.Entry].entry; h.From != e.From || h.Records != e.Records || h.Context != m.opening.Digest {
			return false
		}
	}
	return true
}

// commit locks the list that a quorum prepared in the present view.
func (m *Member) commit() {
	view, payload, p := m.prepares.agreed(m.quorum())
	if p == nil || view != m.voter.View || m.voter.Lock == (Lock{view, Digest(payload)}) || !m.voter.commit(view, Digest(payload)) {
		return
	}
	m.lockProof = p
	m.unsay(KindCommit)
	m.commits.add(m.say(-1, KindCommit, view, payload))
	if l := m.lists[Digest(payload)]; l != nil {
		m.unsay(KindList)
		m.say(-1, KindList, view, l.Bytes())
	}
}

// decideByVotes takes up the list that a quorum committed.
func (m *Member) decideByVotes() {
	if m.decided != nil {
		return
	}
	view, payload, p := m.commits.agreed(m.quorum())
	if p == nil {
		return
	}
	if l := m.lists[Digest(payload)]; l != nil {
		m.decide(&decision{view, l, p})
	}
}

// decide keeps a certified list for good.
func (m *Member) decide(d *decision) {
	digest := d.list.Digest()
	if !m.voter.open(digest) {
		return
	}
	m.decided, m.lists[digest], m.out.Took = d, d.list, true
	for _, kind := range []Kind{KindList, KindPropose, KindPrepare, KindCommit, KindView} {
		m.unsay(kind)
	}
	m.say(-1, KindDecided, 0, d.bytes())
}

// openSums adds up the streams of every class that this member holds, over the noise
// and the certified list, and tells the members that lack the class.
func (m *Member) openSums() {
	if m.decided == nil || m.opened || !m.holds(m.decided.list) {
		return
	}
	m.opened = true
	m.out.Took = true
	digest := m.decided.list.Digest()
	for i, class := range m.sum.classes {
		if class.lacks(m.self) {
			continue
		}
		total := make([]uint64, m.sum.Dimension)
		for _, d := range m.inSum() {
			addStream(total, m.entries[d].streams[i])
		}
		m.sums[i].vector = total
		payload := append(digest[:], words(total)...)
		for to := range m.pledges {
			if class.lacks(to) {
				m.say(to, KindOpen, uint32(i), payload)
			}
		}
	}
}

// inSum lists the entries that are added up: all noise, and the certified list.
func (m *Member) inSum() []Digest {
	list := slices.Clone(m.noise)
	for _, e := range m.decided.list.Entries {
		list = append(list, e.Entry)
	}
	return list
}

// add asks for the sum of the masked vectors once every class's sum is known.
func (m *Member) add() {
	if m.decided == nil || m.result != nil || m.asking {
		return
	}
	for i := range m.sums {
		if m.sums[i].vector == nil {
			return
		}
	}
	m.asking, m.out.Took = true, true
	m.out.Add = &Addition{m.decided.list.Digest(), m.inSum()}
}

// believe takes up the result that t+1 members signed, and erases. A member that has
// not computed it yet goes on for a while.
func (m *Member) believe() {
	_, payload, p := m.results.agreed(m.honest())
	if p == nil {
		return
	}
	own := m.result != nil && m.result.Digest() == Digest(payload)
	if !own && m.waited < maxWait {
		return
	}
	m.published = &Published{Opening: m.opening, proof: p}
	if own {
		m.published.Result = m.result
	}
	m.finish()
}
