package sums

import (
	"errors"
	"maps"
	"math/bits"
	"slices"
)

// holding is an entry that a member holds, with the seeds that fit it.
type holding struct {
	entry   *entry
	seeds   []seed
	streams []Digest
	fit     []bool // by class
}

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

// noiseArrived holds noise that a member named, or that a quorum certified.
func (m *Member) noiseArrived(digest Digest, e *entry) error {
	i := m.sum.Committee.index(e.From)
	if i < 0 || e.Records != 0 || m.noise[i] != digest {
		return errors.New("sums: noise that no member has named")
	}
	m.hold(digest, e)
	return nil
}

// entryArrived holds a contribution: the contributor's first one, and any that more
// members accepted than may collude.
func (m *Member) entryArrived(digest Digest, e *entry) error {
	first, known := m.first[e.From]
	surplus := known && first != digest || !known && len(m.first) >= m.sum.Contributors
	if surplus && bits.OnesCount16(m.accepts[digest]) < m.honest() && !m.listed(digest) {
		return errors.New("sums: an entry is one too many")
	}
	if !known {
		m.first[e.From] = digest
	}
	m.hold(digest, e)
	m.accept(digest)
	return nil
}

// hold opens the seeds that are sealed to this member.
func (m *Member) hold(digest Digest, e *entry) {
	h := &holding{entry: e, seeds: make([]seed, len(m.sum.classes))}
	if seeds, ok := m.sum.openSeeds(m.secrets.seal, e.Context, e.From, m.self, e.Sealed[m.self]); ok {
		h.seeds = seeds
	}
	h.streams, h.fit = m.sum.check(e, h.seeds)
	e.Sealed = nil // it is large, and not needed any more
	m.entries[digest] = h
	m.out.Took = true
}

// accept notes that a contribution is accepted if it is held with all its seeds.
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

// whole reports whether the member holds an entry with all the seeds that it should
// hold.
func (m *Member) whole(digest Digest) bool {
	h := m.entries[digest]
	if h == nil {
		return false
	}
	for i, class := range m.sum.classes {
		if !h.fit[i] && !class.lacks(m.self) {
			return false
		}
	}
	return true
}

// seekMissing asks for uploads and seeds: of noise that a quorum certified, of listed
// contributions, and of those that more members accepted than may collude. So garbage
// that one contributor sends causes no requests. Of a list that nobody has certified, and of
// which too few have accepted the contributions, it asks for a few at a time: one member may
// list what nobody has, and the others would ask each other for nothing else.
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
		doubtful := m.decided == nil || m.decided.list.Digest() != d
		asked := 0
		for _, e := range m.lists[d].Entries {
			if m.missing[e.Entry] || m.whole(e.Entry) {
				continue
			}
			if asked++; doubtful && asked > mostDoubtful {
				break
			}
			want(e.Entry, all)
		}
	}
	slices.SortFunc(m.out.Fetch, compare)
	m.out.Fetch = slices.Compact(m.out.Fetch)
}

// mostDoubtful is how many contributions of a list a member asks for at a time while it does
// not know that an honest member holds them.
const mostDoubtful = 64

// listed reports whether any list that this member heard contains the entry.
func (m *Member) listed(digest Digest) bool {
	for _, l := range m.lists {
		if slices.ContainsFunc(l.Entries, func(e Listed) bool { return e.Entry == digest }) {
			return true
		}
	}
	return false
}
