package audit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"p2pnode/sums"
)

// attacker is an attacker's own program: it knows the protocol from its description,
// and shares no code with package sums except the names. Colluding members give it
// their keys.
type attacker struct {
	sum     *sums.Sum
	keys    map[int]sums.Secrets // those of colluding members
	pledges map[int][]byte       // those of all members, as they were heard
}

// The layout of an entry: opening, contributor, records, hash of the masked vector, check
// values, sealed seeds, signature.
const (
	digestSize = sha256.Size
	fromAt     = digestSize
	checksAt   = 3*digestSize + 4
)

// text is the text under a signature or under a key's derivation.
func text(label string, parts ...[]byte) []byte {
	return append([]byte("p2pnode sums 1 "+label+"\x00"), slices.Concat(parts...)...)
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// lacked reports whether a member does not hold the seeds of a class.
func lacked(c sums.Class, member int) bool { return c>>member&1 == 1 }

// view returns what is left of an upload when the colluding members subtract all
// streams whose seed one of them holds, in the order of the coordinates.
func (a *attacker) view(upload []byte) ([]uint64, error) {
	streams := make(map[sums.Class][]byte)
	for member, k := range a.keys {
		seeds, err := a.unseal(upload, member, k)
		if err != nil {
			return nil, fmt.Errorf("audit: member %d cannot open what is sealed to it: %w", member, err)
		}
		for class, seed := range seeds {
			streams[class] = seed
		}
	}
	rest := make([]uint64, a.sum.Dimension)
	masked := upload[len(upload)-8*len(rest):]
	for j := range rest {
		rest[j] = binary.LittleEndian.Uint64(masked[8*j:])
	}
	for class, seed := range streams {
		stream, err := a.stream(upload[fromAt:][:digestSize], class, seed)
		if err != nil {
			return nil, err
		}
		add(rest, stream, 1)
	}
	return rest, nil
}

// unseal opens the part of an upload for one member: a seed for each class that it
// holds.
func (a *attacker) unseal(upload []byte, member int, k sums.Secrets) (map[sums.Class][]byte, error) {
	key, err := k.Bytes()
	if err != nil {
		return nil, err
	}
	private, err := hpke.MLKEM768X25519().NewPrivateKey(key[:len(key)-ed25519.SeedSize])
	if err != nil {
		return nil, err
	}
	classes := a.sum.Committee.Classes()
	info := text("seal", a.sum.ID[:], upload[:digestSize], upload[fromAt:][:digestSize], []byte{byte(member)})
	var held []sums.Class
	for _, c := range classes {
		if !lacked(c, member) {
			held, info = append(held, c), append(info, number(uint32(c))...)
		}
	}
	const overhead = 1120 + 16 // bytes that ML-KEM-768 with X25519 and AES-GCM add
	size := overhead + len(held)*digestSize
	sealed := upload[checksAt+len(classes)*digestSize+member*size:][:size]
	seeds, err := hpke.Open(private, hpke.HKDFSHA256(), hpke.AES256GCM(), info, sealed)
	if err != nil {
		return nil, err
	}
	out := make(map[sums.Class][]byte)
	for i, c := range held {
		out[c] = seeds[i*digestSize:][:digestSize]
	}
	return out, nil
}

// stream expands a seed of a contributor.
func (a *attacker) stream(from []byte, class sums.Class, seed []byte) ([]uint64, error) {
	key, err := hkdf.Key(sha256.New, seed, a.sum.ID[:], string(text("stream", from, number(uint32(class)))), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 8*a.sum.Dimension)
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(b, b)
	return wordsOf(b), nil
}

func wordsOf(b []byte) []uint64 {
	v := make([]uint64, len(b)/8)
	for j := range v {
		v[j] = binary.LittleEndian.Uint64(b[8*j:])
	}
	return v
}

// add adds v, times times, to a total in the ring.
func add(total, v []uint64, times int) {
	for j := range total {
		total[j] += uint64(times) * v[j]
	}
}

// claim turns an upload into one of another contributor, with that one's name and
// signature.
func (a *attacker) claim(upload []byte, thief ed25519.PrivateKey) []byte {
	stolen := slices.Clone(upload)
	copy(stolen[fromAt:], thief.Public().(ed25519.PublicKey))
	name := a.name(stolen)
	copy(stolen[a.signatureAt():], ed25519.Sign(thief, text("entry", a.sum.ID[:], name)))
	return stolen
}

// name is the digest of an upload's entry, which members confirm.
func (a *attacker) name(upload []byte) []byte {
	digest := sha256.Sum256(text("entry", a.sum.ID[:], upload[:a.signatureAt()]))
	return digest[:]
}

func (a *attacker) signatureAt() int { return a.sum.EntrySize() - ed25519.SignatureSize }

// say signs a message as a colluding member.
func (a *attacker) say(by int, kind sums.Kind, view uint32, payload []byte) ([]byte, error) {
	key, err := a.keys[by].Bytes()
	if err != nil {
		return nil, err
	}
	var pledges []byte
	for i := range len(a.sum.Committee.Members) {
		p := a.pledges[i]
		pledges = append(pledges, p[:len(p)-ed25519.SignatureSize]...)
	}
	keys := sha256.Sum256(text("keys", a.sum.ID[:], pledges))
	digest := sha256.Sum256(text("payload", payload))
	signed := text("statement", a.sum.ID[:], keys[:], []byte{byte(kind)}, number(view), digest[:])
	m := sums.Message{Kind: kind, By: by, Number: view, Payload: payload}
	copy(m.Signature[:], ed25519.Sign(ed25519.NewKeyFromSeed(key[len(key)-ed25519.SeedSize:]), signed))
	return m.Bytes(), nil
}
