package mobile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// maxFeatures bounds the vectors that [NewFeatures] makes: no task has more features.
const maxFeatures = 1 << 16

// least is the least number that float64 holds with all its digits; those below are subnormal.
const least = 0x1p-1022

// Features builds a vector of features, instead of an app's own ByteBuffer. It is not
// safe for concurrent use.
type Features struct{ bytes []byte }

// NewFeatures returns a vector of n zeros. n is limited to between 0 and 65536.
func NewFeatures(n int) *Features {
	return &Features{make([]byte, 8*min(max(n, 0), maxFeatures))}
}

// Set sets the i-th number, counted from 0.
func (f *Features) Set(i int, v float64) (err error) {
	defer guard(&err)
	if n := len(f.bytes) / 8; i < 0 || i >= n {
		return wrongInput("there is no feature %d: the vector has %d, counted from 0", i, n)
	}
	binary.LittleEndian.PutUint64(f.bytes[8*i:], math.Float64bits(v))
	return nil
}

// Bytes returns a copy of the vector, for the methods of [Node]. The bindings turn an
// empty one into null.
func (f *Features) Bytes() []byte { return slices.Clone(f.bytes) }

// decodeVector copies a vector. b is the app's memory and only valid during the call. A number
// that is not 0 and closer to it than least is an error: nobody measures one, and a whole number
// or one of 32 bits is one if its bytes are in the other order, which is Java's own.
func decodeVector(b []byte) ([]float64, error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are no vector of float64: each takes 8", len(b))
	}
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if v[i] != 0 && math.Abs(v[i]) < least {
			return nil, fmt.Errorf("number %d, counted from 0, is none that anybody measures: its bytes seem to be in the wrong order; set ByteOrder.LITTLE_ENDIAN, or give 0 for what is next to it", i)
		}
	}
	return v, nil
}

func encodeVector(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
