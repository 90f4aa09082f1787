package sums

import (
	"encoding/binary"
	"errors"
	"math"
)

// Result is the opened sum. It is public, and the same for everybody: its values are
// rounded to float32 once, so that everybody uses exactly what was signed.
type Result struct {
	List    Digest // the list of the contributions in it
	Entries uint32 // number of contributions
	Records uint64 // number of records of all of them
	Values  []float32
}

// newResult makes the result from the opened integers.
func (s *Sum) newResult(l *List, total []uint64) *Result {
	r := &Result{List: l.Digest(), Entries: uint32(len(l.Entries)), Values: make([]float32, len(total))}
	for _, e := range l.Entries {
		r.Records += uint64(e.Records)
	}
	unit := s.Mechanism.Unit()
	for j, n := range total {
		r.Values[j] = float32(float64(int64(n)) * unit)
	}
	return r
}

func (r *Result) bytes() []byte {
	w := make(writer, 0, len(Digest{})+12+4*len(r.Values))
	w.fixed(r.List[:])
	w.u32(r.Entries)
	w.u64(r.Records)
	for _, x := range r.Values {
		w = binary.BigEndian.AppendUint32(w, math.Float32bits(x))
	}
	return w
}

// Digest names a result. Members sign it.
func (r *Result) Digest() Digest { return hash("result", r.bytes()) }

// Published is a result with everything needed to believe it: the opening, and t+1
// members' signatures, one of which is honest.
type Published struct {
	Opening *Opening
	Result  *Result
	proof   proof
}

// Bytes is the published result's one encoding.
func (p *Published) Bytes() []byte {
	var w writer
	w.variable(p.Opening.Bytes())
	w.variable(p.Result.bytes())
	p.proof.write(&w)
	return w
}

// LongestResult is the most bytes of a published result of this sum.
func (s *Sum) LongestResult() int {
	opening := len(s.Committee.Members)*(pledgeSize+len(Digest{})) + s.mostProof()
	return 4 + opening + 4 + len(Digest{}) + 12 + 4*s.Dimension + s.mostProof()
}

// LongestDecision is the most bytes of a decision of this sum, see [Sum.ReadDecision].
func (s *Sum) LongestDecision() int {
	return 4 + s.mostProof() + len(Digest{}) + 4 + listedSize*s.Contributors
}

// Signers lists the members that signed the result, ascending.
func (p *Published) Signers() []int { return p.proof.signers() }

// ReadPublished decodes a result and checks everything that makes it credible.
func (s *Sum) ReadPublished(b []byte) (*Published, error) {
	r := reader{rest: b}
	opening, err := s.readOpening(r.take(int(r.u32())))
	if err != nil {
		return nil, err
	}
	body := reader{rest: r.take(int(r.u32()))}
	result := &Result{List: body.digest(), Entries: body.u32(), Records: body.u64()}
	if len(body.rest) != 4*s.Dimension {
		return nil, errGarbage
	}
	result.Values = make([]float32, s.Dimension)
	for j := range result.Values {
		result.Values[j] = math.Float32frombits(body.u32())
		if x := float64(result.Values[j]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, errGarbage
		}
	}
	p := &Published{opening, result, readProof(&r)}
	if body.end() != nil || r.end() != nil {
		return nil, errGarbage
	}
	digest := result.Digest()
	if !s.proven(opening.keys, statementOf(KindResult, 0, digest[:]), p.proof, s.Committee.Colluding+1) {
		return nil, errors.New("sums: a result is not signed by more members than may collude")
	}
	return p, nil
}

// ReadDecision decodes a decision, the Payload of a [Message] of [KindDecided] without the
// rest of the message, and checks its signatures. It returns the list that a published
// result is of, and the members that certified it, ascending.
func (s *Sum) ReadDecision(p *Published, b []byte) (*List, []int, error) {
	d, err := s.readDecision(p.Opening, b)
	if err != nil {
		return nil, nil, err
	}
	if d.list.Digest() != p.Result.List {
		return nil, nil, errors.New("sums: the list is not the one that the result is of")
	}
	return d.list, d.proof.signers(), nil
}

// decision is a quorum's commits to a list, with the list.
type decision struct {
	view  uint32
	list  *List
	proof proof
}

func (d *decision) bytes() []byte {
	var w writer
	w.u32(d.view)
	d.proof.write(&w)
	w.fixed(d.list.Bytes())
	return w
}

// readDecision decodes a decision under an opening and checks its signatures.
func (s *Sum) readDecision(o *Opening, b []byte) (*decision, error) {
	r := reader{rest: b}
	d := &decision{view: r.u32(), proof: readProof(&r)}
	var err error
	if d.list, err = s.ReadList(r.rest, o.Digest); err != nil || r.bad {
		return nil, errGarbage
	}
	digest := d.list.Digest()
	if !s.proven(o.keys, statementOf(KindCommit, d.view, digest[:]), d.proof, s.Committee.Quorum()) {
		return nil, errors.New("sums: a list is not certified by a quorum of the committee")
	}
	return d, nil
}
