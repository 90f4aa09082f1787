package learner

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
)

// Vector is a vector that takes little space in JSON: a text, "f" or "d" followed by
// the base64 of its coordinates. They are little-endian, in single precision ("f") if
// that is exact, else in double precision. It also reads an array of numbers, which
// earlier versions wrote.
type Vector []float64

// MarshalJSON implements [json.Marshaler]. It also writes coordinates that are not
// finite.
func (v Vector) MarshalJSON() ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	kind, data := byte('f'), make([]byte, 0, 8*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	if !IsSingle(v) {
		kind, data = 'd', data[:0]
		for _, x := range v {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
	}
	text := append(make([]byte, 0, 3+base64.StdEncoding.EncodedLen(len(data))), '"', kind)
	return append(base64.StdEncoding.AppendEncode(text, data), '"'), nil
}

var errVector = errors.New("learner: a stored vector has the wrong form")

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Vector) UnmarshalJSON(text []byte) error {
	if len(text) == 0 || text[0] != '"' {
		return json.Unmarshal(text, (*[]float64)(v))
	}
	if len(text) < 3 {
		return errVector
	}
	data, err := base64.StdEncoding.DecodeString(string(text[2 : len(text)-1]))
	if err != nil {
		return errVector
	}
	switch kind := text[1]; {
	case kind == 'f' && len(data)%4 == 0:
		*v = make(Vector, 0, len(data)/4)
		for ; len(data) > 0; data = data[4:] {
			*v = append(*v, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
		}
	case kind == 'd' && len(data)%8 == 0:
		*v = make(Vector, 0, len(data)/8)
		for ; len(data) > 0; data = data[8:] {
			*v = append(*v, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
	default:
		return errVector
	}
	return nil
}

// IsSingle reports whether single precision holds every coordinate of a vector exactly.
func IsSingle(v []float64) bool {
	for _, x := range v {
		if math.Float64bits(float64(float32(x))) != math.Float64bits(x) {
			return false
		}
	}
	return true
}
