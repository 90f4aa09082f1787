package sums

import (
	"crypto/ed25519"
	"errors"
	"maps"
	"math/bits"
	"slices"
)

// Input is one thing that happens to a member. What it holds must not be changed
// afterwards.
type Input interface {
	// happen lets the member take the input in. An error says why it was of no use; it
	// then has changed nothing.
	happen(m *Member) error
}

// Heard is a message of a member's, from whom the channel says.
type Heard struct {
	From    int
	Message []byte
}

// Arrived is an upload: its entry, and the hash of the masked vector that came with it,
// as [Sum.Split] and [HashMasked] make them. The driver keeps the vector.
type Arrived struct {
	Entry  []byte
	Masked Digest
}

// Drawn is the door's answer to [Output.Noise]: the entry of the upload that
// [Sum.ContributeNoise] made, which the driver keeps.
type Drawn struct{ Entry []byte }

// Closing says that the time of the opening's Closes has come.
type Closing struct{}

// Timeout says that a view has lasted too long.
type Timeout struct{ View uint32 }

// Added answers [Output.Add]: the sum of the masked vectors, in the ring.
type Added struct {
	List  Digest
	Total []uint64
}

// Tick asks for what is to be said again, as messages get lost.
type Tick struct{}

// Deadline is the public time after which nothing is opened any more.
type Deadline struct{}

// Letter is a message to send.
type Letter struct {
	To      int  // member; -1: all others
	Secret  bool // only over a channel that nobody else can read
	Message []byte
}

// Addition asks for the sum of the masked vectors of these entries.
type Addition struct {
	List    Digest
	Entries []Digest
}

// Blame is a member that signed what no honest member signs.
type Blame struct {
	Member int
	Reason string
}

// Output is what a driver is to do after a step, in the order of the fields.
type Output struct {
	// Took says that the input changed the member: append it to the sum's journal, and
	// make that durable, before anything else. Replaying the journal restores the member.
	Took  bool
	Noise *NoiseRequest // draw noise, once; answered by [Drawn]
	Send  []Letter
	Fetch []Digest  // entries whose uploads to fetch from others
	Add   *Addition // answered by [Added]
	// Done is the result once it is believed. Result is nil in it when this member could
	// not work it out itself; its content is then to be fetched.
	Done  *Published
	Blame []Blame
	// Erase says to erase keys and journal for good. The machine may go on: it repeats
	// what it said, which is public, and opens nothing any more.
	Erase bool
}

// NoiseRequest is what noise is sealed to.
type NoiseRequest struct{ keys *keys }

// ContributeNoise makes a member's upload of its part of the noise, as
// [privacy.LiveNoise.Part] draws it for the committee's Honest parts.
func (s *Sum) ContributeNoise(r *NoiseRequest, identity ed25519.PrivateKey, part []int64) ([]byte, error) {
	return s.upload(r.keys, r.keys.digest, identity, 0, part)
}

// holding is an entry that a member holds, with the seeds that fit it.
type holding struct {
	entry   *Entry
	seeds   []seed
	streams []Digest
	fit     []bool // by class
}

// Member is the state machine of one member of the committee for one sum. It is not
// safe for concurrent use. Its inputs are its trace: fed again into a fresh one that was
// made alike, they lead to the same state and the same bytes.
type Member struct {
	sum     *Sum
	self    int
	secrets Secrets
	silent  bool // keys were lost: it says nothing in this sum
	over    bool // keys are erased

	recalled          uint16    // members that said what they hold of this one
	pledges           []*Pledge // by member
	keys              *keys     // once all are there
	asked             bool      // for noise
	noise             []Digest  // first noise entry of each member; zero: none yet
	noises, certifies tally
	opening           *Opening

	entries map[Digest]*holding
	first   map[Identity]Digest // the entry of a contributor that this member accepted
	accepts map[Digest]uint16
	fresh   []Digest        // accepted and not said yet
	missing map[Digest]bool // t+1 others hold them, and this member not yet, or not whole

	closed    bool
	settling  int // ticks since it closed, at most settling
	voter     Voter
	prepares  tally
	commits   tally
	views     tally
	lockProof proof
	proposed  uint32 // views in which it has proposed, as leader: the last one and 1
	proposal  *proposal
	lists     map[Digest]*List
	listBy    []Digest // the list that each member sent last
	decided   *decision

	sums    []classSum
	opened  bool // it has computed its own
	asking  bool // for the addition
	result  *Result
	results tally

	said   []remark           // to be repeated
	own    map[statement]bool // ever signed
	waited int                // ticks since others have agreed on a result
	out    Output             // of the step under way
}

// classSum is what is known of one class's sum of streams.
type classSum struct {
	vector []uint64 // once decided
	claims map[Digest][]uint64
	by     map[Digest]uint16
	named  uint16 // who has claimed something
}

// NewMember makes a member that has taken part in nothing. identity is a member of the
// committee; secrets and pledge are durable, and were made for this sum alone. It first
// asks all others what they hold of it, and if anybody holds another pledge it is silent.
func NewMember(s *Sum, secrets Secrets, pledge Pledge) *Member {
	n := len(s.Committee.Members)
	m := &Member{
		sum: s, self: pledge.Member, secrets: secrets,
		pledges: make([]*Pledge, n), noise: make([]Digest, n), listBy: make([]Digest, n),
		entries: make(map[Digest]*holding), first: make(map[Identity]Digest),
		accepts: make(map[Digest]uint16), own: make(map[statement]bool), missing: make(map[Digest]bool), lists: make(map[Digest]*List),
		sums: make([]classSum, len(s.classes)),
	}
	m.pledges[m.self] = &pledge
	m.recalled = 1 << m.self
	return m
}

// Step takes an input in. With an error the output is empty and the state as before.
func (m *Member) Step(in Input) (Output, error) {
	m.out = Output{}
	if err := in.happen(m); err != nil {
		m.out = Output{}
		return Output{}, err
	}
	if !m.silent && !m.over {
		m.progress()
	}
	return m.out, nil
}

// View is the view that the member votes in.
func (m *Member) View() uint32 { return m.voter.View }

// Voting reports that the sum has closed and no list is certified yet, so that views
// have to end by [Timeout].
func (m *Member) Voting() bool { return m.closed && m.decided == nil && !m.over && !m.silent }

// Opening is the certified opening; nil while there is none.
func (m *Member) Opening() *Opening { return m.opening }

// Silent reports that the member takes no part since its keys were lost.
func (m *Member) Silent() bool { return m.silent }

// Missing lists the members that an opening waits for: of whom no answer, keys or noise
// has come. It is empty once the sum is open.
func (m *Member) Missing() []int {
	var list []int
	all := uint16(1<<len(m.pledges) - 1)
	for i := range m.pledges {
		switch {
		case m.opening != nil:
		case m.recalled>>i&1 == 0,
			m.recalled == all && m.pledges[i] == nil,
			m.keys != nil && !m.whole(m.noise[i]):
			list = append(list, i)
		}
	}
	return list
}

func (m *Member) honest() int { return m.sum.Committee.Colluding + 1 }
func (m *Member) quorum() int { return m.sum.Committee.Quorum() }

// remark is a letter and how many ticks ago it was sent first.
type remark struct {
	Letter
	age int
}

// again repeats letters that are one tick old, two, four and then every four; accepts,
// of which there are many, ever more rarely down to every 32.
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

// say sends a message, and repeats it at ticks.
func (m *Member) say(to int, kind Kind, number uint32, payload []byte) *Message {
	msg := m.sum.sign(m.keys, m.secrets, m.self, kind, number, payload)
	l := Letter{To: to, Message: msg.Bytes()}
	m.said = append(m.said, remark{Letter: l})
	m.out.Send = append(m.out.Send, l)
	m.own[said(kind, number, payload)] = true
	m.out.Took = true
	return msg
}

// unsay stops repeating messages of the kind.
func (m *Member) unsay(kind Kind) {
	m.said = slices.DeleteFunc(m.said, func(r remark) bool { return Kind(r.Message[0]) == kind })
}

// answer sends a message once.
func (m *Member) answer(to int, kind Kind, payload []byte, secret bool) {
	msg := m.sum.sign(m.keys, m.secrets, m.self, kind, 0, payload)
	m.out.Send = append(m.out.Send, Letter{to, secret, msg.Bytes()})
}

func (m *Member) blame(member int, reason string) {
	m.out.Blame = append(m.out.Blame, Blame{member, reason})
}

var (
	errOver       = errors.New("sums: this member's part in the sum is over")
	errUnexpected = errors.New("sums: this is not expected now")
)

func (in Arrived) happen(m *Member) error {
	if m.keys == nil || m.over || m.silent {
		return errUnexpected
	}
	context := m.keys.digest
	if m.opening != nil && len(in.Entry) >= len(Digest{}) && Digest(in.Entry[:len(Digest{})]) != context {
		context = m.opening.Digest
	}
	e, err := m.sum.readEntry(in.Entry, context)
	if err != nil {
		return err
	}
	if e.Masked != in.Masked {
		return errors.New("sums: the vector of an upload is not the one of its entry")
	}
	digest := m.sum.digest(e)
	if m.entries[digest] != nil {
		return nil
	}
	if context == m.keys.digest {
		return m.noiseArrived(digest, e)
	}
	return m.entryArrived(digest, e)
}

// noiseArrived holds the noise that a member named, or that a quorum certified.
func (m *Member) noiseArrived(digest Digest, e *Entry) error {
	i := m.sum.Committee.index(e.From)
	if i < 0 || e.Records != 0 || m.noise[i] != digest {
		return errors.New("sums: noise that no member has named")
	}
	m.hold(digest, e)
	return nil
}

// entryArrived holds a contribution: the contributor's first, and any that more members
// accepted than may collude.
func (m *Member) entryArrived(digest Digest, e *Entry) error {
	first, known := m.first[e.From]
	wanted := bits.OnesCount16(m.accepts[digest]) >= m.honest() || m.listed(digest)
	if !wanted && (known && first != digest || !known && len(m.first) >= m.sum.Contributors) {
		return errors.New("sums: an entry is one too many")
	}
	if !known {
		m.first[e.From] = digest
	}
	m.hold(digest, e)
	m.accept(digest)
	return nil
}

// hold opens what is sealed to this member.
func (m *Member) hold(digest Digest, e *Entry) {
	h := &holding{entry: e, seeds: make([]seed, len(m.sum.classes)), fit: make([]bool, len(m.sum.classes))}
	if seeds, ok := m.sum.openSeeds(m.secrets.seal, e.Context, e.From, m.self, e.Sealed[m.self]); ok {
		h.seeds = seeds
	}
	h.streams, h.fit = m.sum.check(e, h.seeds)
	e.Sealed = nil // it is large, and done with
	m.entries[digest] = h
	m.out.Took = true
}

// accept notes that a contribution is held with all seeds, if it is.
func (m *Member) accept(digest Digest) {
	h := m.entries[digest]
	if !m.whole(digest) {
		return
	}
	delete(m.missing, digest)
	if m.first[h.entry.From] == digest && m.accepts[digest]>>m.self&1 == 0 {
		m.accepts[digest] |= 1 << m.self
		m.fresh = append(m.fresh, digest)
	}
}

// whole reports whether the member holds an entry and all seeds of it that it should.
func (m *Member) whole(digest Digest) bool {
	h := m.entries[digest]
	if h == nil {
		return false
	}
	for i, class := range m.sum.classes {
		if !h.fit[i] && !class.Lacks(m.self) {
			return false
		}
	}
	return true
}

func (in Drawn) happen(m *Member) error {
	if !m.asked || m.noise[m.self] != (Digest{}) {
		return errUnexpected
	}
	e, err := m.sum.readEntry(in.Entry, m.keys.digest)
	if err != nil {
		return err
	}
	if m.sum.Committee.index(e.From) != m.self {
		return errUnexpected
	}
	digest := m.sum.digest(e)
	m.noise[m.self] = digest
	m.hold(digest, e)
	m.say(-1, KindNoise, 0, digest[:])
	return nil
}

func (Closing) happen(m *Member) error {
	if m.opening == nil || m.closed {
		return errUnexpected
	}
	m.closed, m.out.Took = true, true
	m.sayFresh()
	return nil
}

func (in Timeout) happen(m *Member) error {
	if !m.closed || m.decided != nil || m.over || in.View != m.voter.View {
		return errUnexpected
	}
	m.leave(in.View + 1)
	return nil
}

// leave goes to a later view.
func (m *Member) leave(view uint32) {
	if !m.voter.Advance(view) {
		return
	}
	m.out.Took = true
	m.unsay(KindView)
	m.unsay(KindPrepare)
	m.unsay(KindPropose)
	var w writer
	if m.voter.Lock != (Lock{}) {
		w.u32(m.voter.Lock.View)
		w.fixed(m.voter.Lock.Digest[:])
		m.lockProof.write(&w)
	}
	m.views.add(m.say(-1, KindView, view, w))
}

func (in Added) happen(m *Member) error {
	if m.result != nil || m.over || !m.asking || m.decided == nil || in.List != m.decided.list.Digest() || len(in.Total) != m.sum.Dimension {
		return errUnexpected
	}
	total := slices.Clone(in.Total)
	for i := range m.sums {
		for j, x := range m.sums[i].vector {
			total[j] += x
		}
	}
	m.result = m.sum.newResult(m.decided.list, total)
	m.out.Took = true
	digest := m.result.digest()
	m.results.add(m.say(-1, KindResult, 0, digest[:]))
	return nil
}

func (Tick) happen(m *Member) error {
	if m.silent {
		return nil
	}
	m.again()
	if m.over {
		return nil
	}
	m.sayFresh()
	m.repeat()
	for i := range m.pledges {
		if m.recalled>>i&1 == 0 {
			b := Message{Kind: KindRecall, By: m.self}
			m.out.Send = append(m.out.Send, Letter{To: i, Message: b.Bytes()})
		}
	}
	m.seekMissing()
	return nil
}

// patience is for how many ticks a member goes on working out a result on which others
// have agreed.
const patience = 16

// settling is for how many ticks the first leader waits for what others hold.
const settling = 3

// repeat asks again for what only the driver can do, as it may have been stopped.
func (m *Member) repeat() {
	if m.asked && m.noise[m.self] == (Digest{}) {
		m.out.Noise = &NoiseRequest{m.keys}
	}
	if m.closed && m.settling < settling {
		m.settling++
		m.out.Took = true // what a decision rests on is in the journal
	}
	if m.asking && m.result == nil {
		m.out.Add = &Addition{m.decided.list.Digest(), m.inSum()}
	}
	if _, agreed, _ := m.results.agreed(m.honest()); agreed != nil && m.waited < patience {
		m.waited++
		m.out.Took = true
	}
}

// sayFresh tells which contributions were accepted since it was told last. It is said
// again until the end.
func (m *Member) sayFresh() {
	if len(m.fresh) == 0 || m.keys == nil || m.over {
		return
	}
	var w writer
	for _, d := range m.fresh {
		w.fixed(d[:])
	}
	m.fresh, m.out.Took = nil, true
	m.say(-1, KindAccept, 0, w)
}

// seekMissing asks for uploads and seeds of noise that a quorum certified, of listed
// contributions, and of those that more members accepted than may collude: garbage that
// one contributor sends costs no questions.
func (m *Member) seekMissing() {
	want := func(d Digest, from uint16) {
		if m.whole(d) || d == (Digest{}) {
			return
		}
		if m.entries[d] == nil {
			m.out.Fetch = append(m.out.Fetch, d)
			return
		}
		for i := range m.pledges {
			if i != m.self && from>>i&1 == 1 {
				m.answer(i, KindSeek, d[:], false)
			}
		}
	}
	all := uint16(1<<len(m.pledges) - 1)
	if m.keys != nil {
		for _, d := range m.noise {
			want(d, all)
		}
	}
	for _, d := range slices.SortedFunc(maps.Keys(m.missing), compare) {
		want(d, m.accepts[d])
	}
	for _, d := range slices.SortedFunc(maps.Keys(m.lists), compare) {
		for _, e := range m.lists[d].Entries {
			if !m.missing[e.Entry] {
				want(e.Entry, all)
			}
		}
	}
	slices.SortFunc(m.out.Fetch, compare)
	m.out.Fetch = slices.Compact(m.out.Fetch)
}

// listed reports whether any list that was heard holds the entry.
func (m *Member) listed(digest Digest) bool {
	for _, l := range m.lists {
		if slices.ContainsFunc(l.Entries, func(e Listed) bool { return e.Entry == digest }) {
			return true
		}
	}
	return false
}

func (Deadline) happen(m *Member) error {
	if m.over {
		return errOver
	}
	m.finish()
	return nil
}

// finish erases what could open anything.
func (m *Member) finish() {
	m.over, m.out.Took, m.out.Erase = true, true, true
	m.secrets = Secrets{}
	for _, h := range m.entries {
		clear(h.seeds)
		clear(h.streams)
	}
	m.entries = nil
}
