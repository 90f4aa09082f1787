package storage

import (
	"encoding/binary"
	"fmt"
	"math"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// slot is the place of a record in its cohort. It stays when the record's content is
// erased.
type slot struct {
	record learner.Record
	number uint64 // counted from 1 within the cohort
	erased bool   // it has no content any more
	aside  bool   // an upgrade could not take its features over
	// arrived is when the record was stored, in Unix nanoseconds; 0: unknown. Earlier
	// versions stored it for the first slot of a cohort only.
	arrived int64
}

// The layout of a slot, little endian: cohort (8), number (8), flags (1), arrived (8, if
// flagged), the record's key (8, if flagged), y (8), x (8 for each coordinate; earlier
// versions kept zeros for an erased record). It is stored under Seq.
//
// An x that is mostly 0, like that of a text, is flagged and stored as: the number of
// coordinates (4), the number of those that are not 0 (4), their values (8 each), their
// places in ascending order (4 each), and 4 bytes of 0 if they are needed to fill 8.
const (
	slotHeader = 8 + 8 + 1

	slotErased  = 1
	slotArrived = 2
	slotAside   = 4
	slotKeyed   = 8
	slotSparse  = 16

	// mostSparse is the most coordinates that a sparse x may have, so that damaged bytes
	// cannot ask for more memory.
	mostSparse = 1 << 20
)

var errSlot = fmt.Errorf("%w: a record has the wrong form", ErrDamaged)

func encodeSlot(at slot) []byte {
	data := make([]byte, 0, slotHeader+8*(3+len(at.record.X)))
	data = binary.LittleEndian.AppendUint64(data, uint64(at.record.Cohort))
	data = binary.LittleEndian.AppendUint64(data, at.number)
	data = append(data, 0)
	if at.erased {
		data[slotHeader-1] |= slotErased
	}
	if at.aside {
		data[slotHeader-1] |= slotAside
	}
	if at.arrived != 0 {
		data[slotHeader-1] |= slotArrived
		data = binary.LittleEndian.AppendUint64(data, uint64(at.arrived))
	}
	if at.record.Key != 0 {
		data[slotHeader-1] |= slotKeyed
		data = binary.LittleEndian.AppendUint64(data, at.record.Key)
	}
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(at.record.Y))
	if n := places(at.record.X); len(at.record.X) <= mostSparse && sparseWords(n) < len(at.record.X) {
		data[slotHeader-1] |= slotSparse
		return appendSparse(data, at.record.X, n)
	}
	for _, v := range at.record.X {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return data
}

// places returns how many coordinates are not 0.
func places(x []float64) (n int) {
	for _, v := range x {
		if math.Float64bits(v) != 0 {
			n++
		}
	}
	return n
}

// sparseWords returns how many words of 8 bytes a sparse x with n coordinates other than
// 0 takes.
func sparseWords(n int) int { return 1 + n + (n+1)/2 }

func appendSparse(data []byte, x []float64, n int) []byte {
	data = binary.LittleEndian.AppendUint32(data, uint32(len(x)))
	data = binary.LittleEndian.AppendUint32(data, uint32(n))
	for _, v := range x {
		if bits := math.Float64bits(v); bits != 0 {
			data = binary.LittleEndian.AppendUint64(data, bits)
		}
	}
	for i, v := range x {
		if math.Float64bits(v) != 0 {
			data = binary.LittleEndian.AppendUint32(data, uint32(i))
		}
	}
	return append(data, make([]byte, n%2*4)...)
}

// decodeSparse returns the x that appendSparse wrote. It uses the memory of room if that
// is large enough.
func decodeSparse(data []byte, room []float64) ([]float64, error) {
	if len(data) < 8 {
		return nil, errSlot
	}
	width, n := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[4:]))
	if width > mostSparse || sparseWords(n) >= width || len(data) != 8*sparseWords(n) {
		return nil, errSlot
	}
	x, values, at := roomFor(room, width), data[8:], data[8+8*n:]
	clear(x)
	last := -1
	for i := range n {
		place, bits := int(binary.LittleEndian.Uint32(at[4*i:])), binary.LittleEndian.Uint64(values[8*i:])
		if place <= last || place >= width || bits == 0 {
			return nil, errSlot
		}
		x[place], last = math.Float64frombits(bits), place
	}
	if n%2 != 0 && binary.LittleEndian.Uint32(at[4*n:]) != 0 {
		return nil, errSlot
	}
	return x, nil
}

// roomFor returns n numbers in the memory of room if that is large enough, else in new
// memory.
func roomFor(room []float64, n int) []float64 {
	if cap(room) < n || room == nil {
		return make([]float64, n)
	}
	return room[:n]
}

// openSlot unseals and decodes the slot stored under key. It puts the record's X into
// room if that is large enough.
func openSlot(key, sealed []byte, room []float64) (slot, error) {
	data, err := unseal(key, sealed)
	if err != nil {
		return slot{}, err
	}
	return decodeSlot(key, data, room)
}

func decodeSlot(key, data []byte, room []float64) (slot, error) {
	if len(key) != 8 || len(data)%8 != slotHeader%8 || len(data) < slotHeader+8 || data[slotHeader-1] >= 2*slotSparse {
		return slot{}, errSlot
	}
	flags := data[slotHeader-1]
	at := slot{number: binary.LittleEndian.Uint64(data[8:]), erased: flags&slotErased != 0, aside: flags&slotAside != 0}
	at.record.Seq = learner.Seq(binary.BigEndian.Uint64(key))
	at.record.Cohort = privacy.Cohort(binary.LittleEndian.Uint64(data))
	words := data[slotHeader:]
	if flags&slotArrived != 0 {
		at.arrived = int64(binary.LittleEndian.Uint64(words))
		words = words[8:]
		if at.arrived == 0 || len(words) == 0 {
			return slot{}, errSlot
		}
	}
	if flags&slotKeyed != 0 {
		at.record.Key = binary.LittleEndian.Uint64(words)
		words = words[8:]
		if at.record.Key == 0 || len(words) == 0 {
			return slot{}, errSlot
		}
	}
	at.record.Y = math.Float64frombits(binary.LittleEndian.Uint64(words))
	words = words[8:]
	if flags&slotSparse != 0 {
		x, err := decodeSparse(words, room)
		at.record.X = x
		return at, err
	}
	at.record.X = roomFor(room, len(words)/8)
	for i := range at.record.X {
		at.record.X[i] = math.Float64frombits(binary.LittleEndian.Uint64(words[8*i:]))
	}
	return at, nil
}

// empty returns the slot without the record's content.
func (at slot) empty() slot {
	return slot{
		record: learner.Record{Seq: at.record.Seq, Cohort: at.record.Cohort},
		number: at.number, erased: true, arrived: at.arrived,
	}
}
