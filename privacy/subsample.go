package privacy

import (
	"errors"
	"fmt"
)

// Subsampled returns the mechanism on a random batch of the records: batch out of every
// slots of a cohort, floor(batch * n / slots) out of n, so that a record is taken with
// probability batch/slots at most. The door draws the batch afresh for each release,
// without replacement, and nobody else knows it: sums keep every record's contribution
// until then, 8 bytes a coordinate.
//
// Its adjacency is that of every mechanism here, replace one record. Only a committed
// plan has a price for it.
//
// It returns an error unless 1 <= batch <= slots <= [MaxSlots], and if the mechanism is
// subsampled or bounded already or is the zero Mechanism.
func (m Mechanism) Subsampled(batch, slots int) (Mechanism, error) {
	switch {
	case m.clip == 0:
		return Mechanism{}, errZero
	case m.slots > 0:
		return Mechanism{}, errors.New("privacy: the mechanism is subsampled already, choose one share")
	case m.distance > 0:
		return Mechanism{}, errors.New("privacy: a bounded mechanism cannot be subsampled, choose one of the two")
	case batch < 1 || batch > slots || slots > MaxSlots:
		return Mechanism{}, fmt.Errorf("privacy: a batch of %d out of %d records, choose 1 <= batch <= slots <= %d", batch, slots, MaxSlots)
	}
	m.batch, m.slots = batch, slots
	return m, nil
}

// taken returns how many of n record slots a release takes.
func (m Mechanism) taken(n int) int {
	if m.slots == 0 {
		return n
	}
	return int(int64(m.batch) * int64(n) / int64(m.slots)) // no overflow: both are at most 2^20
}

// addBatch adds a random batch of taken records to total, each set of that size
// with the same probability: slot i is taken with the number still wanted over the
// number of slots left (Knuth, The Art of Computer Programming, volume 2, algorithm
// 3.4.2S). The time it takes depends on public numbers only.
func (s *Sum) addBatch(total []int64, taken int, draws sampler) {
	for i := range s.slots {
		if draws.uniform(uint64(s.slots-i)) >= uint64(taken) {
			continue
		}
		taken--
		add(total, s.records[i*len(total):][:len(total)])
	}
}
