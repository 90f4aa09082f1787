package sums

import (
	"crypto/ed25519"
	"errors"
)

// Opening is what a contributor checks before it pays: the members' keys and noise,
// certified by a quorum that holds the noise. A sum has at most one certified opening:
// any two quorums share an honest member, and it certifies once.
type Opening struct {
	Digest Digest
	Closes int64    // in Unix seconds, the median of the members' times
	Noise  []Digest // entries of the members' noise, in their order
	sum    Digest
	keys   *keys
	proof  proof
}

// newOpening returns an opening that nobody has certified yet.
func (s *Sum) newOpening(k *keys, noise []Digest) *Opening {
	var w writer
	for _, d := range noise {
		w.fixed(d[:])
	}
	return &Opening{Digest: hash("opening", s.ID[:], k.digest[:], w), Closes: k.closes(), Noise: noise, sum: s.ID, keys: k}
}

// Bytes is the opening with its certificate.
func (o *Opening) Bytes() []byte {
	var w writer
	for i := range o.keys.pledges {
		w.fixed(o.keys.pledges[i].Bytes())
		w.fixed(o.Noise[i][:])
	}
	o.proof.write(&w)
	return w
}

// readOpening decodes an opening and checks all its signatures: those of the members'
// identities on their keys, and a quorum's on the whole.
func (s *Sum) readOpening(b []byte) (*Opening, error) {
	r := reader{rest: b}
	var pledges []Pledge
	var noise []Digest
	for i := range s.Committee.Members {
		p, err := s.readPledge(r.take(pledgeSize))
		if err != nil {
			return nil, err
		}
		if p.Member != i {
			return nil, errGarbage
		}
		pledges, noise = append(pledges, p), append(noise, r.digest())
	}
	certificate := readProof(&r)
	if err := r.end(); err != nil {
		return nil, err
	}
	k, err := s.newKeys(pledges)
	if err != nil {
		return nil, err
	}
	o := s.newOpening(k, noise)
	o.proof = certificate
	if !s.proven(k, statementOf(KindCertify, 0, o.Digest[:]), certificate, s.Committee.Quorum()) {
		return nil, errors.New("sums: an opening is not certified by a quorum of its committee")
	}
	return o, nil
}

// withoutProof returns the part of an encoded opening before its proof.
func (s *Sum) withoutProof(b []byte) []byte {
	return b[:min(len(b), len(s.Committee.Members)*(pledgeSize+len(Digest{})))]
}

// statement is what a member signs with its key for the sum.
type statement struct {
	kind   Kind
	number uint32
	digest Digest // of the payload
}

// statementOf returns the statement of a message.
func statementOf(kind Kind, number uint32, payload []byte) statement {
	return statement{kind, number, hash("payload", payload)}
}

func (s *Sum) statement(k *keys, st statement) []byte {
	w := writer(s.signed("statement", k.digest[:]))
	w.u8(int(st.kind))
	w.u32(st.number)
	w.fixed(st.digest[:])
	return w
}

// memberSignature is one member's signature on a statement.
type memberSignature struct {
	by        int
	signature [ed25519.SignatureSize]byte
}

// proof is signatures of several members on one statement, ascending by member.
type proof []memberSignature

// signers lists the members, ascending.
func (p proof) signers() []int {
	list := make([]int, len(p))
	for i, v := range p {
		list[i] = v.by
	}
	return list
}

// mostProof is the number of bytes of a proof by all members.
func (s *Sum) mostProof() int { return 1 + len(s.Committee.Members)*(1+ed25519.SignatureSize) }

func (p proof) write(w *writer) {
	w.u8(len(p))
	for _, v := range p {
		w.u8(v.by)
		w.fixed(v.signature[:])
	}
}

func readProof(r *reader) proof {
	n := r.u8()
	if n > mostMembers {
		r.bad = true
		return nil
	}
	p := make(proof, n)
	for i := range p {
		p[i].by = r.u8()
		copy(p[i].signature[:], r.take(ed25519.SignatureSize))
	}
	return p
}

// proven reports whether at least least members signed the statement, each once, and
// whether every signature is valid.
func (s *Sum) proven(k *keys, st statement, p proof, least int) bool {
	if len(p) < least {
		return false
	}
	text, last := s.statement(k, st), -1
	for _, v := range p {
		if v.by <= last || v.by >= len(k.pledges) || !ed25519.Verify(k.pledges[v.by].SignKey[:], text, v.signature[:]) {
			return false
		}
		last = v.by
	}
	return true
}
