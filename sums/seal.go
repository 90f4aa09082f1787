package sums

import "crypto/hpke"

// What a member must know is sealed to a key that it made for this sum: HPKE (RFC 9180)
// with MLKEM768-X25519, so that a contribution that is stored today stays closed to
// tomorrow's computers.

func kem() hpke.KEM   { return hpke.MLKEM768X25519() }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

const (
	sealKey  = 1216      // bytes of a public key
	sealCost = 1120 + 16 // bytes by which sealing makes a text longer
)

// sealInfo names what is sealed and for whom. Without the contributor in it, somebody
// else could publish a victim's bytes as his own, and the sum would hold the victim's
// vector twice.
func (s *Sum) sealInfo(context Digest, from Identity, holder int) []byte {
	w := writer(labelled("seal"))
	w.fixed(s.ID[:])
	w.fixed(context[:])
	w.fixed(from[:])
	w.u8(holder)
	for _, k := range s.classes {
		if !k.Lacks(holder) {
			w.u32(uint32(k))
		}
	}
	return w
}

// sealSeeds seals to a holder, in the order of the classes, the seeds that it holds.
func (s *Sum) sealSeeds(key hpke.PublicKey, context Digest, from Identity, holder int, seeds []seed) ([]byte, error) {
	var text []byte
	for i, k := range s.classes {
		if !k.Lacks(holder) {
			text = append(text, seeds[i][:]...)
		}
	}
	return hpke.Seal(key, kdf(), aead(), s.sealInfo(context, from, holder), text)
}

// openSeeds is what a holder does with them: seeds by class, zero for those that it
// lacks. It is false if they were not sealed for this.
func (s *Sum) openSeeds(key hpke.PrivateKey, context Digest, from Identity, holder int, sealed []byte) ([]seed, bool) {
	text, err := hpke.Open(key, kdf(), aead(), s.sealInfo(context, from, holder), sealed)
	if err != nil || len(text) != s.held()*len(seed{}) {
		return nil, false
	}
	seeds := make([]seed, len(s.classes))
	for i, k := range s.classes {
		if !k.Lacks(holder) {
			copy(seeds[i][:], text)
			text = text[len(seed{}):]
		}
	}
	return seeds, true
}

// held is how many seeds of a contribution one member holds.
func (s *Sum) held() int {
	n := 0
	for _, k := range s.classes {
		if !k.Lacks(0) {
			n++
		}
	}
	return n
}
