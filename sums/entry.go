package sums

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// entry comes before the masked vector in an upload: a contribution of a device, or a
// member's noise. Everybody may see it.
type entry struct {
	Context   Digest // digest of what it is sealed under: the opening or, for noise, the keys of the members
	From      Identity
	Records   uint32   // record slots of the device, 0 for noise
	Masked    Digest   // hash of the masked vector, see [HashMasked]
	Checks    []Digest // of the seeds, one for each class
	Sealed    [][]byte // seeds, one ciphertext for each member
	Signature [ed25519.SignatureSize]byte
}

// HashMasked is the digest of a masked vector's bytes.
func HashMasked(b []byte) Digest { return sha256.Sum256(b) }

func (s *Sum) sealedSize() int { return sealCost + s.held()*len(seed{}) }

// UploadSize is the number of bytes of an upload: its entry, and 8 bytes for each coordinate.
func (s *Sum) UploadSize() int { return s.EntrySize() + 8*s.Dimension }

// EntrySize is the number of bytes of an entry of this sum.
func (s *Sum) EntrySize() int {
	return 3*len(Digest{}) + 4 + len(s.classes)*len(Digest{}) + len(s.Committee.Members)*s.sealedSize() + ed25519.SignatureSize
}

func (e *entry) unsigned() []byte {
	var w writer
	w.fixed(e.Context[:])
	w.fixed(e.From[:])
	w.u32(e.Records)
	w.fixed(e.Masked[:])
	for _, c := range e.Checks {
		w.fixed(c[:])
	}
	for _, b := range e.Sealed {
		w.fixed(b)
	}
	return w
}

// digest names an entry. It leaves out the signature, which can be written in two ways.
func (s *Sum) digest(e *entry) Digest { return hash("entry", s.ID[:], e.unsigned()) }

// readEntry decodes an entry and checks its form, context and signature.
func (s *Sum) readEntry(b []byte, context Digest) (*entry, error) {
	if len(b) != s.EntrySize() {
		return nil, errGarbage
	}
	r := reader{rest: b}
	e := &entry{Context: r.digest(), From: Identity(r.digest()), Records: r.u32(), Masked: r.digest()}
	for range s.classes {
		e.Checks = append(e.Checks, r.digest())
	}
	for range s.Committee.Members {
		e.Sealed = append(e.Sealed, r.take(s.sealedSize()))
	}
	copy(e.Signature[:], r.take(len(e.Signature)))
	switch {
	case e.Context != context:
		return nil, fmt.Errorf("sums: an entry was made for another opening than this one")
	case int64(e.Records) > int64(s.Records):
		return nil, fmt.Errorf("sums: an entry of %d records, at most %d may take part", e.Records, s.Terms.Records)
	}
	digest := s.digest(e)
	if !ed25519.Verify(e.From[:], s.signed("entry", digest[:]), e.Signature[:]) {
		return nil, fmt.Errorf("sums: an entry was not signed by its contributor")
	}
	return e, nil
}

// Split divides an upload into its entry and its masked vector. It checks neither and
// copies nothing.
func (s *Sum) Split(upload []byte) (entry, masked []byte, err error) {
	if len(upload) != s.UploadSize() {
		return nil, nil, errGarbage
	}
	n := s.EntrySize()
	return upload[:n:n], upload[n:], nil
}

// EntryDigest names the entry of an upload, or of its first bytes that are only the
// entry; it does not check the content. Members ask for an upload by this digest.
func (s *Sum) EntryDigest(upload []byte) (Digest, error) {
	if len(upload) == s.EntrySize() {
		return s.NameOf(upload), nil
	}
	entry, _, err := s.Split(upload)
	if err != nil {
		return Digest{}, err
	}
	return s.NameOf(entry), nil
}

// NameOf is [Sum.EntryDigest] for an upload's entry alone, of [Sum.EntrySize] bytes.
func (s *Sum) NameOf(entry []byte) Digest {
	return hash("entry", s.ID[:], entry[:len(entry)-ed25519.SignatureSize])
}

// Receive returns an error unless the bytes are the upload of the entry that the digest
// names, with its masked vector. It does not check signature and seeds: a [Member] does
// that when it is told of the upload. The result does not contain the vector.
func (s *Sum) Receive(digest Digest, upload []byte) (Arrived, error) {
	entry, masked, err := s.Split(upload)
	if err != nil {
		return Arrived{}, err
	}
	const at = 2*len(Digest{}) + 4 // the position after context, contributor and records
	in := Arrived{Entry: slices.Clone(entry), Masked: HashMasked(masked)}
	if s.NameOf(entry) != digest || Digest(entry[at:]) != in.Masked {
		return Arrived{}, errors.New("sums: an upload is not what its name says")
	}
	return in, nil
}

// upload masks a vector, seals the seeds and signs. It draws the seeds from the
// operating system and does not keep them.
func (s *Sum) upload(k *keys, context Digest, identity ed25519.PrivateKey, records int, v []int64) ([]byte, error) {
	if len(v) != s.Dimension {
		return nil, errDimension
	}
	e := &entry{Context: context, From: Identity(identity.Public().(ed25519.PublicKey)), Records: uint32(records)}
	seeds, streams := make([]seed, len(s.classes)), make([]Digest, len(s.classes))
	defer clear(seeds)
	defer clear(streams)
	for i, class := range s.classes {
		rand.Read(seeds[i][:]) // never fails; without randomness it ends the program
		key, check := expand(s.ID, e.From, class, seeds[i])
		streams[i], e.Checks = key, append(e.Checks, check)
	}
	masked := words(mask(v, streams))
	e.Masked = HashMasked(masked)
	for i, key := range k.seal {
		sealed, err := s.sealSeeds(key, context, e.From, i, seeds)
		if err != nil {
			return nil, fmt.Errorf("sums: seal to member %d: %w", i+1, err)
		}
		e.Sealed = append(e.Sealed, sealed)
	}
	digest := s.digest(e)
	copy(e.Signature[:], ed25519.Sign(identity, s.signed("entry", digest[:])))
	return append(append(e.unsigned(), e.Signature[:]...), masked...), nil
}

// Contribute makes the upload of a device under a certified opening. v is in grid
// units, as [privacy.Mechanism.Units] gives them within [Sum.Limit]; records is the
// number of record slots. Each call draws new randomness: call it once for a sum, after
// the device has paid for it, keep the bytes, and send those from then on. Two uploads
// of one device with different vectors cost twice.
func (s *Sum) Contribute(o *Opening, identity ed25519.PrivateKey, records int, v []int64) ([]byte, error) {
	if o.sum != s.ID || o.proof == nil {
		return nil, errors.New("sums: the opening is another sum's, or nobody has certified it")
	}
	if records < 0 || records > s.Terms.Records {
		return nil, fmt.Errorf("sums: a contribution of %d records, at most %d may take part", records, s.Terms.Records)
	}
	for _, x := range v {
		if x > s.Limit || x < -s.Limit {
			return nil, fmt.Errorf("sums: a coordinate is outside of the range for %d contributors", s.Contributors)
		}
	}
	return s.upload(o.keys, o.Digest, identity, records, v)
}

// check returns, by class, the stream keys of those seeds that fit the entry's check
// values, and which ones fit.
func (s *Sum) check(e *entry, seeds []seed) (streams []Digest, fit []bool) {
	streams, fit = make([]Digest, len(s.classes)), make([]bool, len(s.classes))
	for i, class := range s.classes {
		key, check := expand(s.ID, e.From, class, seeds[i])
		if check == e.Checks[i] {
			streams[i], fit[i] = key, true
		}
	}
	return streams, fit
}
