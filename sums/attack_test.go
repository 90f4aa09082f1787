package sums

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
)

// forge signs a message as a colluding member does.
func (n *network) forge(by int, kind Kind, number uint32, payload []byte) []byte {
	m := n.members[by]
	return n.sum.sign(m.machine.keys, m.secrets, m.pledge.Member, kind, number, payload).Bytes()
}

// lie makes member i replace its letters of one kind.
func (n *network) lie(i int, kind Kind, replace func(m *Message, l Letter) []Letter) {
	n.members[i].liar = func(n *network, l Letter) []Letter {
		m, err := n.sum.ReadMessage(l.Message)
		if err != nil {
			n.t.Fatal(err)
		}
		if m.Kind != kind {
			return []Letter{l}
		}
		return replace(m, l)
	}
}

// resign changes an upload's entry and signs it again, as the holder of the key can.
func (n *network) resign(upload []byte, identity ed25519.PrivateKey, change func(e *entry)) []byte {
	header, masked, err := n.sum.Split(upload)
	if err != nil {
		n.t.Fatal(err)
	}
	e, err := n.sum.readEntry(header, Digest(header[:32]))
	if err != nil {
		n.t.Fatal(err)
	}
	e.From = publicOf(identity)
	e.Sealed = slices.Clone(e.Sealed)
	change(e)
	digest := n.sum.digest(e)
	copy(e.Signature[:], ed25519.Sign(identity, n.sum.signed("entry", digest[:])))
	return slices.Concat(e.unsigned(), e.Signature[:], masked)
}

// send keeps an upload and gives it to all members.
func (n *network) send(upload []byte) {
	n.keep(upload)
	for i := range n.members {
		n.arrive(i, upload)
	}
}

// run lets the members talk for a few rounds.
func (n *network) run() { n.until(4, func() bool { return false }) }

// people lets so many devices contribute, and returns their vectors.
func (n *network) people(o *Opening, count int) map[Identity][]int64 {
	vectors := make(map[Identity][]int64)
	for device := range count {
		v := n.vector()
		vectors[publicOf(identityOf(device))] = v
		n.contribute(o, device, v)
	}
	return vectors
}

// Somebody publishes a victim's bytes as his own, so that the sum would hold the vector
// twice. Nobody can open what was sealed to another name: it is not listed, even with a
// colluding member's word for it.
func TestSybilCopyIsNotListed(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 1)
	o := n.open()
	vectors := n.people(o, 3)
	victim := n.contribute(o, 9, n.vector())
	vectors[publicOf(identityOf(9))] = nil // checked below not to matter
	delete(vectors, publicOf(identityOf(9)))
	sybil := n.resign(victim, identityOf(500), func(*entry) {})
	n.send(sybil)
	n.lie(3, KindAccept, func(m *Message, l Letter) []Letter {
		header, _, _ := n.sum.Split(sybil)
		e, _ := n.sum.readEntry(header, o.Digest)
		d := n.sum.digest(e)
		return []Letter{l, {To: -1, Message: n.forge(3, KindAccept, 0, d[:])}}
	})
	n.run()
	n.close()
	list := n.list()
	if _, listed := list.Find(publicOf(identityOf(500))); listed {
		t.Error("the copy is listed")
	}
	if _, listed := list.Find(publicOf(identityOf(9))); !listed || len(list.Entries) != 4 {
		t.Errorf("%d are listed, the victim among them: %v", len(list.Entries), listed)
	}
}

// A member says that it accepted as many entries as a member keeps, none of which exist.
// What honest members accepted still reaches one that a contributor did not visit.
func TestAcceptancesOfNothingCrowdNobodyOut(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 61)
	o := n.open()
	n.people(o, 3)
	n.run()
	n.members[3].liar = func(*network, Letter) []Letter { return nil } // it says nothing else
	for k := range len(n.members) + 1 {
		var w writer
		for i := range n.sum.Contributors {
			d := hash("nothing", []byte{byte(k), byte(i >> 8), byte(i)})
			w.fixed(d[:])
		}
		for to := range 3 {
			n.step(to, Heard{3, n.forge(3, KindAccept, 0, w)})
		}
	}
	if kept, most := len(n.members[0].machine.accepts), 2*n.sum.Contributors; kept > most {
		t.Errorf("%d acceptances are kept, expected at most %d", kept, most)
	}
	upload, err := n.sum.Contribute(o, identityOf(9), 1, n.vector())
	if err != nil {
		t.Fatal(err)
	}
	n.keep(upload)
	n.arrive(1, upload)
	n.arrive(2, upload)
	n.run()
	n.closing = true
	for i := range n.members {
		n.step(i, Closing{})
	}
	done := func() bool { return n.honest(func(_ int, m *node) bool { return m.done != nil }) }
	for view := uint32(0); view < 6 && !n.until(10<<view, done); view++ { // as long as a driver's views
		for i, m := range n.members {
			if m.machine.Voting() {
				n.step(i, Timeout{m.machine.View()})
			}
		}
	}
	list := n.list()
	if _, listed := list.Find(publicOf(identityOf(9))); !listed || len(list.Entries) != 4 {
		t.Errorf("%d are listed, the one that two honest members accepted among them: %v", len(list.Entries), listed)
	}
}

// The same device twice: with the same bytes it counts once, with others once as well.
func TestRepeatedEntryCountsOnce(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 2)
	o := n.open()
	vectors := n.people(o, 2)
	again := n.contribute(o, 7, n.vector())
	n.send(again)
	other, err := n.sum.Contribute(o, identityOf(7), 37, n.vector())
	if err != nil {
		t.Fatal(err)
	}
	n.send(other)
	n.run()
	n.close()
	list := n.list()
	if len(list.Entries) > 3 || len(list.Entries) < len(vectors) {
		t.Errorf("%d contributions of three devices are listed", len(list.Entries))
	}
	if len(list.Entries) == 3 {
		list.Entries = append(list.Entries, list.Entries[2])
		if _, err := n.sum.ReadList(list.Bytes(), o.Digest); err == nil {
			t.Error("a list with a device twice is read")
		}
		list.Entries = list.Entries[:3]
		list.Entries[0], list.Entries[1] = list.Entries[1], list.Entries[0]
		if _, err := n.sum.ReadList(list.Bytes(), o.Digest); err == nil {
			t.Error("a list out of order is read")
		}
	}
}

// propose makes the leader of view 0 propose other lists, one for each receiver.
func (n *network) leaderProposes(i int, list func(to int) *List) {
	replace := func(m *Message, l Letter) []Letter {
		var letters []Letter
		for to := range n.members {
			d := list(to)
			digest := d.Digest()
			payload := digest[:]
			if m.Kind == KindList {
				payload = d.Bytes()
			}
			letters = append(letters, Letter{To: to, Message: n.forge(i, m.Kind, m.Number, payload)})
		}
		return letters
	}
	n.members[i].liar = func(n *network, l Letter) []Letter {
		m, _ := n.sum.ReadMessage(l.Message)
		if (m.Kind == KindList || m.Kind == KindPropose) && m.Number == 0 {
			return replace(m, l)
		}
		return []Letter{l}
	}
}

// A leader can leave people out: the sum has the others, all noise, and tells those who
// were left out that they are not in it.
func TestLeaderThatLeavesOut(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 3)
	o := n.open()
	vectors := n.people(o, 3)
	n.run()
	n.leaderProposes(0, func(int) *List {
		l, _ := n.members[1].machine.ownList()
		l.Entries = l.Entries[:1]
		return l
	})
	n.close()
	p := n.checkSum(vectors)
	if p.Result.Entries != 1 {
		t.Errorf("%d are listed", p.Result.Entries)
	}
	left := 0
	for device := range 3 {
		c, _ := NewContributor(n.sum, publicOf(identityOf(device)), nil)
		c.Open(o.Bytes())
		listed, err := c.Decided(n.members[1].machine.decided.bytes())
		if err == nil && !listed {
			left++
		}
	}
	if left != 2 {
		t.Errorf("%d of two who were left out are told so", left)
	}
}

// Nobody takes the place of the leader's list with one of his own under its name.
func TestListsAreSigned(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 17)
	o := n.open()
	n.people(o, 2)
	n.run()
	list := &List{Opening: o.Digest}
	forged := Message{Kind: KindList, By: 0, Payload: list.Bytes()}
	if _, err := n.members[1].machine.Step(Heard{2, forged.Bytes()}); err == nil || len(n.members[1].machine.lists) > 0 {
		t.Errorf("a list under another's name is kept: %v", err)
	}
	if _, err := n.members[1].machine.Step(Heard{2, n.forge(2, KindList, 0, list.Bytes())}); err != nil || len(n.members[1].machine.lists) != 1 {
		t.Errorf("a member's own list is not kept: %v", err)
	}
}

// A leader that lists what nobody holds, or a contribution as somebody else's or of more
// records than it says, gets no votes; the next one ends the sum.
func TestLeaderThatListsNothingReal(t *testing.T) {
	for name, change := range map[string]func(e *Listed){
		"an entry that is none": func(e *Listed) { e.Entry[0] ^= 1 },
		"another contributor":   func(e *Listed) { e.From[len(e.From)-1] ^= 1 },
		"other records":         func(e *Listed) { e.Records++ },
	} {
		n := newNetwork(t, 4, 1, 3, 4)
		vectors := n.people(n.open(), 3)
		n.run()
		n.run()
		n.leaderProposes(0, func(int) *List {
			l, _ := n.members[1].machine.ownList()
			change(&l.Entries[0])
			return l
		})
		n.close()
		if p := n.checkSum(vectors); p.Result.Entries != 3 || n.members[1].machine.View() == 0 {
			t.Errorf("%s: %d are listed in view %d", name, p.Result.Entries, n.members[1].machine.View())
		}
	}
}

// An entry whose masked vector is another one is refused.
func TestVectorOfAnEntryIsChecked(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 18)
	upload, err := n.sum.Contribute(n.open(), identityOf(1), 1, n.vector())
	if err != nil {
		t.Fatal(err)
	}
	entry, masked, _ := n.sum.Split(upload)
	right := HashMasked(masked)
	masked[3] ^= 1
	m := n.members[0].machine
	if out, err := m.Step(Arrived{entry, HashMasked(masked)}); err == nil || out.Took {
		t.Error("an entry with another vector is taken in")
	}
	if out, err := m.Step(Arrived{entry, right}); err != nil || !out.Took {
		t.Errorf("an entry with its vector is refused: %v", err)
	}
}

// A leader that proposes different lists to different members, and votes for all of them:
// at most one is opened, whatever the order of the messages.
func TestEquivocatingLeader(t *testing.T) {
	named := 0
	for seed := range uint64(40) {
		n := newNetwork(t, 4, 1, 2, seed)
		n.loss = .2
		vectors := n.people(n.open(), 3)
		n.run()
		n.run()
		full, _ := n.members[1].machine.ownList()
		n.leaderProposes(0, func(to int) *List {
			l := &List{Opening: full.Opening, Entries: full.Entries}
			if to >= 2 {
				l.Entries = full.Entries[:1]
			}
			return l
		})
		before := n.members[0].liar
		n.members[0].liar = func(n *network, l Letter) []Letter { // it prepares and commits to all
			letters := before(n, l)
			m, _ := n.sum.ReadMessage(l.Message)
			for _, entries := range [][]Listed{full.Entries, full.Entries[:1]} {
				d := (&List{Opening: full.Opening, Entries: entries}).Digest()
				if m.Kind == KindPrepare || m.Kind == KindCommit {
					letters = append(letters, Letter{To: n.rng.IntN(4), Message: n.forge(0, m.Kind, m.Number, d[:])})
				}
			}
			return letters
		}
		n.close()
		n.checkSum(vectors)
		n.honest(func(_ int, m *node) bool {
			for _, b := range m.blamed {
				if b.Member != 0 {
					t.Errorf("seed %d: an honest member is blamed: %+v", seed, b)
				}
				named++
			}
			return true
		})
	}
	if named == 0 {
		t.Error("nobody ever notices that the leader contradicts itself")
	}
}

// A member that names two noises: at most one opening is certified, nothing is paid
// before, and who hears both names it.
func TestNoiseTwice(t *testing.T) {
	opened := 0
	for seed := range uint64(10) {
		n := newNetwork(t, 4, 1, 2, seed)
		var second *Digest
		n.lie(3, KindNoise, func(m *Message, l Letter) []Letter {
			if second == nil {
				upload, err := n.sum.ContributeNoise(&NoiseRequest{n.members[3].machine.keys}, n.members[3].identity, make([]int64, 2))
				if err != nil {
					t.Fatal(err)
				}
				header := n.keep(upload)
				e, _ := n.sum.readEntry(header, Digest(header[:32]))
				d := n.sum.digest(e)
				second = &d
			}
			to := n.rng.IntN(3)
			return []Letter{{To: to, Message: l.Message}, {To: (to + 1) % 3, Message: n.forge(3, KindNoise, 0, second[:])}}
		})
		n.until(30, func() bool { return false })
		openings, blamed := make(map[Digest]bool), 0
		n.honest(func(_ int, m *node) bool {
			if o := m.machine.Opening(); o != nil {
				openings[o.Digest] = true
				if _, err := n.sum.readOpening(o.Bytes()); err != nil {
					t.Error(err)
				}
			}
			blamed += len(m.blamed)
			return true
		})
		opened += len(openings)
		if len(openings) > 1 || blamed == 0 {
			t.Errorf("seed %d: %d openings, blamed %d times", seed, len(openings), blamed)
		}
	}
	if opened == 0 {
		t.Error("no sum is opened: such a member always blocks")
	}
}

// A member names nothing as its noise, and then something: only the first counts. If the second
// did, it would not be in the journal, and the noise that arrives would be refused when the journal
// is replayed.
func TestNoiseAfterNothing(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 16)
	n.lie(3, KindNoise, func(_ *Message, l Letter) []Letter {
		nothing := n.forge(3, KindNoise, 0, make([]byte, len(Digest{})))
		return []Letter{{To: 0, Message: nothing}, {To: 0, Message: l.Message}}
	})
	n.until(30, func() bool { return len(n.members[0].blamed) > 0 })
	n.run()
	if second, blamed := n.members[0].machine.noise[3], len(n.members[0].blamed); second != (Digest{}) || blamed == 0 {
		t.Errorf("of two noises the second counts, %x, and their member is blamed %d times", second, blamed)
	}
	n.restart(0)
}

// A member names its noise to two others only, and another one to the third once that has heard
// the opening: the noise of the opening stays.
func TestNoiseAfterTheOpening(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 17)
	n.lie(3, KindNoise, func(_ *Message, l Letter) []Letter {
		return []Letter{{To: 1, Message: l.Message}, {To: 2, Message: l.Message}}
	})
	o := n.open()
	other := hash("nothing")
	n.step(0, Heard{3, n.forge(3, KindNoise, 0, other[:])})
	if m := n.members[0].machine; m.noises.newest[3] == nil || m.noise[3] != o.Noise[3] || m.noise[3] == other {
		t.Errorf("the noise of the opening is %x, and a member has %x", o.Noise[3], m.noise[3])
	}
}

// A member pledges a key to which nobody can seal. All others refuse it and name that member,
// the sum does not open, and at its deadline they erase their keys.
func TestKeysThatNobodyCanSealTo(t *testing.T) {
	for name, spoil := range map[string]func(key []byte){
		"no ML-KEM key":             func(key []byte) { key[0], key[1], key[2] = 0xff, 0xff, 0xff },
		"X25519 zero":               func(key []byte) { clear(key[sealKey-32:]) },
		"X25519 one, of order four": func(key []byte) { clear(key[sealKey-32:]); key[sealKey-32] = 1 },
	} {
		n := newNetwork(t, 4, 1, 3, 91)
		n.lie(3, KindPledge, func(*Message, Letter) []Letter {
			p := n.members[3].pledge
			spoil(p.SealKey[:])
			copy(p.Signature[:], ed25519.Sign(n.members[3].identity, n.sum.signed("pledge", p.unsigned())))
			b := Message{Kind: KindPledge, By: 3, Payload: p.Bytes()}
			return []Letter{{To: -1, Message: b.Bytes()}}
		})
		n.run()
		for i := range 3 {
			m := n.members[i]
			if m.machine.pledges[3] == nil || m.machine.keys != nil || m.machine.Opening() != nil {
				t.Errorf("%s: member %d takes it, or does not know it", name, i)
			}
			if missing := m.machine.Missing(); !slices.Equal(missing, []int{3}) {
				t.Errorf("%s: member %d waits for %v", name, i, missing)
			}
			if n.step(i, Deadline{}); !m.erased || m.done != nil {
				t.Errorf("%s: member %d keeps its keys", name, i)
			}
		}
	}
}

// A contributor that gives some members garbage in place of seeds is in the sum all the
// same, with the seeds of the others, if an honest one among t+1 has them; one that gives
// garbage to nearly all, or check values that fit no seed, is not, and harms nobody.
func TestInconsistentSeeds(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 6)
	o := n.open()
	vectors := n.people(o, 2)
	for device, cheated := range map[int][]int{50: {1, 2}, 51: {0, 1, 2}} {
		v := n.vector()
		upload, err := n.sum.Contribute(o, identityOf(device), 1, v)
		if err != nil {
			t.Fatal(err)
		}
		vectors[publicOf(identityOf(device))] = v
		n.send(n.resign(upload, identityOf(device), func(e *entry) {
			for _, i := range cheated {
				e.Sealed[i] = make([]byte, n.sum.sealedSize())
			}
		}))
	}
	lying, err := n.sum.Contribute(o, identityOf(52), 1, n.vector())
	if err != nil {
		t.Fatal(err)
	}
	n.send(n.resign(lying, identityOf(52), func(e *entry) { e.Checks[1][0] ^= 1 }))
	n.until(10, func() bool { return false })
	n.close()
	p := n.checkSum(vectors)
	list := n.list()
	_, one := list.Find(publicOf(identityOf(50)))
	_, two := list.Find(publicOf(identityOf(51)))
	_, check := list.Find(publicOf(identityOf(52)))
	if !one || two || check || p.Result.Entries != 3 {
		t.Errorf("garbage to two members listed: %v, to three: %v, a false check value: %v, %d in all", one, two, check, p.Result.Entries)
	}
}

// A colluding member that gives false seeds to one that asks for them is not believed.
func TestFalseSeedsOfAPeer(t *testing.T) {
	for seed := range uint64(5) {
		n := newNetwork(t, 4, 1, 3, seed)
		o := n.open()
		vectors := n.people(o, 1)
		v := n.vector()
		upload, err := n.sum.Contribute(o, identityOf(60), 1, v)
		if err != nil {
			t.Fatal(err)
		}
		vectors[publicOf(identityOf(60))] = v
		n.send(n.resign(upload, identityOf(60), func(e *entry) { e.Sealed[1] = make([]byte, n.sum.sealedSize()) }))
		given := 0
		n.lie(2, KindSeeds, func(m *Message, l Letter) []Letter {
			given++
			wrong := slices.Clone(m.Payload)
			for i := 33; i < len(wrong); i += 33 {
				wrong[i] ^= 1
			}
			return []Letter{{To: l.To, Secret: true, Message: n.forge(2, KindSeeds, 0, wrong)}}
		})
		n.until(10, func() bool { return false })
		n.close()
		if p := n.checkSum(vectors); p.Result.Entries != 2 || given == 0 {
			t.Errorf("%d are listed, false seeds were given %d times", p.Result.Entries, given)
		}
		n.honest(func(i int, m *node) bool {
			if m.done.Result == nil || len(m.blamed) > 0 {
				t.Errorf("seed %d: member %d works out %v, and blames %v", seed, i, m.done.Result, m.blamed)
			}
			return true
		})
	}
}

// A member that lost its keys is silent for the sum, whatever it makes instead: the others
// remember what it pledged. The sum ends without it.
func TestRestoredMemberWithoutKeysIsSilent(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 7)
	o := n.open()
	vectors := n.people(o, 2)
	n.run()
	n.members[3] = n.newNode(n.members[3].identity)
	n.run()
	if !n.members[3].machine.Silent() || len(n.members[3].machine.said) > 0 {
		t.Error("it takes part with other keys than those it pledged")
	}
	if out, err := n.members[3].machine.Step(Tick{}); err != nil || len(out.Send) > 0 || out.Noise != nil {
		t.Errorf("a silent member says %d things: %v", len(out.Send), err)
	}
	n.close()
	n.checkSum(vectors)
}

// A member that was put back to an earlier journal, or runs twice, is one of the t that
// may lie: never are two lists opened, and the sum ends.
func TestCopiedMember(t *testing.T) {
	for seed := range uint64(20) {
		n := newNetwork(t, 4, 1, 2, seed)
		n.loss = .2
		vectors := n.people(n.open(), 3)
		n.run()
		m := n.members[0]
		m.liar = func(_ *network, l Letter) []Letter { return []Letter{l} } // it counts as one
		early := slices.Clone(m.journal)
		for i := range n.members {
			n.step(i, Closing{})
		}
		n.until(1+int(seed%3), func() bool { return false })
		if !m.erased {
			m.journal = early
			n.replay(0)
		}
		n.step(0, Closing{})
		n.close()
		n.checkSum(vectors)
	}
}

// A member that was put back to an earlier journal with its keys asks before it signs, is
// told of votes that it does not know, and is silent; the sum ends without it.
func TestMemberThatWasPutBackAsks(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 15)
	vectors := n.people(n.open(), 2)
	n.run()
	early := slices.Clone(n.members[3].journal)
	n.members[0].down = true // so that nothing is decided at once
	for i := range n.members {
		n.step(i, Closing{})
	}
	n.step(3, Timeout{0}) // its vote to go on, which the others hear
	n.deliver()
	signed := len(n.members[3].machine.own)
	n.members[3].journal = early
	n.replay(3)
	n.step(3, Restarted{})
	n.step(3, Closing{})
	if got := len(n.members[3].machine.own); got >= signed {
		t.Fatalf("it knows all %d statements", got)
	}
	before := len(n.members[3].machine.own)
	n.run()
	if m := n.members[3].machine; !m.Silent() || len(m.own) != before {
		t.Errorf("silent: %v; it signed %d statements more", m.Silent(), len(m.own)-before)
	}
	n.members[0].down = false
	n.close()
	n.checkSum(vectors)
}

// A member that has become silent signs nothing more, whatever its driver answers or says, and
// takes it as one that replays an older journal must.
func TestSilentMemberSignsNothing(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 93)
	n.people(n.open(), 2)
	n.run()
	m := n.members[1].machine
	upload, err := n.sum.ContributeNoise(&NoiseRequest{m.keys}, n.members[1].identity, make([]int64, 2))
	if err != nil {
		t.Fatal(err)
	}
	entry, _, _ := n.sum.Split(upload)
	m.noise[1], m.asking, m.decided = Digest{}, true, &decision{list: &List{}}
	m.silent = true
	signed := len(m.own)
	for _, in := range []Input{Drawn{entry}, Closing{}, Added{m.decided.list.Digest(), make([]uint64, 2)}} {
		if out, err := m.Step(in); err != nil || len(out.Send) > 0 || len(m.own) != signed {
			t.Errorf("%T: it says %d things and has signed %d: %v", in, len(out.Send), len(m.own)-signed, err)
		}
	}
}

// A message with its own signature that it never made tells a member that a copy of it
// runs: it stops. Its own messages, sent back to it, do not.
func TestCopyIsNoticed(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 9)
	n.people(n.open(), 1)
	n.run()
	for _, l := range n.members[1].machine.said {
		n.step(1, Heard{2, l.Message})
	}
	if n.members[1].machine.Silent() {
		t.Fatal("its own messages silence a member")
	}
	n.step(1, Heard{2, n.forge(1, KindPrepare, 0, make([]byte, 32))})
	if !n.members[1].machine.Silent() {
		t.Error("a message that it never signed is no sign of a copy")
	}
}

// A signature stands for one kind, number, payload, committee and sum: a PREPARE is no
// COMMIT.
func TestSignatureStandsForOneThing(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 16)
	o := n.open()
	secrets := n.members[1].secrets
	signed := n.sum.sign(o.keys, secrets, 1, KindPrepare, 3, []byte("payload"))
	p := proof{{1, signed.Signature}}
	if !n.sum.proven(o.keys, statementOf(KindPrepare, 3, []byte("payload")), p, 1) {
		t.Fatal("a good signature is refused")
	}
	terms := testTerms(4, 1, 2)
	terms.Epoch++
	other := newSum(t, terms)
	later := *o.keys
	later.digest[0]++
	for name, believed := range map[string]bool{
		"another kind":    n.sum.proven(o.keys, statementOf(KindCommit, 3, []byte("payload")), p, 1),
		"another view":    n.sum.proven(o.keys, statementOf(KindPrepare, 4, []byte("payload")), p, 1),
		"another payload": n.sum.proven(o.keys, statementOf(KindPrepare, 3, []byte("payloae")), p, 1),
		"another member":  n.sum.proven(o.keys, statementOf(KindPrepare, 3, []byte("payload")), proof{{2, signed.Signature}}, 1),
		"no member":       n.sum.proven(o.keys, statementOf(KindPrepare, 3, []byte("payload")), proof{{4, signed.Signature}}, 1),
		"another sum":     other.proven(o.keys, statementOf(KindPrepare, 3, []byte("payload")), p, 1),
		"other keys":      n.sum.proven(&later, statementOf(KindPrepare, 3, []byte("payload")), p, 1),
		"twice":           n.sum.proven(o.keys, statementOf(KindPrepare, 3, []byte("payload")), proof{p[0], p[0]}, 2),
		"too few":         n.sum.proven(o.keys, statementOf(KindPrepare, 3, []byte("payload")), p, 2),
	} {
		if believed {
			t.Errorf("%s: the signature is believed", name)
		}
	}
}

// A member goes to a later view with t+1 others, one of whom is honest, and not with t.
func TestMembersFollowToALaterView(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 19)
	n.people(n.open(), 1)
	n.run()
	n.members[0].down = true // the leader of the first view
	for i := range n.members {
		n.step(i, Closing{})
	}
	n.deliver()
	n.step(1, Timeout{0})
	n.deliver()
	if v := n.members[3].machine.View(); v != 0 {
		t.Errorf("one member takes another to view %d", v)
	}
	n.step(2, Timeout{0})
	n.deliver()
	if v := n.members[3].machine.View(); v != 1 {
		t.Errorf("with two others in view 1, a member is in view %d", v)
	}
}

// A member that opens another sum than the others changes nothing and is named.
func TestWrongSumIsNamed(t *testing.T) {
	n := newNetwork(t, 7, 2, 3, 10)
	vectors := n.people(n.open(), 2)
	n.run()
	for _, liar := range []int{1, 4} {
		n.lie(liar, KindOpen, func(m *Message, l Letter) []Letter {
			wrong := slices.Clone(m.Payload)
			wrong[40]++
			return []Letter{{To: l.To, Message: n.forge(liar, KindOpen, m.Number, wrong)}}
		})
	}
	n.close()
	n.checkSum(vectors)
	named := 0
	n.honest(func(_ int, m *node) bool {
		for _, b := range m.blamed {
			if b.Member != 1 && b.Member != 4 {
				t.Errorf("an honest member is blamed: %+v", b)
			}
			named++
		}
		return true
	})
	if named == 0 {
		t.Error("nobody is named")
	}
}

// A contributor is shown an opening that is not what it should be.
func TestContributorChecksTheOpening(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 11)
	good := n.open().Bytes()
	terms := testTerms(4, 1, 3)
	terms.Epoch++
	later := newSum(t, terms)
	if _, err := later.readOpening(good); err == nil {
		t.Error("an opening of another epoch is believed")
	}
	for i := range good { // every byte of it is signed or decides who signed
		b := slices.Clone(good)
		b[i] ^= 1
		if _, err := n.sum.readOpening(b); err == nil {
			t.Fatalf("an opening with byte %d changed is believed", i)
		}
	}
	few := *n.members[0].machine.Opening()
	few.proof = few.proof[1:]
	if _, err := n.sum.readOpening(few.Bytes()); err == nil {
		t.Error("two signatures of four are a quorum")
	}
	few.proof = slices.Concat(few.proof[:1], few.proof)
	if _, err := n.sum.readOpening(few.Bytes()); err == nil {
		t.Error("one member's signature counts twice")
	}
	// One member in everybody's place would be a quorum of its own.
	alone := *n.members[0].machine.Opening()
	k, err := n.sum.newKeys([]Pledge{n.members[0].pledge, n.members[0].pledge, n.members[0].pledge, n.members[0].pledge})
	if err != nil {
		t.Fatal(err)
	}
	forged := n.sum.newOpening(k, alone.Noise)
	for by := range 3 {
		m := n.sum.sign(k, n.members[0].secrets, by, KindCertify, 0, forged.Digest[:])
		forged.proof = append(forged.proof, memberSignature{by, m.Signature})
	}
	if _, err := n.sum.readOpening(forged.Bytes()); err == nil {
		t.Error("an opening by one member in the place of all is believed")
	}
	c, _ := NewContributor(n.sum, publicOf(identityOf(1)), nil)
	if _, err := c.Open(good); err != nil {
		t.Fatal(err)
	}
	few.proof = few.proof[:0]
	if !c.Holds(good) || !c.Holds(few.Bytes()) || c.Holds(forged.Bytes()) || c.Holds(good[:len(good)/2]) || c.Holds(nil) {
		t.Error("it does not know the opening that it holds, or holds another")
	}
	second := newNetwork(t, 4, 1, 3, 12).open() // the same sum, opened by a committee that forgot
	if c.Holds(second.Bytes()) {
		t.Error("it holds an opening that it has not taken in")
	}
	if _, err := c.Open(second.Bytes()); err == nil {
		t.Error("a second opening of one sum is believed")
	}
	upload, err := n.sum.Contribute(second, identityOf(1), 0, make([]int64, 3))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Paid(upload); err == nil || c.Send() != nil {
		t.Error("an upload for another opening is sent")
	}
	if restored, err := NewContributor(n.sum, publicOf(identityOf(1)), upload); err != nil {
		t.Error(err)
	} else if _, err := restored.Open(good); err == nil || restored.Send() != nil {
		t.Error("a device contributes under two openings")
	}
}

// Nothing opens after the deadline, whatever comes then.
func TestNothingOpensAfterTheDeadline(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 13)
	n.people(n.open(), 2)
	n.run()
	for i := range n.members {
		n.step(i, Closing{})
		n.step(i, Deadline{})
	}
	n.run()
	if len(n.opened) > 0 {
		t.Error("a sum is opened after its deadline")
	}
	if _, err := n.members[0].machine.Step(Deadline{}); !errors.Is(err, errOver) {
		t.Errorf("a second deadline: %v", err)
	}
}

// Garbage of every length, and every message with a byte changed or cut off, changes no
// member.
func TestGarbageChangesNothing(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 14)
	upload := n.contribute(n.open(), 1, n.vector())
	n.run()
	for i := range n.members {
		n.step(i, Closing{})
	}
	n.deliver()
	m := n.members[1].machine
	refuse := func(what string, in Input) {
		t.Helper()
		if out, err := m.Step(in); err == nil && out.Took {
			t.Fatalf("%s is taken in", what)
		}
	}
	for _, l := range n.members[2].machine.said {
		kind := Kind(l.Message[0])
		step := 1 + len(l.Message)/300
		for i := 0; i < len(l.Message); i += step {
			refuse("a message that was cut off", Heard{2, l.Message[:i]})
			changed := slices.Clone(l.Message)
			changed[i] ^= 0x40
			if kind != KindPledge || i > 0 { // as another kind a pledge may be anything
				refuse("a changed message", Heard{2, changed})
			}
		}
		refuse("a longer message", Heard{2, append(slices.Clone(l.Message), 0)})
	}
	header, masked, _ := n.sum.Split(upload)
	for i := range header {
		changed := slices.Clone(header)
		changed[i] ^= 1
		refuse("a changed entry", Arrived{changed, HashMasked(masked)})
		refuse("an entry that was cut off", Arrived{header[:i], HashMasked(masked)})
	}
	for i := range 3000 {
		b := make([]byte, i)
		for j := range b {
			b[j] = byte(n.rng.Uint32())
		}
		refuse("garbage", Heard{2, b})
		refuse("garbage", Arrived{b, Digest{}})
	}
}

// What one member says does not make the journals of the others grow without bound, and is
// told their owners once.
func TestNobodyFillsTheJournals(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 71)
	o := n.open()
	n.run()
	liar := n.members[3]
	liar.liar = func(*network, Letter) []Letter { return nil } // it says nothing else
	nothing := func(k int) Digest { return hash("nothing", []byte{byte(k >> 8), byte(k)}) }
	for name, c := range map[string]struct {
		most int // inputs in the journal
		say  func(k int) []byte
	}{
		"lists in one view": {1, func(k int) []byte {
			l := List{Opening: o.Digest, Entries: []Listed{{Entry: nothing(k)}}}
			return n.forge(3, KindList, 0, l.Bytes())
		}},
		"lists in views that have not begun": {1, func(k int) []byte {
			l := List{Opening: o.Digest, Entries: []Listed{{Entry: nothing(k)}}}
			return n.forge(3, KindList, 1+uint32(k), l.Bytes())
		}},
		"what it accepted before, and one more": {13, func(k int) []byte {
			var w writer
			for i := range k % n.sum.Contributors {
				d := nothing(i)
				w.fixed(d[:])
			}
			return n.forge(3, KindAccept, 0, w)
		}},
		"an entry a hundred times": {1, func(k int) []byte {
			d := nothing(2000 + k)
			return n.forge(3, KindAccept, 0, bytes.Repeat(d[:], 100))
		}},
		"noise": {0, func(k int) []byte {
			d := nothing(k)
			return n.forge(3, KindNoise, 1+uint32(k), d[:])
		}},
		"results": {0, func(k int) []byte {
			d := nothing(k)
			return n.forge(3, KindResult, 1+uint32(k), d[:])
		}},
		"votes in views that nobody reaches": {0, func(k int) []byte {
			d := nothing(k)
			return n.forge(3, KindPrepare, mostViews+1+uint32(k), d[:])
		}},
	} {
		before := len(n.members[0].journal)
		for k := range 600 {
			n.step(0, Heard{3, c.say(k)})
		}
		if more := len(n.members[0].journal) - before; more > c.most {
			t.Errorf("%s: the journal has %d inputs more, expected at most %d", name, more, c.most)
		}
	}
	n.members[0].blamed = nil
	for k := range 5 {
		d := nothing(k)
		n.step(0, Heard{3, n.forge(3, KindPrepare, 0, d[:])})
	}
	if told := len(n.members[0].blamed); told != 1 {
		t.Errorf("a member that votes twice is told of %d times", told)
	}
}

// A member lists what nobody has. The others ask each other for a few of that at a time, and
// for all that enough members hold.
func TestListOfNothingIsNotSought(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 72)
	o := n.open()
	upload, err := n.sum.Contribute(o, identityOf(9), 1, n.vector())
	if err != nil {
		t.Fatal(err)
	}
	held, err := n.sum.EntryDigest(upload)
	if err != nil {
		t.Fatal(err)
	}
	n.keep(upload)
	n.arrive(1, upload)
	n.arrive(2, upload)
	n.run()
	delete(n.uploads, held) // nobody sends it yet
	l := List{Opening: o.Digest}
	for k := range n.sum.Contributors {
		l.Entries = append(l.Entries, Listed{From: Identity{byte(k >> 8), byte(k)}, Entry: hash("nothing", []byte{byte(k >> 8), byte(k)})})
	}
	machine := NewMember(n.sum, n.members[0].secrets, n.members[0].pledge)
	for _, b := range n.members[0].journal {
		in, err := DecodeInput(b)
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := in.(Arrived); ok && n.sum.NameOf(a.Entry) == held {
			continue // it has missed the contribution
		}
		if _, err := machine.Step(in); err != nil {
			t.Fatal(err)
		}
	}
	n.members[0].machine = machine
	n.step(0, Heard{3, n.forge(3, KindList, 0, l.Bytes())})
	n.step(0, Tick{})
	if fetches := n.members[0].fetches; len(fetches) > mostDoubtful+1 || !slices.Contains(fetches, held) {
		t.Errorf("%d contributions are fetched, the one that two members hold among them: %v", len(fetches), slices.Contains(fetches, held))
	}
}

// A member that comes back accepts more contributions at once than the sum takes, because the
// others hold different ones. It says so in messages that they believe.
func TestMoreAcceptedAtOnceThanTheSumTakes(t *testing.T) {
	n := newNetwork(t, 4, 1, 3, 62)
	n.sum.Contributors = 2 // which the members' name of the sum need not say here
	o := n.open()
	n.members[3].down = true
	var uploads [][]byte
	for device := range 4 {
		upload, err := n.sum.Contribute(o, identityOf(device), 1, n.vector())
		if err != nil {
			t.Fatal(err)
		}
		uploads = append(uploads, upload)
	}
	for to := range 3 { // each holds two, and the next one shares one of them
		n.arrive(to, uploads[to])
		n.arrive(to, uploads[to+1])
	}
	n.run()
	back := n.members[3]
	back.down = false
	n.run()
	for _, k := range []int{0, 3, 1, 2} { // two of its own, and two that enough others accepted
		header, masked, err := n.sum.Split(uploads[k])
		if err != nil {
			t.Fatal(err)
		}
		n.step(3, Arrived{header, HashMasked(masked)})
	}
	n.run()
	if len(back.machine.first) != 4 {
		t.Fatalf("the one that was away holds %d", len(back.machine.first))
	}
	for d, by := range back.machine.accepts {
		for i, m := range n.members[:3] {
			if by>>3&1 == 1 && m.machine.accepts[d]>>3&1 == 0 {
				t.Errorf("member %d does not know what the one that was away has accepted", i)
			}
		}
	}
}
