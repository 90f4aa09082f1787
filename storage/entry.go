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

// The kinds of entries. The first entry opens the ledger, and no other does. Terms of the
// Gaussian filter have a kind of their own: at first it was the only kind of terms.
const (
	entryBudget      entryKind = 1 // opens the ledger: budget and dimension of a Gaussian filter
	entryDebit       entryKind = 2 // one cohort paid for one round
	entryUnprotected entryKind = 3 // a round released without a guarantee
	entryTerms       entryKind = 4 // opens the ledger: all other terms
	entryRetire      entryKind = 5 // no cohort so far pays any more; rounds go on above the one given
	entryContradict  entryKind = 6 // a peer holds a model of this round that the ledger knows nothing of
	entryContribute  entryKind = 7 // one cohort paid for one private sum
	entryForeignSum  entryKind = 8 // a committee certified a contribution to this sum that the ledger knows nothing of
)

func (k entryKind) opening() bool { return k == entryBudget || k == entryTerms }

// sum reports whether entries of the kind are about a private sum, not a round.
func (k entryKind) sum() bool { return k == entryContribute || k == entryForeignSum }

// String returns the word for the kind that an export uses.
func (k entryKind) String() string {
	switch k {
	case entryBudget, entryTerms:
		return "opened"
	case entryDebit:
		return "paid"
	case entryUnprotected:
		return "unprotected"
	case entryRetire:
		return "retired"
	case entryContradict, entryForeignSum:
		return "contradicted"
	case entryContribute:
		return "contributed"
	}
	return "unknown"
}

// entry is one line of the ledger. Fields that its kind does not use are zero.
type entry struct {
	sequence uint64 // from 1, without gaps
	kind     entryKind
	round    uint64         // all but the opening ones and those of sums
	cohort   privacy.Cohort // debit, contribute; retire: the last one retired
	cost     float64        // debit, contribute: what it costs, in what the account adds up
	terms    privacy.Terms  // budget, terms
	epoch    uint64         // of the sum
	sum      SumID          // contribute, foreign sum
}

// openingEntry returns the first entry of a ledger with these terms.
func openingEntry(t privacy.Terms) entry {
	kind := entryTerms
	if gaussian := (privacy.Terms{Budget: t.Budget, Dimension: t.Dimension, Accounting: privacy.GaussianFilter}); t == gaussian {
		kind = entryBudget
	}
	return entry{sequence: 1, kind: kind, terms: t}
}

// link identifies the ledger up to and including an entry. Its CRC-32C covers the
// entry and, through the CRC before it, all earlier ones. The zero link is the
// empty ledger.
type link struct {
	sequence uint64
	crc      uint32
}

// sum returns the CRC as [Line] shows it.
func (l link) sum() string { return fmt.Sprintf("%08x", l.crc) }

// The layout of an entry, little endian: kind (1), three words (8 each), further
// fields of some kinds, and the CRC (4). The words are dimension, epsilon and delta in
// an opening entry, and round, cohort and cost in the others, with the epoch in place of
// the round for sums. entryTerms is followed by the order (8), the plan (32) and the name
// of the accounting, entries of sums by the sum's name (32). The key is the sequence
// number.
const (
	entryWords = 1 + 3*8
	entrySize  = entryWords + crcSize
	sumSize    = entryWords + len(SumID{}) + crcSize
	termsSize  = entryWords + 8 + 32 + 1 + crcSize // and up, with the name
	maxName    = 32
)

// encodeEntry appends e after prev and returns its bytes and the new head.
func encodeEntry(prev link, e entry) ([]byte, link) {
	words := [3]uint64{e.round, uint64(e.cohort), math.Float64bits(e.cost)}
	if e.kind.opening() {
		b := e.terms.Budget
		words = [3]uint64{uint64(e.terms.Dimension), math.Float64bits(b.Epsilon), math.Float64bits(b.Delta)}
	}
	if e.kind.sum() {
		words[0] = e.epoch
	}
	data := append(make([]byte, 0, termsSize+maxName), byte(e.kind))
	for _, w := range words {
		data = binary.LittleEndian.AppendUint64(data, w)
	}
	if e.kind == entryTerms {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(e.terms.Order))
		data = append(data, e.terms.Plan[:]...)
		data = append(data, e.terms.Accounting...)
	}
	if e.kind.sum() {
		data = append(data, e.sum[:]...)
	}
	head := prev.next(data)
	return binary.LittleEndian.AppendUint32(data, head.crc), head
}

// decodeEntry reads the entry that must follow prev.
func decodeEntry(prev link, key, data []byte) (entry, link, error) {
	if len(key) != 8 || !entryForm(data) {
		return entry{}, link{}, fmt.Errorf("%w: a ledger entry has the wrong form", ErrDamaged)
	}
	content := data[:len(data)-crcSize]
	head := prev.next(content)
	if binary.BigEndian.Uint64(key) != head.sequence || binary.LittleEndian.Uint32(data[len(content):]) != head.crc {
		return entry{}, link{}, fmt.Errorf("%w: the ledger's chain breaks after entry %d", ErrDamaged, prev.sequence)
	}
	e := entry{sequence: head.sequence, kind: entryKind(content[0])}
	switch e.kind {
	case entryBudget, entryTerms:
		e.terms = decodeTerms(content)
		if openingEntry(e.terms).kind != e.kind {
			return entry{}, link{}, fmt.Errorf("%w: ledger entry %d has the wrong form", ErrDamaged, e.sequence)
		}
	case entryDebit, entryUnprotected, entryRetire, entryContradict, entryContribute, entryForeignSum:
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(content[1+8*i:]) }
		e.round, e.cohort, e.cost = word(0), privacy.Cohort(word(1)), math.Float64frombits(word(2))
		if e.kind.sum() {
			e.epoch, e.round, e.sum = e.round, 0, SumID(content[entryWords:])
		}
	default:
		return entry{}, link{}, fmt.Errorf("%w: ledger entry %d is of no known kind", ErrDamaged, e.sequence)
	}
	return e, head, nil
}

// entryForm reports whether data has the length of its kind.
func entryForm(data []byte) bool {
	switch {
	case len(data) > 0 && entryKind(data[0]) == entryTerms:
		return len(data) >= termsSize && len(data) < termsSize+maxName
	case len(data) > 0 && entryKind(data[0]).sum():
		return len(data) == sumSize
	}
	return len(data) == entrySize
}

// decodeTerms reads the content of an opening entry.
func decodeTerms(content []byte) privacy.Terms {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(content[at:]) }
	t := privacy.Terms{
		Budget:     privacy.Budget{Epsilon: math.Float64frombits(word(9)), Delta: math.Float64frombits(word(17))},
		Dimension:  int(word(1)),
		Accounting: privacy.GaussianFilter,
	}
	if rest := content[entryWords:]; len(rest) > 0 {
		t.Order = math.Float64frombits(word(entryWords))
		copy(t.Plan[:], rest[8:])
		t.Accounting = privacy.Accounting(rest[8+len(t.Plan):])
	}
	return t
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

// next returns the link that follows l after an entry with this content.
func (l link) next(content []byte) link {
	prev := binary.LittleEndian.AppendUint32(nil, l.crc)
	return link{l.sequence + 1, crc32.Update(crc32.Checksum(prev, castagnoli), castagnoli, content)}
}
