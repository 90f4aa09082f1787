package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// AppendRecords stores all of recs, or none, and returns copies with Seq and
// Cohort set. Seq goes on from the highest ever given. A record joins the open
// cohort, the newest one, and a new cohort is opened when that holds cohortSize
// slots or when closed says that it takes no more (its budget is used; nil
// means never). closed is called at most once and outside any transaction, so
// it may ask the ledger.
func (s *Store) AppendRecords(recs []learner.Record, cohortSize int, closed func(privacy.Cohort) bool) ([]learner.Record, error) {
	if cohortSize < 1 {
		return nil, fmt.Errorf("storage: append records: the cohort size %d is not positive", cohortSize)
	}
	if len(recs) == 0 {
		return nil, nil
	}
	s.appending.Lock()
	defer s.appending.Unlock()
	last, err := s.lastSlot()
	if err != nil {
		return nil, fmt.Errorf("storage: append records: %w", err)
	}
	seq, cohort, used := last.record.Seq, last.record.Cohort, last.number
	full := cohort == 0 || (closed != nil && closed(cohort))
	stored := make([]learner.Record, len(recs))
	err = s.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketRecords)
		for i, r := range recs {
			if full || used >= uint64(cohortSize) {
				full, used, cohort = false, 0, cohort+1
			}
			seq, used = seq+1, used+1
			r.Seq, r.Cohort = seq, cohort
			stored[i] = r
			err := put(b, numberKey(uint64(seq)), encodeSlot(slot{record: r, number: used}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("storage: append records: %w", err)
	}
	return stored, nil
}

// lastSlot returns the slot of the newest record, the zero slot if there is none.
func (s *Store) lastSlot() (last slot, err error) {
	err = s.view(func(tx *bbolt.Tx) (err error) {
		if key, sealed := tx.Bucket(bucketRecords).Cursor().Last(); key != nil {
			last, err = openSlot(key, sealed)
		}
		return err
	})
	return last, err
}

// Records returns the live records and the deleted ones, each in order of
// arrival. A deleted one has its Seq and Cohort, Y = 0 and X nil. A fresh agent
// must learn of both, merged in order of Seq: an empty slot counts as a record.
func (s *Store) Records() (live, deleted []learner.Record, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketRecords).ForEach(func(key, sealed []byte) error {
			at, err := openSlot(key, sealed)
			if err != nil {
				return err
			}
			if at.erased {
				at.record.X = nil
				deleted = append(deleted, at.record)
			} else {
				live = append(live, at.record)
			}
			return nil
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("storage: read records: %w", err)
	}
	return live, deleted, nil
}

// DeleteRecord erases a record's content and keeps its slot, because the
// number of slots is public. It fails with ErrNoRecord if there is no such
// record or it was deleted before.
func (s *Store) DeleteRecord(q learner.Seq) error {
	err := s.update(func(tx *bbolt.Tx) error {
		b, key := tx.Bucket(bucketRecords), numberKey(uint64(q))
		sealed := b.Get(key)
		if sealed == nil {
			return ErrNoRecord
		}
		at, err := openSlot(key, sealed)
		if err != nil {
			return err
		}
		if at.erased {
			return ErrNoRecord
		}
		at.erased, at.record.Y, at.record.X = true, 0, make([]float64, len(at.record.X))
		return put(b, key, encodeSlot(at))
	})
	switch {
	case errors.Is(err, ErrNoRecord):
		return fmt.Errorf("%w: number %d", ErrNoRecord, q)
	case err != nil:
		return fmt.Errorf("storage: delete record %d: %w", q, err)
	}
	return nil
}

// slot is the place of a record in its cohort. It outlives the content.
type slot struct {
	record learner.Record
	number uint64 // from 1 within the cohort
	erased bool   // then Y and X are zero
}

// The layout of a slot, little endian: cohort (8), number (8), erased (1),
// y (8), x (8 for each coordinate). The key is Seq.
const slotHeader = 8 + 8 + 1

func encodeSlot(at slot) []byte {
	data := make([]byte, 0, slotHeader+8*(1+len(at.record.X)))
	data = binary.LittleEndian.AppendUint64(data, uint64(at.record.Cohort))
	data = binary.LittleEndian.AppendUint64(data, at.number)
	data = append(data, 0)
	if at.erased {
		data[slotHeader-1] = 1
	}
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(at.record.Y))
	for _, v := range at.record.X {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return data
}

// openSlot unseals and decodes what is stored under key.
func openSlot(key, sealed []byte) (slot, error) {
	data, err := unseal(key, sealed)
	if err != nil {
		return slot{}, err
	}
	return decodeSlot(key, data)
}

func decodeSlot(key, data []byte) (slot, error) {
	body := len(data) - slotHeader
	if len(key) != 8 || body < 8 || body%8 != 0 || data[slotHeader-1] > 1 {
		return slot{}, fmt.Errorf("%w: a record has the wrong form", ErrDamaged)
	}
	at := slot{number: binary.LittleEndian.Uint64(data[8:]), erased: data[slotHeader-1] == 1}
	at.record.Seq = learner.Seq(binary.BigEndian.Uint64(key))
	at.record.Cohort = privacy.Cohort(binary.LittleEndian.Uint64(data))
	data = data[slotHeader:]
	at.record.Y = math.Float64frombits(binary.LittleEndian.Uint64(data))
	at.record.X = make([]float64, body/8-1)
	for i := range at.record.X {
		at.record.X[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*(1+i):]))
	}
	return at, nil
}
