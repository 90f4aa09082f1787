package storage

import (
	"encoding/binary"
	"fmt"
	"math"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// slot is the place of a record in its cohort. It outlives the content.
type slot struct {
	record learner.Record
	number uint64 // from 1 within the cohort
	erased bool   // then Y and X are zero
	aside  bool   // an upgrade could not take its features over
	opened int64  // of a cohort's first slot: when, Unix nanoseconds; 0: not known
}

// The layout of a slot, little endian: cohort (8), number (8), flags (1),
// opened (8, if flagged), the record's key (8, if flagged), y (8), x (8 for each
// coordinate). It is stored under Seq.
const (
	slotHeader = 8 + 8 + 1

	slotErased = 1
	slotOpened = 2
	slotAside  = 4
	slotKeyed  = 8
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
	if at.opened != 0 {
		data[slotHeader-1] |= slotOpened
		data = binary.LittleEndian.AppendUint64(data, uint64(at.opened))
	}
	if at.record.Key != 0 {
		data[slotHeader-1] |= slotKeyed
		data = binary.LittleEndian.AppendUint64(data, at.record.Key)
	}
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(at.record.Y))
	for _, v := range at.record.X {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return data
}

// openSlot unseals and decodes the slot stored under key. It puts the record's X into room
// if there is enough of it.
func openSlot(key, sealed []byte, room []float64) (slot, error) {
	data, err := unseal(key, sealed)
	if err != nil {
		return slot{}, err
	}
	return decodeSlot(key, data, room)
}

func decodeSlot(key, data []byte, room []float64) (slot, error) {
	if len(key) != 8 || len(data)%8 != slotHeader%8 || len(data) < slotHeader+8 || data[slotHeader-1] >= 2*slotKeyed {
		return slot{}, errSlot
	}
	flags := data[slotHeader-1]
	at := slot{number: binary.LittleEndian.Uint64(data[8:]), erased: flags&slotErased != 0, aside: flags&slotAside != 0}
	at.record.Seq = learner.Seq(binary.BigEndian.Uint64(key))
	at.record.Cohort = privacy.Cohort(binary.LittleEndian.Uint64(data))
	words := data[slotHeader:]
	if flags&slotOpened != 0 {
		at.opened = int64(binary.LittleEndian.Uint64(words))
		words = words[8:]
		if at.opened == 0 || len(words) == 0 {
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
	n := len(words)/8 - 1
	if at.record.X = room[:0]; cap(room) < n || room == nil {
		at.record.X = make([]float64, n)
	}
	at.record.X = at.record.X[:n]
	for i := range at.record.X {
		at.record.X[i] = math.Float64frombits(binary.LittleEndian.Uint64(words[8*(1+i):]))
	}
	return at, nil
}
