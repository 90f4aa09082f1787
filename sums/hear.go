package sums

import (
	"errors"
	"math/bits"
	"slices"
)

func (in Heard) happen(m *Member) error {
	msg, err := m.sum.ReadMessage(in.Message)
	if err != nil {
		return err
	}
	if msg.By == m.self {
		return m.hearOwn(msg)
	}
	switch msg.Kind {
	case KindRecall:
		return m.recall(in.From)
	case KindRecalled:
		return m.hearRecalled(in.From, msg.Payload)
	case KindPledge:
		return m.hearPledge(msg.Payload)
	}
	if m.keys == nil || m.silent {
		return errUnexpected
	}
	if err := m.sum.verify(m.keys, msg); err != nil {
		return err
	}
	if m.over && msg.Kind != KindResult {
		return errOver
	}
	return m.hear(msg)
}

// hearOwn looks at a message with this member's signature. If this member does not know
// that it signed it, another copy of it runs, or ran before its directory was put back:
// then it is silent from now on.
func (m *Member) hearOwn(msg *Message) error {
	if msg.Kind == KindPledge {
		return m.hearPledge(msg.Payload)
	}
	if m.keys == nil || m.over || !msg.Kind.signs() || msg.Kind == KindSeek || msg.Kind == KindSeeds || m.own[statementOf(msg.Kind, msg.Number, msg.Payload)] {
		return errUnexpected
	}
	if err := m.sum.verify(m.keys, msg); err != nil {
		return err
	}
	m.silent, m.out.Took = true, true
	return nil
}

// hear takes in a message. If it has a signature, that was checked.
func (m *Member) hear(msg *Message) error {
	switch msg.Kind {
	case KindNoise:
		return m.hearNoise(msg)
	case KindCertify:
		return m.tally(&m.certifies, msg, "it certified two openings")
	case KindOpening:
		return m.hearOpening(msg.Payload)
	case KindAccept:
		return m.hearAccept(msg)
	case KindSeek:
		return m.hearSeek(msg)
	case KindSeeds:
		return m.hearSeeds(msg)
	case KindPrepare:
		return m.tally(&m.prepares, msg, "it prepared two lists in one view")
	case KindCommit:
		return m.tally(&m.commits, msg, "it committed two lists in one view")
	case KindResult:
		return m.tally(&m.results, msg, "it signed two results")
	}
	if m.opening == nil {
		return errUnexpected
	}
	switch msg.Kind {
	case KindList:
		return m.hearList(msg)
	case KindView:
		if _, err := m.readLock(msg); err != nil {
			return err
		}
		return m.tally(&m.views, msg, "it gave up one view twice")
	case KindPropose:
		return m.hearProposal(msg)
	case KindDecided:
		return m.hearDecided(msg.Payload)
	}
	return m.hearOpen(msg)
}

// mostViews is more views than a committee can vote in before the deadline. What is said of
// others would only fill the journal.
const mostViews = 1 << 16

// tally adds a vote, and blames its author if it contradicts an earlier one.
func (m *Member) tally(t *tally, msg *Message, twice string) error {
	if msg.Kind != KindView && len(msg.Payload) != len(Digest{}) {
		return errGarbage
	}
	switch msg.Kind {
	case KindPrepare, KindCommit, KindView:
		if msg.Number > mostViews {
			return errGarbage
		}
	default: // it is said once
		if msg.Number != 0 {
			return errGarbage
		}
	}
	fresh, contradicts := t.add(msg)
	if contradicts {
		m.blame(msg.By, twice)
	}
	m.out.Took = m.out.Took || fresh
	return nil
}

// recall answers a peer's question about what this member holds of it: its pledge, and
// what it signed last.
func (m *Member) recall(peer int) error {
	if peer < 0 || peer >= len(m.pledges) || peer == m.self {
		return errUnexpected
	}
	var w writer
	if p := m.pledges[peer]; p != nil {
		w.variable(p.Bytes())
		for _, t := range m.tallies() {
			if msg := t.newest[peer]; msg != nil {
				w.variable(msg.Bytes())
			}
		}
	}
	b := Message{Kind: KindRecalled, By: m.self, Payload: w}
	m.out.Send = append(m.out.Send, Letter{To: peer, Message: b.Bytes()})
	return nil
}

// tallies lists what others have signed.
func (m *Member) tallies() []*tally {
	return []*tally{&m.noises, &m.certifies, &m.prepares, &m.commits, &m.views, &m.results}
}

// hearRecalled takes in what a peer holds of this member. If that is another pledge, or
// a signature that this member does not know, this member is silent from now on.
func (m *Member) hearRecalled(peer int, payload []byte) error {
	if peer < 0 || peer >= len(m.pledges) || peer == m.self || m.recalled>>peer&1 == 1 && m.confirmed>>peer&1 == 1 {
		return errUnexpected
	}
	r := reader{rest: payload}
	if len(payload) > 0 {
		p, err := m.sum.readPledge(r.take(int(r.u32())))
		if err != nil {
			return err
		}
		if p.Member != m.self {
			return errGarbage
		}
		m.silent = m.silent || string(p.unsigned()) != string(m.pledges[m.self].unsigned())
	}
	for len(r.rest) > 0 && !r.bad {
		if msg, err := m.sum.ReadMessage(r.take(int(r.u32()))); err == nil && msg.By == m.self {
			_ = m.hearOwn(msg) // a message that cannot be this member's shows nothing
		}
	}
	m.recalled |= 1 << peer
	m.confirmed |= 1 << peer
	m.out.Took = true
	return nil
}

func (m *Member) hearPledge(payload []byte) error {
	p, err := m.sum.readPledge(payload)
	if err != nil {
		return err
	}
	if p.Member == m.self { // its present keys are not its first for this sum
		if string(p.unsigned()) != string(m.pledges[m.self].unsigned()) {
			m.silent, m.out.Took = true, true
		}
		return nil
	}
	if old := m.pledges[p.Member]; old != nil {
		if string(old.unsigned()) != string(p.unsigned()) {
			m.blame(p.Member, "it made two pairs of keys")
		}
		return nil
	}
	m.pledges[p.Member], m.out.Took = &p, true
	return nil
}

// hearNoise notes which entry is a member's noise: the first that it names.
func (m *Member) hearNoise(msg *Message) error {
	if err := m.tally(&m.noises, msg, "it made noise twice"); err != nil {
		return err
	}
	if m.out.Took && m.noise[msg.By] == (Digest{}) { // else it named one before, or the opening did
		m.noise[msg.By] = Digest(msg.Payload)
		m.out.Fetch = append(m.out.Fetch, m.noise[msg.By])
	}
	return nil
}

// hearOpening takes up an opening that a quorum certified. If this member's own keys and
// noise are not in it, the member takes no part.
func (m *Member) hearOpening(payload []byte) error {
	if m.opening != nil {
		return nil
	}
	o, err := m.sum.readOpening(payload)
	if err != nil {
		return err
	}
	if o.keys.digest != m.keys.digest || o.Noise[m.self] != m.noise[m.self] {
		return errors.New("sums: an opening without this member's own keys and noise")
	}
	m.open(o)
	return nil
}

// open takes up the certified opening.
func (m *Member) open(o *Opening) {
	m.opening, m.noise, m.out.Took = o, o.Noise, true
	m.say(-1, KindOpening, 0, o.Bytes())
}

// hearAccept notes which entries a member accepted. Each member may be the first to name as
// many entries as the sum takes contributors, so that one that names entries which do not
// exist leaves room for the others. An honest member names an entry in one message only, so
// a message of which less than half is new is ignored: the journal would grow without bound.
func (m *Member) hearAccept(msg *Message) error {
	if len(msg.Payload)%len(Digest{}) != 0 || len(msg.Payload) > m.sum.Contributors*len(Digest{}) {
		return errGarbage
	}
	fresh := m.newlyNamed(msg)
	if 2*len(fresh)*len(Digest{}) < len(msg.Payload) {
		return nil
	}
	for _, d := range fresh {
		by := m.accepts[d]
		if by == 0 {
			m.named[msg.By]++
		}
		m.accepts[d] = by | 1<<msg.By
		m.out.Took = true
		if bits.OnesCount16(m.accepts[d]) >= m.honest() && !m.whole(d) {
			m.missing[d] = true
		}
	}
	return nil
}

// newlyNamed lists the entries, each once, that a member has not named before, and that there
// is room for.
func (m *Member) newlyNamed(msg *Message) (fresh []Digest) {
	var all []Digest
	for r := (reader{rest: msg.Payload}); len(r.rest) > 0; {
		all = append(all, r.digest())
	}
	slices.SortFunc(all, compare)
	room := m.sum.Contributors - m.named[msg.By]
	for _, d := range slices.Compact(all) {
		by := m.accepts[d]
		if by == 0 {
			room--
		}
		if by>>msg.By&1 == 0 && (by != 0 || room >= 0) {
			fresh = append(fresh, d)
		}
	}
	return fresh
}

// hearSeek gives a peer those seeds of an entry that both of them hold by right.
func (m *Member) hearSeek(msg *Message) error {
	if len(msg.Payload) != len(Digest{}) {
		return errGarbage
	}
	h := m.entries[Digest(msg.Payload)]
	if h == nil {
		return errUnexpected
	}
	w := writer(msg.Payload)
	w = w[:len(w):len(w)]
	for i, class := range m.sum.classes {
		if h.fit[i] && !class.lacks(msg.By) && !class.lacks(m.self) {
			w.u8(i)
			w.fixed(h.seeds[i][:])
		}
	}
	m.answer(msg.By, KindSeeds, w, true)
	return nil
}

// hearSeeds takes those seeds that fit, for classes that this member does not lack.
func (m *Member) hearSeeds(msg *Message) error {
	r := reader{rest: msg.Payload}
	digest := r.digest()
	h := m.entries[digest]
	if r.bad || len(r.rest)%(1+len(seed{})) != 0 {
		return errGarbage
	}
	if h == nil {
		return errUnexpected
	}
	for len(r.rest) > 0 {
		i, s := r.u8(), seed(r.digest())
		if i >= len(m.sum.classes) || h.fit[i] || m.sum.classes[i].lacks(m.self) {
			continue
		}
		if key, check := expand(m.sum.ID, h.entry.From, m.sum.classes[i], s); check == h.entry.Checks[i] {
			h.seeds[i], h.streams[i], h.fit[i], m.out.Took = s, key, true, true
		}
	}
	if h.entry.Context != m.keys.digest {
		m.accept(digest)
	}
	return nil
}

// hearList keeps the newest list of each member. An honest member lists one thing in a view:
// what it proposes, or what it is locked on. Other lists are ignored, and so are those of views
// that nobody has shown to have begun: one member could fill the journal with them.
func (m *Member) hearList(msg *Message) error {
	l, err := m.sum.ReadList(msg.Payload, m.opening.Digest)
	if err != nil {
		return err
	}
	latest := m.voter.View + 1
	if m.proposal != nil {
		latest = max(latest, m.proposal.view)
	}
	if old := m.listedIn[msg.By]; msg.Number < old || msg.Number > latest {
		return nil
	}
	if m.keepList(msg.By, l) {
		m.listedIn[msg.By] = msg.Number + 1
	}
	return nil
}

// keepList keeps a list in place of the one that the member sent before, and reports whether
// it is another one.
func (m *Member) keepList(by int, l *List) bool {
	d := l.Digest()
	if m.listBy[by] == d {
		return false
	}
	m.listBy[by], m.out.Took = d, true
	m.lists[d] = l
	for old := range m.lists {
		kept := m.decided != nil && old == m.decided.list.Digest() || old == m.voter.Lock.Digest
		for _, d := range m.listBy {
			kept = kept || d == old
		}
		if !kept {
			delete(m.lists, old)
		}
	}
	return true
}

// readLock decodes the lock of a VIEW message and checks its proof.
func (m *Member) readLock(msg *Message) (Lock, error) {
	if len(msg.Payload) == 0 {
		return Lock{}, nil
	}
	r := reader{rest: msg.Payload}
	l := Lock{View: r.u32(), Digest: r.digest()}
	p := readProof(&r)
	if err := r.end(); err != nil {
		return Lock{}, err
	}
	if l.View >= msg.Number || l.Digest == (Digest{}) || !m.sum.proven(m.keys, statementOf(KindPrepare, l.View, l.Digest[:]), p, m.quorum()) {
		return Lock{}, errors.New("sums: a lock without its proof")
	}
	return l, nil
}

// proposal is the list that the leader of a view proposes, with the locks that justify
// it.
type proposal struct {
	view   uint32
	digest Digest
	locks  []Lock
}

// leader is the member that leads a view.
func (m *Member) leader(view uint32) int { return int(view % uint32(len(m.pledges))) }

// hearProposal keeps the proposal of the highest view that its leader justified.
func (m *Member) hearProposal(msg *Message) error {
	if msg.By != m.leader(msg.Number) || msg.Number < m.voter.View {
		return errUnexpected
	}
	r := reader{rest: msg.Payload}
	p := &proposal{view: msg.Number, digest: r.digest()}
	if msg.Number > 0 {
		var err error
		if p.locks, err = m.readViews(&r, msg.Number); err != nil {
			return err
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	switch old := m.proposal; {
	case old == nil || old.view < p.view:
		m.proposal, m.out.Took = p, true
	case old.view == p.view && old.digest != p.digest:
		m.blame(msg.By, "it proposed two lists in one view")
	}
	return nil
}

// readViews decodes the VIEWs of a quorum, and returns their locks.
func (m *Member) readViews(r *reader, view uint32) ([]Lock, error) {
	var locks []Lock
	last := -1
	for range m.quorum() {
		v := &Message{Kind: KindView, By: r.u8(), Number: view}
		v.Payload = r.take(int(r.u32()))
		copy(v.Signature[:], r.take(len(v.Signature)))
		if r.bad || v.By <= last || v.By >= len(m.pledges) {
			return nil, errGarbage
		}
		last = v.By
		if err := m.sum.verify(m.keys, v); err != nil {
			return nil, err
		}
		lock, err := m.readLock(v)
		if err != nil {
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

func (m *Member) hearDecided(payload []byte) error {
	if m.decided != nil {
		return nil
	}
	d, err := m.sum.readDecision(m.opening, payload)
	if err != nil {
		return err
	}
	m.decide(d)
	return nil
}

// hearOpen takes in a claim about a class's sum that this member cannot compute: t+1
// equal claims decide.
func (m *Member) hearOpen(msg *Message) error {
	if m.decided == nil || int64(msg.Number) >= int64(len(m.sum.classes)) {
		return errUnexpected
	}
	i := int(msg.Number)
	if !m.sum.classes[i].lacks(m.self) || m.sum.classes[i].lacks(msg.By) {
		return errUnexpected
	}
	r := reader{rest: msg.Payload}
	if r.digest() != m.decided.list.Digest() || len(r.rest) != 8*m.sum.Dimension {
		return errGarbage
	}
	c := &m.sums[i]
	if c.vector != nil || c.named>>msg.By&1 == 1 {
		return nil
	}
	d := hash("claim", msg.Payload)
	if c.claims == nil {
		c.claims, c.by = make(map[Digest][]uint64), make(map[Digest]uint16)
	}
	if c.claims[d] == nil {
		c.claims[d] = make([]uint64, m.sum.Dimension)
		if err := AddWords(c.claims[d], r.rest); err != nil {
			return err
		}
	}
	c.named |= 1 << msg.By
	c.by[d] |= 1 << msg.By
	m.out.Took = true
	if bits.OnesCount16(c.by[d]) < m.honest() {
		return nil
	}
	c.vector, c.claims = c.claims[d], nil
	for by := range m.pledges {
		if other := c.named &^ c.by[d]; other>>by&1 == 1 {
			m.blame(by, "it opened another sum than the others")
		}
	}
	return nil
}
