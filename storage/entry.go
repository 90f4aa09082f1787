package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"go.etcd.io/bbolt"

	"p2pnode/privacy"
)

// entryKind says what an entry records.
type entryKind uint8

// The kinds of entries.
const (
	entryBudget      entryKind = 1 // opens the ledger: the budget and dimension it is kept for
	entryDebit       entryKind = 2 // one cohort paid for one round
	entryUnprotected entryKind = 3 // a round released without a guarantee
)

// entry is one line of the ledger. Fields that its kind does not use are zero.
type entry struct {
	sequence  uint64 // from 1, without gaps
	kind      entryKind
	round     uint64         // debit, unprotected
	cohort    privacy.Cohort // debit
	cost      float64        // debit: what the release costs, in what the account adds up
	budget    privacy.Budget // budget
	dimension int            // budget
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
// cohort and cost. The key is the sequence number.
const entrySize = 1 + 3*8 + crcSize

// encodeEntry appends e after prev and returns its bytes and the new head.
func encodeEntry(prev link, e entry) ([]byte, link) {
	words := [3]uint64{e.round, uint64(e.cohort), math.Float64bits(e.cost)}
	if e.kind == entryBudget {
		words = [3]uint64{uint64(e.dimension), math.Float64bits(e.budget.Epsilon), math.Float64bits(e.budget.Delta)}
	}
	data := append(make([]byte, 0, entrySize), byte(e.kind))
	for _, w := range words {
		data = binary.LittleEndian.AppendUint64(data, w)
	}
	head := prev.next(data)
	return binary.LittleEndian.AppendUint32(data, head.crc), head
}

// decodeEntry reads the entry that must follow prev.
func decodeEntry(prev link, key, data []byte) (entry, link, error) {
	if len(key) != 8 || len(data) != entrySize {
		return entry{}, link{}, fmt.Errorf("%w: a ledger entry has the wrong form", ErrDamaged)
	}
	content := data[:entrySize-crcSize]
	head := prev.next(content)
	if binary.BigEndian.Uint64(key) != head.sequence || binary.LittleEndian.Uint32(data[len(content):]) != head.crc {
		return entry{}, link{}, fmt.Errorf("%w: the ledger's chain breaks after entry %d", ErrDamaged, prev.sequence)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(content[1+8*i:]) }
	e := entry{sequence: head.sequence, kind: entryKind(content[0])}
	switch e.kind {
	case entryBudget:
		e.dimension = int(word(0))
		e.budget = privacy.Budget{Epsilon: math.Float64frombits(word(1)), Delta: math.Float64frombits(word(2))}
	case entryDebit, entryUnprotected:
		e.round, e.cohort, e.cost = word(0), privacy.Cohort(word(1)), math.Float64frombits(word(2))
	default:
		return entry{}, link{}, fmt.Errorf("%w: ledger entry %d is of no known kind", ErrDamaged, e.sequence)
	}
	return e, head, nil
}

// putEntries stores entries after prev and returns the new head.
func putEntries(b *bbolt.Bucket, prev link, entries []entry) (head link, err error) {
	head = prev
	for _, e := range entries {
		var data []byte
		data, head = encodeEntry(head, e)
		if err := put(b, numberKey(head.sequence), data); err != nil {
			return link{}, err
		}
	}
	return head, nil
}

// next is the link after an entry of this content.
func (l link) next(content []byte) link {
	prev := binary.LittleEndian.AppendUint32(nil, l.crc)
	return link{l.sequence + 1, crc32.Update(crc32.Checksum(prev, castagnoli), castagnoli, content)}
}
