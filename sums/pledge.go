package sums

import (
	"crypto/ed25519"
	"crypto/hpke"
	"errors"
	"slices"
)

// Secrets are the keys that a member makes for one sum. They are kept outside every
// backup and are erased when the sum is over, together with everything that was sealed
// to the member. A member that has lost them is silent for that sum.
type Secrets struct {
	seal hpke.PrivateKey
	sign ed25519.PrivateKey
}

// NewSecrets draws keys from the operating system.
func NewSecrets() (Secrets, error) {
	seal, err := kem().GenerateKey()
	if err != nil {
		return Secrets{}, err
	}
	_, sign, err := ed25519.GenerateKey(nil)
	return Secrets{seal, sign}, err
}

// Bytes returns what [ReadSecrets] reads.
func (k Secrets) Bytes() ([]byte, error) {
	seal, err := k.seal.Bytes()
	return append(seal, k.sign.Seed()...), err
}

// ReadSecrets reads what [Secrets.Bytes] wrote.
func ReadSecrets(b []byte) (Secrets, error) {
	n := len(b) - ed25519.SeedSize
	if n < 0 {
		return Secrets{}, errGarbage
	}
	seal, err := kem().NewPrivateKey(b[:n])
	if err != nil {
		return Secrets{}, errGarbage
	}
	return Secrets{seal, ed25519.NewKeyFromSeed(b[n:])}, nil
}

// Pledge holds a member's keys for a sum and the time at which it wants to close,
// signed by its identity. A member makes only one for each sum.
type Pledge struct {
	Member    int
	SealKey   [sealKey]byte
	SignKey   Identity
	Closes    int64 // in Unix seconds
	Signature [ed25519.SignatureSize]byte
}

const (
	unsignedPledge = 1 + sealKey + len(Identity{}) + 8
	pledgeSize     = unsignedPledge + ed25519.SignatureSize
)

func (p *Pledge) unsigned() []byte {
	var w writer
	w.u8(p.Member)
	w.fixed(p.SealKey[:])
	w.fixed(p.SignKey[:])
	w.u64(uint64(p.Closes))
	return w
}

// Bytes is the pledge's one encoding.
func (p *Pledge) Bytes() []byte { return append(p.unsigned(), p.Signature[:]...) }

// Pledge makes a member's pledge; identity is its lasting key.
func (s *Sum) Pledge(identity ed25519.PrivateKey, k Secrets, closes int64) (Pledge, error) {
	own := Identity(identity.Public().(ed25519.PublicKey))
	p := Pledge{Member: s.Committee.index(own), SignKey: Identity(k.sign.Public().(ed25519.PublicKey)), Closes: closes}
	if p.Member < 0 {
		return Pledge{}, errors.New("sums: this identity is no member of the committee")
	}
	copy(p.SealKey[:], k.seal.PublicKey().Bytes())
	copy(p.Signature[:], ed25519.Sign(identity, s.signed("pledge", p.unsigned())))
	return p, nil
}

// signed is the text under every signature: a label, the sum and the statement.
func (s *Sum) signed(label string, text []byte) []byte {
	return slices.Concat(labelled(label), s.ID[:], text)
}

// readPledge decodes a pledge and checks its signature.
func (s *Sum) readPledge(b []byte) (Pledge, error) {
	if len(b) != pledgeSize {
		return Pledge{}, errGarbage
	}
	r := reader{rest: b}
	p := Pledge{Member: r.u8()}
	copy(p.SealKey[:], r.take(sealKey))
	copy(p.SignKey[:], r.take(len(p.SignKey)))
	p.Closes = int64(r.u64())
	copy(p.Signature[:], r.take(len(p.Signature)))
	if p.Member >= len(s.Committee.Members) {
		return Pledge{}, errGarbage
	}
	who := s.Committee.Members[p.Member]
	if !ed25519.Verify(who[:], s.signed("pledge", p.unsigned()), p.Signature[:]) {
		return Pledge{}, errors.New("sums: a pledge was not signed by its member")
	}
	return p, nil
}

// key reads the key to which others seal. It is an error if nobody can seal to it, as to one
// whose X25519 part is of low order. That depends on the key alone, so all say the same of it.
func (p *Pledge) key() (hpke.PublicKey, error) {
	key, err := kem().NewPublicKey(p.SealKey[:])
	if err == nil {
		_, err = hpke.Seal(key, kdf(), aead(), nil, nil)
	}
	if err != nil {
		return nil, errGarbage
	}
	return key, nil
}

// keys are the pledges of all members, in their order.
type keys struct {
	pledges []Pledge
	seal    []hpke.PublicKey
	digest  Digest // names them; noise is sealed under it
}

func (s *Sum) newKeys(pledges []Pledge) (*keys, error) {
	k := &keys{pledges: pledges}
	var w writer
	for i := range pledges {
		key, err := pledges[i].key()
		if err != nil {
			return nil, err
		}
		k.seal = append(k.seal, key)
		w.fixed(pledges[i].unsigned())
	}
	k.digest = hash("keys", s.ID[:], w)
	return k, nil
}

// closes is the median of the times that the members want, so it lies between the times
// of two honest ones.
func (k *keys) closes() int64 {
	var times []int64
	for _, p := range k.pledges {
		times = append(times, p.Closes)
	}
	slices.Sort(times)
	return times[len(times)/2]
}
