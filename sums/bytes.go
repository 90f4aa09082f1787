package sums

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
)

// Digest is a SHA-256 of canonical bytes.
type Digest [sha256.Size]byte

func compare(a, b Digest) int { return bytes.Compare(a[:], b[:]) }

// errGarbage is the error for bytes that are not a canonical encoding of the expected
// value.
var errGarbage = errors.New("sums: these bytes are not what they should be")

// hash is the digest of the parts under a label. All parts except the last must have
// lengths that follow from the label.
func hash(label string, parts ...[]byte) Digest {
	h := sha256.New()
	h.Write(labelled(label))
	for _, p := range parts {
		h.Write(p)
	}
	return Digest(h.Sum(nil))
}

// labelled encodes a label so that no other label's encoding begins with it.
func labelled(label string) []byte {
	return append([]byte("p2pnode sums 1 "+label), 0)
}

// writer appends numbers, big-endian, and bytes.
type writer []byte

func (w *writer) u8(n int)          { *w = append(*w, byte(n)) }
func (w *writer) u32(n uint32)      { *w = binary.BigEndian.AppendUint32(*w, n) }
func (w *writer) u64(n uint64)      { *w = binary.BigEndian.AppendUint64(*w, n) }
func (w *writer) float(x float64)   { w.u64(math.Float64bits(x)) }
func (w *writer) fixed(b []byte)    { *w = append(*w, b...) }
func (w *writer) variable(b []byte) { w.u32(uint32(len(b))); w.fixed(b) }

// reader takes apart what writer wrote. Once something is missing it returns only
// zeros; end reports whether all went well.
type reader struct {
	rest []byte
	bad  bool
}

// take returns the next n bytes without copying them.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() int {
	if b := r.take(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) digest() (d Digest) {
	copy(d[:], r.take(len(d)))
	return d
}

// end returns an error unless everything was there and nothing is left.
func (r *reader) end() error {
	if r.bad || len(r.rest) > 0 {
		return errGarbage
	}
	return nil
}
