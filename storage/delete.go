package storage

import (
	"bytes"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// DeleteRecord is [Store.DeleteRecords] of one.
func (s *Store) DeleteRecord(q learner.Seq) error { return s.DeleteRecords(q) }

// DeleteRecords erases the content of all of seqs, or of none, and keeps their
// slots, because the number of slots is public. It fails with ErrNoRecord if one
// of them is no record, was deleted before or comes twice.
//
// The bytes are overwritten in the file, also where earlier versions of its
// pages had them. If only that fails, the records are deleted and the error is
// ErrPoisoned. A process that ends before that leaves it to the next deletion.
func (s *Store) DeleteRecords(seqs ...learner.Seq) error {
	if len(seqs) == 0 {
		return nil
	}
	if err := s.upgraded(); err != nil {
		return fmt.Errorf("storage: delete records: %w", err)
	}
	err := s.update(func(tx *bbolt.Tx) error {
		end, err := unfinished(tx)
		if err != nil {
			return err
		}
		b := tx.Bucket(bucketRecords)
		for _, q := range seqs {
			if end != nil && bytes.Compare(numberKey(uint64(q)), end) >= 0 {
				return fmt.Errorf("%w: number %d", ErrNoRecord, q)
			}
			if err := eraseSlot(b, q); err != nil {
				return err
			}
			if err := tx.Bucket(bucketCells).Delete(numberKey(uint64(q))); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.wipeFreePages()
	}
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return fmt.Errorf("storage: delete records: %w", err)
	}
	return err
}

func eraseSlot(b *bbolt.Bucket, q learner.Seq) error {
	key := numberKey(uint64(q))
	sealed := b.Get(key)
	if sealed == nil {
		return fmt.Errorf("%w: number %d", ErrNoRecord, q)
	}
	at, err := openSlot(key, sealed, nil)
	if err != nil {
		return err
	}
	if at.erased {
		return fmt.Errorf("%w: number %d", ErrNoRecord, q)
	}
	at.erased, at.aside = true, false
	at.record.Y, at.record.X = 0, make([]float64, len(at.record.X))
	return put(b, key, encodeSlot(at))
}

// wipeFreePages overwrites every page that nothing uses with zeros. bbolt writes
// changed pages elsewhere and leaves the old ones as they are.
func (s *Store) wipeFreePages() error {
	return s.write(func() error {
		// A reader may still use pages that are free for everybody else. Without
		// readers a write transaction begins by freeing all of them.
		s.reading.Lock()
		defer s.reading.Unlock()
		tx, err := s.db.Begin(true)
		if err != nil {
			return err
		}
		return errors.Join(s.wipe(tx), tx.Rollback())
	})
}

func (s *Store) wipe(tx *bbolt.Tx) error {
	free, err := newPageWalk(tx, s.file).free(tx)
	if err != nil {
		return err
	}
	zeros := make([]byte, s.db.Info().PageSize)
	for number, unused := range free {
		if !unused {
			continue
		}
		if _, err := s.file.WriteAt(zeros, int64(number)*int64(len(zeros))); err != nil {
			return err
		}
	}
	return s.file.Sync()
}
