package sums

import (
	"crypto/ed25519"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"p2pnode/privacy"
)

// network is a committee and its contributors in one process: messages that are lost and
// come in any order, members that are killed and come back from their journals.
type network struct {
	t       testing.TB
	sum     *Sum
	rng     *rand.Rand
	members []*node
	uploads map[Digest][]byte // that somebody keeps, by entry
	queue   []post
	loss    float64
	opened  map[Digest]bool  // lists for which any honest member said a class's sum
	once    map[claim]string // what honest members have said under a number
	kill    float64          // probability, of each step, at each of three points
	kills   int
	closing bool // the time has come
}

// claim is what an honest member says in one way only.
type claim struct {
	by     int
	kind   Kind
	number uint32
}

type post struct {
	to int
	in Input
}

// node is a member with its disk.
type node struct {
	identity ed25519.PrivateKey
	secrets  Secrets
	pledge   Pledge
	machine  *Member
	journal  [][]byte
	down     bool
	liar     func(n *network, l Letter) []Letter // what a colluding member sends in place of a letter
	done     *Published
	erased   bool
	blamed   []Blame
	fetches  []Digest
}

// identityOf is the identity of a number.
func identityOf(n int) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0], seed[1], seed[2] = byte(n), byte(n>>8), 0x15
	return ed25519.NewKeyFromSeed(seed)
}

func publicOf(k ed25519.PrivateKey) Identity { return Identity(k.Public().(ed25519.PublicKey)) }

func testTerms(s, t, dim int) Terms {
	terms := Terms{
		Task: Digest{1}, Recipe: "items .75", Epoch: 3, Committee: Committee{Colluding: t},
		Distance: 1.5, Std: 6, Dimension: dim, Contributors: 1000, Records: 5000,
	}
	for i := range s {
		terms.Committee.Members = append(terms.Committee.Members, publicOf(identityOf(1000+i)))
	}
	return terms
}

func newSum(t testing.TB, terms Terms) *Sum {
	t.Helper()
	s, err := New(terms)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newNetwork(t testing.TB, s, colluding, dim int, seed uint64) *network {
	t.Helper()
	n := &network{
		t: t, sum: newSum(t, testTerms(s, colluding, dim)), rng: rand.New(rand.NewPCG(seed, 15)),
		uploads: make(map[Digest][]byte), opened: make(map[Digest]bool), once: make(map[claim]string),
	}
	for i := range s {
		n.members = append(n.members, n.newNode(identityOf(1000+i)))
	}
	return n
}

func (n *network) newNode(identity ed25519.PrivateKey) *node {
	n.t.Helper()
	secrets, err := NewSecrets()
	if err != nil {
		n.t.Fatal(err)
	}
	pledge, err := n.sum.Pledge(identity, secrets, 1000)
	if err != nil {
		n.t.Fatal(err)
	}
	return &node{identity: identity, secrets: secrets, pledge: pledge, machine: NewMember(n.sum, secrets, pledge)}
}

// step feeds a member, writes its journal and carries out what it wants.
func (n *network) step(i int, in Input) {
	m := n.members[i]
	if m.down {
		return
	}
	out, err := m.machine.Step(in)
	if err != nil {
		return
	}
	point := n.rng.Float64()
	if point < n.kill { // before the journal is written
		n.crash(i)
		return
	}
	if out.Took {
		m.journal = append(m.journal, EncodeInput(in))
	}
	if point < 2*n.kill { // before anything else is done
		n.crash(i)
		return
	}
	if point < 3*n.kill { // half way
		out.Send = out.Send[:len(out.Send)/2]
		defer n.crash(i)
	}
	m.blamed = append(m.blamed, out.Blame...)
	m.fetches = out.Fetch
	if out.Noise != nil {
		part := privacy.NewLiveNoise().Part(n.sum.Mechanism, n.sum.Committee.Honest())
		upload, err := n.sum.ContributeNoise(out.Noise, m.identity, part)
		if err != nil {
			n.t.Fatal(err)
		}
		entry := n.keep(upload)
		n.queue = append(n.queue, post{to: i, in: Drawn{entry}})
	}
	for _, l := range out.Send {
		letters := []Letter{l}
		if m.liar != nil {
			letters = m.liar(n, l)
		}
		for _, l := range letters {
			n.post(i, l)
		}
	}
	for _, d := range out.Fetch {
		if upload := n.uploads[d]; upload != nil {
			n.arrive(i, upload)
		}
	}
	if out.Add != nil {
		total := make([]uint64, n.sum.Dimension)
		for _, d := range out.Add.Entries {
			_, masked, err := n.sum.Split(n.uploads[d])
			if err != nil {
				n.t.Fatalf("an entry that is added up was not kept: %v", err)
			}
			if err := AddWords(total, masked); err != nil {
				n.t.Fatal(err)
			}
		}
		n.queue = append(n.queue, post{to: i, in: Added{out.Add.List, total}})
	}
	if out.Done != nil {
		m.done = out.Done
	}
	if out.Erase {
		m.erased, m.journal = true, nil
	}
}

// crash is kill -9 and a start after it.
func (n *network) crash(i int) {
	if n.members[i].erased {
		return
	}
	n.kills++
	n.replay(i)
	kill := n.kill
	n.kill = 0
	n.step(i, Restarted{})
	if n.closing {
		n.step(i, Closing{})
	}
	n.kill = kill
}

// keep stores an upload, and returns its entry.
func (n *network) keep(upload []byte) []byte {
	header, _, err := n.sum.Split(upload)
	if err != nil {
		n.t.Fatal(err)
	}
	e, err := n.sum.readEntry(header, Digest(header[:32]))
	if err != nil {
		n.t.Fatal(err)
	}
	n.uploads[n.sum.digest(e)] = upload
	return header
}

func (n *network) post(from int, l Letter) {
	msg, err := n.sum.ReadMessage(l.Message)
	if err != nil {
		n.t.Fatalf("member %d says what cannot be read: %v", from, err)
	}
	if n.members[from].liar == nil {
		n.never(from, msg)
	}
	for to := range n.members {
		if to != from && (l.To == to || l.To == -1) && n.rng.Float64() >= n.loss {
			n.queue = append(n.queue, post{to: to, in: Heard{from, l.Message}})
		}
	}
}

// never fails when an honest member says two things under one number, and notes which
// lists are opened.
func (n *network) never(from int, msg *Message) {
	if msg.Kind == KindOpen {
		n.opened[Digest(msg.Payload[:32])] = true
	}
	switch msg.Kind {
	case KindNoise, KindCertify, KindPropose, KindPrepare, KindCommit, KindView, KindOpen, KindResult:
		c := claim{from, msg.Kind, msg.Number}
		if old, said := n.once[c]; said && old != string(msg.Payload) {
			n.t.Errorf("an honest member contradicts itself: %+v", c)
		}
		n.once[c] = string(msg.Payload)
	}
}

func (n *network) arrive(to int, upload []byte) {
	header, masked, err := n.sum.Split(upload)
	if err != nil {
		return
	}
	n.queue = append(n.queue, post{to: to, in: Arrived{header, HashMasked(masked)}})
}

// deliver empties the queue in random order.
func (n *network) deliver() {
	for len(n.queue) > 0 {
		k := n.rng.IntN(len(n.queue))
		p := n.queue[k]
		n.queue[k] = n.queue[len(n.queue)-1]
		n.queue = n.queue[:len(n.queue)-1]
		n.step(p.to, p.in)
	}
}

// rounds of messages and ticks until the condition holds; false if it never does.
func (n *network) until(rounds int, condition func() bool) bool {
	for range rounds {
		n.deliver()
		if condition() {
			return true
		}
		for i := range n.members {
			n.step(i, Tick{})
		}
	}
	n.deliver()
	return condition()
}

// honest calls f with every member that is up and does not lie.
func (n *network) honest(f func(i int, m *node) bool) bool {
	for i, m := range n.members {
		if m.liar == nil && !m.down && !m.machine.Silent() && !f(i, m) {
			return false
		}
	}
	return true
}

// open brings the committee to a certified opening.
func (n *network) open() *Opening {
	n.t.Helper()
	var o *Opening
	if !n.until(60, func() bool {
		return n.honest(func(_ int, m *node) bool { o = m.machine.Opening(); return o != nil })
	}) {
		n.t.Fatal("the sum is not opened")
	}
	return o
}

// contribute lets a device with this vector take part, and sends its upload to all.
func (n *network) contribute(o *Opening, device int, v []int64) []byte {
	n.t.Helper()
	id := identityOf(device)
	c, err := NewContributor(n.sum, publicOf(id), nil)
	if err != nil {
		n.t.Fatal(err)
	}
	opening, err := c.Open(o.Bytes())
	if err != nil || opening == nil {
		n.t.Fatalf("the opening is not believed: %v", err)
	}
	upload, err := n.sum.Contribute(opening, id, 30+device, v)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := c.Paid(upload); err != nil {
		n.t.Fatal(err)
	}
	n.keep(c.Send())
	for i := range n.members {
		n.arrive(i, upload)
	}
	return upload
}

// close ends the sum, with time-outs where a view comes to nothing, until all honest
// members are done.
func (n *network) close() {
	n.t.Helper()
	n.closing = true
	for i := range n.members {
		n.step(i, Closing{})
	}
	done := func() bool { return n.honest(func(_ int, m *node) bool { return m.done != nil }) }
	for range 12 {
		if n.until(8, done) {
			return
		}
		for i, m := range n.members {
			if m.machine.Voting() {
				n.step(i, Timeout{m.machine.View()})
			}
		}
	}
	n.t.Fatal("the sum does not end")
}

// vector is a small vector of a device.
func (n *network) vector() []int64 {
	v := make([]int64, n.sum.Dimension)
	for j := range v {
		v[j] = n.rng.Int64N(1<<31) - 1<<30
	}
	return v
}

// list is the list that the honest members opened: the same of all, and one.
func (n *network) list() *List {
	n.t.Helper()
	var list *List
	n.honest(func(i int, m *node) bool {
		d := m.machine.decided
		if d == nil && m.done.Result == nil {
			return true // it was told the result
		}
		if d == nil || list != nil && d.list.Digest() != list.Digest() {
			n.t.Fatalf("member %d opened another list than the others", i)
		}
		list = d.list
		return true
	})
	if len(n.opened) != 1 {
		n.t.Errorf("%d lists were opened", len(n.opened))
	}
	return list
}

// checkSum compares the result with the plain sum of the listed vectors and of all noise.
func (n *network) checkSum(vectors map[Identity][]int64) *Published {
	n.t.Helper()
	list := n.list()
	var published *Published
	n.honest(func(i int, m *node) bool {
		if m.done.Result == nil {
			return true // it could not work the result out itself
		}
		if published != nil && published.Result.Digest() != m.done.Result.Digest() {
			n.t.Errorf("member %d has another result", i)
		}
		published = m.done
		return true
	})
	if published == nil {
		n.t.Fatal("nobody has a result")
	}
	want := make([]float64, n.sum.Dimension)
	for _, e := range list.Entries {
		for j, x := range vectors[e.From] {
			want[j] += float64(x) * n.sum.Mechanism.Unit()
		}
	}
	// The noise is some eight standard deviations at most (false failures: 1e-14).
	for j, x := range published.Result.Values {
		if d := float64(x) - want[j]; d > 8*n.sum.Noise() || d < -8*n.sum.Noise() || d == 0 {
			n.t.Errorf("coordinate %d is %v off, with noise of standard deviation %v", j, d, n.sum.Noise())
		}
	}
	return published
}

// restart kills a member and brings it back from what it wrote down: it is what it was.
func (n *network) restart(i int) {
	if n.members[i].erased {
		return
	}
	a := n.members[i].machine
	n.replay(i)
	b := n.members[i].machine
	if a.voter != b.voter || a.proposed != b.proposed || (a.decided == nil) != (b.decided == nil) || len(a.own) != len(b.own) || len(a.fresh) != len(b.fresh) {
		n.t.Errorf("member %d was %+v, %d, and is %+v, %d after its journal", i, a.voter, a.proposed, b.voter, b.proposed)
	}
	for s := range a.own {
		if !b.own[s] {
			n.t.Errorf("member %d does not know what it has signed: %+v", i, s)
		}
	}
	n.step(i, Restarted{})
}

// replay makes a member anew from its journal.
func (n *network) replay(i int) {
	m := n.members[i]
	m.machine = NewMember(n.sum, m.secrets, m.pledge)
	for k, b := range m.journal {
		in, err := DecodeInput(b)
		if err != nil {
			n.t.Fatal(err)
		}
		if _, err := m.machine.Step(in); err != nil {
			n.t.Fatalf("input %d of %d of the journal is refused: %v", k, len(m.journal), err)
		}
	}
}

// The whole protocol, at both sizes: the opened sum is the sum of the listed vectors and
// the noise of all members, everybody is listed, and everybody can check the result.
func TestSum(t *testing.T) {
	for _, size := range []struct{ s, t, people int }{{4, 1, 20}, {7, 2, 5}} {
		n := newNetwork(t, size.s, size.t, 9, 1)
		o := n.open()
		vectors := make(map[Identity][]int64)
		var contributors []*Contributor
		for device := range size.people {
			v := n.vector()
			vectors[publicOf(identityOf(device))] = v
			upload := n.contribute(o, device, v)
			c, err := NewContributor(n.sum, publicOf(identityOf(device)), upload)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := c.Open(o.Bytes()); err != nil || again != nil {
				t.Errorf("a device that has contributed is to pay again: %v", err)
			}
			contributors = append(contributors, c)
			left, err := NewContributor(n.sum, publicOf(identityOf(device)), upload[:n.sum.EntrySize()])
			if err != nil {
				t.Fatal(err)
			}
			if again, err := left.Open(o.Bytes()); err != nil || again != nil || left.Send() != nil {
				t.Errorf("a device with only the entry of its contribution is to pay or to send: %v", err)
			}
			contributors = append(contributors, left)
		}
		n.until(3, func() bool { return false })
		n.close()
		published := n.checkSum(vectors)
		if got := int(published.Result.Entries); got != size.people {
			t.Errorf("%d of %d contributions are listed", got, size.people)
		}
		if _, err := n.sum.ReadPublished(published.Bytes()); err != nil {
			t.Errorf("the result is not believed: %v", err)
		}
		n.honest(func(i int, m *node) bool {
			if !m.erased {
				t.Errorf("member %d keeps its keys", i)
			}
			if m.machine.View() != 0 {
				t.Errorf("member %d went to view %d though nothing was lost", i, m.machine.View())
			}
			return true
		})
		decided := n.members[0].machine.decided.bytes()
		for device, c := range contributors {
			if listed, err := c.Decided(decided); err != nil || !listed {
				t.Errorf("device %d is not listed: %v", device, err)
			}
		}
		stranger, _ := NewContributor(n.sum, publicOf(identityOf(77)), nil)
		if _, err := stranger.Open(o.Bytes()); err != nil {
			t.Error(err)
		}
		if listed, err := stranger.Decided(decided); err != nil || listed {
			t.Errorf("somebody who did not contribute is listed: %v", err)
		}
		forgot, _ := NewContributor(n.sum, publicOf(identityOf(1)), nil)
		forgot.Open(o.Bytes())
		if _, err := forgot.Decided(decided); !errors.Is(err, ErrRolledBack) {
			t.Errorf("a device whose ledger does not know its contribution is told %v", err)
		}
	}
}

// Messages are lost and members killed at every turn, and the sum ends as it should.
func TestSumUnderLossAndCrashes(t *testing.T) {
	for seed := range uint64(30) {
		n := newNetwork(t, 4, 1, 3, seed)
		n.loss = .3
		o := n.open()
		vectors := make(map[Identity][]int64)
		for device := range 4 {
			v := n.vector()
			vectors[publicOf(identityOf(device))] = v
			n.contribute(o, device, v)
		}
		for range 3 {
			n.until(2, func() bool { return false })
			n.restart(n.rng.IntN(4))
		}
		for i := range n.members {
			n.step(i, Closing{})
		}
		for range 4 {
			n.until(1, func() bool { return false })
			n.restart(n.rng.IntN(4))
		}
		n.close()
		if p := n.checkSum(vectors); p.Result.Entries != 4 {
			t.Errorf("seed %d: %d of 4 contributions are listed", seed, p.Result.Entries)
		}
	}
}

// Members are killed at any moment of any step, a hundred times and more, a thousand at
// night: none ever contradicts itself, one list is opened, and the sum is right.
func TestKillsOfMembers(t *testing.T) {
	least := 100
	if text := os.Getenv("P2PNODE_KILLS"); text != "" {
		var err error
		if least, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	kills := 0
	for seed := uint64(0); kills < least; seed++ {
		n := newNetwork(t, 4, 1, 2, seed)
		if seed%5 == 4 {
			n = newNetwork(t, 7, 2, 2, seed)
		}
		n.loss, n.kill = .1, .02
		o := n.open()
		vectors := n.people(o, 3)
		n.run()
		n.close()
		n.checkSum(vectors)
		kills += n.kills
	}
	t.Logf("%d kills", kills)
}

// With t members gone after the opening the sum completes; with one more it says nothing,
// and one that is silent before blocks it before anything is paid, and is named.
func TestMembersThatLeave(t *testing.T) {
	for _, size := range []struct{ s, t int }{{4, 1}, {7, 2}} {
		n := newNetwork(t, size.s, size.t, 3, 5)
		o := n.open()
		v := n.vector()
		n.contribute(o, 1, v)
		n.until(3, func() bool { return false })
		for i := range size.t {
			n.members[i].down = true // the leaders of the first views
		}
		n.close()
		if p := n.checkSum(map[Identity][]int64{publicOf(identityOf(1)): v}); p.Result.Entries != 1 {
			t.Errorf("(%d,%d): %d contributions are listed", size.s, size.t, p.Result.Entries)
		}
	}
	n := newNetwork(t, 4, 1, 3, 5)
	n.contribute(n.open(), 1, n.vector())
	n.members[0].down, n.members[1].down = true, true
	for i := range n.members {
		n.step(i, Closing{})
	}
	for range 5 {
		n.until(5, func() bool { return false })
		for i, m := range n.members {
			n.step(i, Timeout{m.machine.View()})
		}
	}
	if len(n.opened) > 0 {
		t.Error("two of four members open a sum")
	}
	n.step(2, Deadline{})
	if m := n.members[2]; !m.erased || m.done != nil {
		t.Error("after the deadline a member keeps its keys")
	}
	n = newNetwork(t, 4, 1, 3, 5)
	n.members[2].down = true
	n.until(30, func() bool { return false })
	for _, i := range []int{0, 1, 3} {
		if m := n.members[i].machine; m.Opening() != nil || !slices.Equal(m.Missing(), []int{2}) {
			t.Errorf("member %d waits for %v", i, m.Missing())
		}
	}
}

// A member's trace, replayed, leads to the same letters to the bit.
func TestMemberReplays(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 8)
	o := n.open()
	for device := range 3 {
		n.contribute(o, device, n.vector())
	}
	n.until(3, func() bool { return false })
	n.step(2, Closing{})
	before := n.members[2].machine
	n.restart(2)
	after := n.members[2].machine
	if len(before.said) < 4 || len(before.said) != len(after.said) || before.voter != after.voter {
		t.Fatalf("%d letters and %+v become %d and %+v", len(before.said), before.voter, len(after.said), after.voter)
	}
	for i := range before.said {
		if !slices.Equal(before.said[i].Message, after.said[i].Message) {
			t.Errorf("letter %d differs", i)
		}
	}
}

// A member that has accepted many contributions at once, as after a pause, says so in several
// messages. Each of them fits into a reply of 64 KiB, together with the longest opening.
func TestAcceptancesFitIntoReplies(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 92)
	n.open()
	n.run()
	m := n.members[1].machine
	for i := range 3000 {
		m.fresh = append(m.fresh, hash("some", []byte{byte(i >> 8), byte(i)}))
	}
	want := slices.Clone(m.fresh)
	out, err := m.Step(Tick{})
	if err != nil {
		t.Fatal(err)
	}
	large := newSum(t, testTerms(10, 3, 3))
	opening := mostMembers*(pledgeSize+len(Digest{})) + large.mostProof()
	var got []Digest
	for _, l := range out.Send {
		msg, err := n.sum.ReadMessage(l.Message)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Kind != KindAccept {
			continue
		}
		if all := len(l.Message) + opening + 1000; all > 64<<10 { // 1000 for what else is in a reply
			t.Errorf("a reply with an acceptance has %d bytes", all)
		}
		for r := (reader{rest: msg.Payload}); len(r.rest) > 0; {
			got = append(got, r.digest())
		}
	}
	if !slices.Equal(got, want) || len(m.fresh) > 0 {
		t.Errorf("of %d contributions %d are announced, %d are left", len(want), len(got), len(m.fresh))
	}
}

// A committee too slow to have taken the contributions in when the sum closes does not
// open a sum of few of them: early leaders pass, and a later one lists all. If the others
// never say that they hold them, a late leader lists what there is.
func TestSlowCommitteeTakesItsTime(t *testing.T) {
	const devices = 8
	for name, late := range map[string]bool{"late": true, "never": false} {
		n := newNetwork(t, 4, 1, 3, 21)
		o := n.open()
		noise := maps.Clone(n.uploads)
		for d := range devices {
			n.contribute(o, d, []int64{1, 2, 3})
		}
		all := n.uploads
		var held []post // uploads on their way to all members but the first
		n.queue = slices.DeleteFunc(n.queue, func(p post) bool {
			_, upload := p.in.(Arrived)
			if upload && p.to > 0 {
				held = append(held, p)
			}
			return upload && p.to > 0
		})
		n.uploads = noise // nobody can fetch the others
		n.closing = true
		for i := range n.members {
			n.step(i, Closing{})
		}
		for view := range uint32(eagerView) {
			n.until(settlingIn(view)+2, func() bool { return false })
			for i, m := range n.members {
				if m.machine.proposal != nil || m.machine.View() != view {
					t.Fatalf("%s: in view %d member %d has a proposal, or is in view %d", name, view, i, m.machine.View())
				}
			}
			for i := range n.members {
				n.step(i, Timeout{view})
			}
		}
		if late {
			n.queue, n.uploads = append(n.queue, held...), all
		}
		decided := func() bool {
			return n.honest(func(_ int, m *node) bool { return m.machine.decided != nil })
		}
		if !n.until(settlingIn(eagerView)+20, decided) {
			t.Fatalf("%s: nothing is decided", name)
		}
		want := 0
		if late {
			want = devices
		}
		if got := len(n.members[1].machine.decided.list.Entries); got != want {
			t.Errorf("%s: the list has %d contributions, want %d", name, got, want)
		}
	}
}
