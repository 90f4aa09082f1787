package sums

import "crypto/hpke"

// Everything that a member must know is sealed to a key that it made for this sum, by
// HPKE (RFC 9180) with MLKEM768-X25519. So tomorrow's computers cannot open a
// contribution that is stored today.

func kem() hpke.KEM   { return hpke.MLKEM768X25519() }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

const (
	sealKey  = 1216      // number of bytes of a public key
	sealCost = 1120 + 16 // number of bytes that sealing adds to a text
)

// sealInfo names what is sealed and for whom. Without the contributor in it, somebody
// else could publish a victim's bytes as their own, and the sum would contain the
// victim's vector twice.
func (s *Sum) sealInfo(context Digest, from Identity, holder int) []byte {
	w := writer(labelled("seal"))
	w.fixed(s.ID[:])
	w.fixed(context[:])
	w.fixed(from[:])
	w.u8(holder)
	for _, k := range s.classes {
		if !k.lacks(holder) {
			w.u32(uint32(k))
		}
	}
	return w
}

// sealSeeds seals the seeds of a holder to its key, in the order of the classes.
func (s *Sum) sealSeeds(key hpke.PublicKey, context Digest, from Identity, holder int, seeds []seed) ([]byte, error) {
	var text []byte
	for i, k := range s.classes {
		if !k.lacks(holder) {
			text = append(text, seeds[i][:]...)
		}
	}
	return hpke.Seal(key, kdf(), aead(), s.sealInfo(context, from, holder), text)
}

// openSeeds opens what sealSeeds made and returns the seeds by class, zero for those
// that the holder lacks. It returns false if they were not sealed for this purpose.
func (s *Sum) openSeeds(key hpke.PrivateKey, context Digest, from Identity, holder int, sealed []byte) ([]seed, bool) {
	text, err := hpke.Open(key, kdf(), aead(), s.sealInfo(context, from, holder), sealed)
	if err != nil || len(text) != s.held()*len(seed{}) {
		return nil, false
	}
	seeds := make([]seed, len(s.classes))
	for i, k := range s.classes {
		if !k.lacks(holder) {
			copy(seeds[i][:], text)
			text = text[len(seed{}):]
		}
	}
	return seeds, true
}

// held is the number of seeds of a contribution that one member holds.
func (s *Sum) held() int {
	n := 0
	for _, k := range s.classes {
		if !k.lacks(0) {
			n++
		}
	}
	return n
}
