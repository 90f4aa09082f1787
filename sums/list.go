package sums

import "bytes"

// List says whose contributions are added up under one opening. The members' noise is
// in every sum, once, and is not in the list: the opening names it.
type List struct {
	Opening Digest
	Entries []Listed // ascending by identity, one for each contributor
}

// Listed is one contribution of a list.
type Listed struct {
	From    Identity
	Entry   Digest
	Records uint32
}

const listedSize = 2*len(Digest{}) + 4

// Bytes is the list's one encoding.
func (l *List) Bytes() []byte {
	w := make(writer, 0, len(Digest{})+4+listedSize*len(l.Entries))
	w.fixed(l.Opening[:])
	w.u32(uint32(len(l.Entries)))
	for _, e := range l.Entries {
		w.fixed(e.From[:])
		w.fixed(e.Entry[:])
		w.u32(e.Records)
	}
	return w
}

// Digest names the list.
func (l *List) Digest() Digest { return hash("list", l.Bytes()) }

// Find returns the entry of a contributor in the list, if there is one.
func (l *List) Find(id Identity) (Listed, bool) {
	for _, e := range l.Entries {
		if e.From == id {
			return e, true
		}
	}
	return Listed{}, false
}

// ReadList decodes a list under an opening and checks its form.
func (s *Sum) ReadList(b []byte, opening Digest) (*List, error) {
	r := reader{rest: b}
	l := &List{Opening: r.digest()}
	n := r.u32() // an int has 32 bits on some devices
	if l.Opening != opening || int64(n) > int64(s.Contributors) || int64(len(r.rest)) != int64(n)*int64(listedSize) {
		return nil, errGarbage
	}
	l.Entries = make([]Listed, n)
	for i := range l.Entries {
		e := Listed{From: Identity(r.digest()), Entry: r.digest(), Records: r.u32()}
		if int64(e.Records) > int64(s.Terms.Records) || i > 0 && bytes.Compare(l.Entries[i-1].From[:], e.From[:]) >= 0 {
			return nil, errGarbage
		}
		l.Entries[i] = e
	}
	return l, r.end()
}
