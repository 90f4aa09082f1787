package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"p2pnode/privacy"
)

// EntryKind says what an Entry records.
type EntryKind uint8

// The kinds of entries.
const (
	EntryBudget      EntryKind = 1 // opens the ledger: the budget and dimension it is kept for
	EntryDebit       EntryKind = 2 // one cohort paid for one round
	EntryUnprotected EntryKind = 3 // a round released without a guarantee
)

// Entry is one line of the ledger. Fields that its kind does not use are zero.
type Entry struct {
	Sequence  uint64 // from 1, without gaps
	Kind      EntryKind
	Round     uint64         // debit, unprotected
	Cohort    privacy.Cohort // debit
	MuSquared float64        // debit: the cost of the release, (sensitivity / noise)^2
	Budget    privacy.Budget // budget
	Dimension int            // budget
}

// link stands for the ledger up to and including an entry: its CRC-32C covers
// the entry and, through the CRC before it, all earlier ones. The zero link is
// the empty ledger.
type link struct {
	sequence uint64
	crc      uint32
}

// The layout of an entry, little endian: kind (1), three words (8 each) and the
// CRC (4). The words are dimension, epsilon and delta of a budget, or round,
// cohort and mu squared. The key is the sequence number.
const entrySize = 1 + 3*8 + crcSize

// encodeEntry appends e after prev and returns its bytes and the new head.
func encodeEntry(prev link, e Entry) ([]byte, link) {
	words := [3]uint64{e.Round, uint64(e.Cohort), math.Float64bits(e.MuSquared)}
	if e.Kind == EntryBudget {
		words = [3]uint64{uint64(e.Dimension), math.Float64bits(e.Budget.Epsilon), math.Float64bits(e.Budget.Delta)}
	}
	data := append(make([]byte, 0, entrySize), byte(e.Kind))
	for _, w := range words {
		data = binary.LittleEndian.AppendUint64(data, w)
	}
	head := prev.next(data)
	return binary.LittleEndian.AppendUint32(data, head.crc), head
}

// decodeEntry reads the entry that must follow prev.
func decodeEntry(prev link, key, data []byte) (Entry, link, error) {
	if len(key) != 8 || len(data) != entrySize {
		return Entry{}, link{}, fmt.Errorf("%w: a ledger entry has the wrong form", ErrDamaged)
	}
	content := data[:entrySize-crcSize]
	head := prev.next(content)
	if binary.BigEndian.Uint64(key) != head.sequence || binary.LittleEndian.Uint32(data[len(content):]) != head.crc {
		return Entry{}, link{}, fmt.Errorf("%w: the ledger's chain breaks after entry %d", ErrDamaged, prev.sequence)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(content[1+8*i:]) }
	e := Entry{Sequence: head.sequence, Kind: EntryKind(content[0])}
	switch e.Kind {
	case EntryBudget:
		e.Dimension = int(word(0))
		e.Budget = privacy.Budget{Epsilon: math.Float64frombits(word(1)), Delta: math.Float64frombits(word(2))}
	case EntryDebit, EntryUnprotected:
		e.Round, e.Cohort, e.MuSquared = word(0), privacy.Cohort(word(1)), math.Float64frombits(word(2))
	default:
		return Entry{}, link{}, fmt.Errorf("%w: ledger entry %d is of no known kind", ErrDamaged, e.Sequence)
	}
	return e, head, nil
}

// next is the link after an entry of this content.
func (l link) next(content []byte) link {
	prev := binary.LittleEndian.AppendUint32(nil, l.crc)
	return link{l.sequence + 1, crc32.Update(crc32.Checksum(prev, castagnoli), castagnoli, content)}
}
