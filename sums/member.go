package sums

import (
	"errors"
	"math/bits"
	"slices"
)

// Member is the state machine of one member of the committee for one sum. It is not
// safe for concurrent use. Its inputs are its trace: given in the same order to a new
// one that was made alike, they lead to the same state and the same bytes.
type Member struct {
	sum     *Sum
	self    int
	secrets Secrets
	silent  bool // keys were lost: it sends nothing in this sum
	over    bool // keys are erased

	recalled          uint16    // members that said what they hold of this one
	restarts          int       // number of restarts
	confirmed         uint16    // members that said so since the last restart
	pledges           []*Pledge // by member
	keys              *keys     // nil until all pledges are there
	asked             bool      // noise was asked for
	noise             []Digest  // first noise entry of each member; zero: none yet
	noises, certifies tally
	opening           *Opening

	entries map[Digest]*holding
	first   map[Identity]Digest // the first entry of each contributor that this member accepted
	accepts map[Digest]uint16
	named   []int           // by member, how many entries it was the first to accept, as this one heard
	fresh   []Digest        // accepted, and not announced yet
	missing map[Digest]bool // t+1 others hold them, and this member does not yet, or without all seeds

	closed    bool
	settling  int // ticks since it closed, or since the present view began
	voter     voter
	prepares  tally
	commits   tally
	views     tally
	lockProof proof
	proposed  uint32 // as leader, the last view in which it has proposed, plus 1
	proposal  *proposal
	lists     map[Digest]*List
	listBy    []Digest // the list that each member sent last
	listedIn  []uint32 // by member, 1 + the view of that list; 0: none
	decided   *decision

	sums      []classSum
	opened    bool // it has computed its own class sums
	asking    bool // the addition was asked for
	result    *Result
	results   tally
	published *Published // nil until it is believed

	said     []sentLetter       // to be repeated
	own      map[statement]bool // everything it ever signed
	waited   int                // ticks since others agreed on a result
	lingered int                // ticks since all was over, at most maxWait
	blamed   map[Blame]bool     // what was told of others
	out      Output             // of the step under way
}

// classSum is what is known of one class's sum of streams.
type classSum struct {
	vector []uint64 // nil until decided
	claims map[Digest][]uint64
	by     map[Digest]uint16
	named  uint16 // the members that have claimed something
}

// NewMember makes a member that has not taken part yet. secrets and pledge are durable,
// and were made for this sum alone; pledge is what [Sum.Pledge] made of these secrets, and
// says which member this is. The member first asks all others what they hold of it, and
// if anybody holds another pledge it is silent.
func NewMember(s *Sum, secrets Secrets, pledge Pledge) *Member {
	n := len(s.Committee.Members)
	m := &Member{
		sum: s, self: pledge.Member, secrets: secrets,
		pledges: make([]*Pledge, n), noise: make([]Digest, n), listBy: make([]Digest, n), listedIn: make([]uint32, n), blamed: make(map[Blame]bool), named: make([]int, n),
		entries: make(map[Digest]*holding), first: make(map[Identity]Digest),
		accepts: make(map[Digest]uint16), own: make(map[statement]bool), missing: make(map[Digest]bool), lists: make(map[Digest]*List),
		sums: make([]classSum, len(s.classes)),
	}
	m.pledges[m.self] = &pledge
	m.recalled = 1 << m.self
	return m
}

// Step takes an input in. With an error the output is empty and the state unchanged.
func (m *Member) Step(in Input) (Output, error) {
	m.out = Output{}
	if err := in.happen(m); err != nil {
		m.out = Output{}
		return Output{}, err
	}
	if !m.silent && !m.over && !m.quiet() {
		m.progress()
	}
	return m.out, nil
}

// quiet reports whether, since the restart, too few members have said what this one
// signed before. With t members away, enough are left.
func (m *Member) quiet() bool {
	return m.restarts > 0 && bits.OnesCount16(m.confirmed) < m.quorum()-1
}

func (Restarted) happen(m *Member) error {
	m.restarts, m.confirmed, m.out.Took = m.restarts+1, 0, true
	return nil
}

// View is the view that the member votes in.
func (m *Member) View() uint32 { return m.voter.View }

// Closed reports that the time for contributions is over, as [Closing] says.
func (m *Member) Closed() bool { return m.closed }

// Voting reports that the sum has closed and no list is certified yet. Views then end
// by [Timeout].
func (m *Member) Voting() bool { return m.closed && m.decided == nil && !m.over && !m.silent }

// Idle reports that nobody needs anything of this member any more: its part in the sum
// is over, all others have signed the result, and it has told them often enough of its
// own.
func (m *Member) Idle() bool {
	for by := range m.pledges {
		if m.results.newest[by] == nil {
			return false
		}
	}
	return m.over && m.lingered >= maxWait
}

// Opening returns the certified opening, or nil while there is none.
func (m *Member) Opening() *Opening { return m.opening }

// Silent reports that the member takes no part because its keys were lost.
func (m *Member) Silent() bool { return m.silent }

// Missing lists the members whose answer, keys or noise an opening still waits for, and those
// whose keys nobody can use. It is empty once the sum is open.
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
	if m.keys == nil && len(list) == 0 { // all pledges are there
		for i, p := range m.pledges {
			if _, err := p.key(); err != nil {
				list = append(list, i)
			}
		}
	}
	return list
}

func (m *Member) honest() int { return m.sum.Committee.Colluding + 1 }
func (m *Member) quorum() int { return m.sum.Committee.Quorum() }

var (
	errOver       = errors.New("sums: this member's part in the sum is over")
	errUnexpected = errors.New("sums: this is not expected now")
)

func (in Drawn) happen(m *Member) error {
	if !m.asked || m.quiet() || m.noise[m.self] != (Digest{}) {
		return errUnexpected
	}
	e, err := m.sum.readEntry(in.Entry, m.keys.digest)
	if err != nil {
		return err
	}
	if m.sum.Committee.index(e.From) != m.self {
		return errUnexpected
	}
	if m.silent {
		return nil // no error, here and below: journals have it of members that were silent
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
	if m.silent {
		return nil
	}
	m.sayFresh()
	m.sayAgain(KindAccept) // the leader lists what a quorum accepted, as far as the leader has heard
	return nil
}

func (in Timeout) happen(m *Member) error {
	if !m.closed || m.decided != nil || m.over || m.silent || m.quiet() || in.View != m.voter.View {
		return errUnexpected
	}
	m.leave(in.View + 1)
	return nil
}

// leave goes to a later view.
func (m *Member) leave(view uint32) {
	if !m.voter.advance(view) {
		return
	}
	m.settling, m.out.Took = 0, true
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
	if m.result != nil || m.over || m.quiet() || !m.asking || m.decided == nil || in.List != m.decided.list.Digest() || len(in.Total) != m.sum.Dimension {
		return errUnexpected
	}
	if m.silent {
		return nil
	}
	total := slices.Clone(in.Total)
	for i := range m.sums {
		for j, x := range m.sums[i].vector {
			total[j] += x
		}
	}
	m.result = m.sum.newResult(m.decided.list, total)
	m.out.Took = true
	digest := m.result.Digest()
	m.results.add(m.say(-1, KindResult, 0, digest[:]))
	return nil
}

func (Deadline) happen(m *Member) error {
	if m.over {
		return errOver
	}
	m.finish()
	return nil
}

// end tells the driver that all is over. It does so at every tick, because the driver
// may have been stopped.
func (m *Member) end() { m.out.Done, m.out.Erase = m.published, true }

// finish erases everything that could open anything.
func (m *Member) finish() {
	m.over, m.out.Took = true, true
	m.end()
	m.secrets = Secrets{}
	for _, h := range m.entries {
		clear(h.seeds)
		clear(h.streams)
	}
	m.entries = nil
}
