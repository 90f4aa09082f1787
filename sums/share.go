package sums

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

// Sharing is replicated, in Z_2^64. A contributor of the vector v draws one seed for
// each class of t members, stretches it to a stream of d words, and publishes
//
//	masked = v - sum over classes of stream.
//
// Every member outside its class knows a seed. So t members together lack only the seed
// of their own class, and to them masked is uniform, while t+1 members lack none.
// Nobody opens a contributor's stream. The committee opens U, the sum of a class's
// streams over a whole list, and the sum of the vectors is sum of masked + sum of U.

// seed is what a contributor draws for one class.
type seed [32]byte

// expand derives from a seed the key of its stream and the check value that is
// published. Both depend on the sum, the contributor and the class. The check value
// binds the contributor to the seed, since nobody can find two seeds with the same
// check value.
func expand(sum Digest, from Identity, class Class, s seed) (key, check Digest) {
	info := func(label string) string {
		var w writer
		w.fixed(labelled(label))
		w.fixed(from[:])
		w.u32(uint32(class))
		return string(w)
	}
	derive := func(label string) Digest {
		b, err := hkdf.Key(sha256.New, s[:], sum[:], info(label), len(Digest{}))
		if err != nil {
			panic(err) // HKDF can give 32 bytes
		}
		return Digest(b)
	}
	return derive("stream"), derive("check")
}

// addStream adds the AES-256-CTR stream of the key to total, as little-endian words.
func addStream(total []uint64, key Digest) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the length is always right
	}
	counter := cipher.NewCTR(block, make([]byte, aes.BlockSize))
	var buffer [4096]byte
	for len(total) > 0 {
		n := min(len(total), len(buffer)/8)
		clear(buffer[:8*n])
		counter.XORKeyStream(buffer[:8*n], buffer[:8*n])
		for j := range total[:n] {
			total[j] += binary.LittleEndian.Uint64(buffer[8*j:])
		}
		total = total[n:]
	}
}

// mask returns v minus the streams of the keys.
func mask(v []int64, keys []Digest) []uint64 {
	masked := make([]uint64, len(v))
	for _, k := range keys {
		addStream(masked, k)
	}
	for j := range masked {
		masked[j] = uint64(v[j]) - masked[j]
	}
	return masked
}

// words returns a vector as little-endian bytes.
func words(v []uint64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// AddWords adds a vector of little-endian words, the form in an upload, to total. It
// returns an error if the length differs.
func AddWords(total []uint64, b []byte) error {
	if len(b) != 8*len(total) {
		return errDimension
	}
	for j := range total {
		total[j] += binary.LittleEndian.Uint64(b[8*j:])
	}
	return nil
}
