package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// deleteBatch is how many records are deleted in one transaction.
const deleteBatch = 8192

// DeleteRecords erases the content of all of seqs and keeps their slots, because the
// number of slots is public. If one of them is no record, was deleted before or comes
// twice, it deletes nothing and fails with ErrNoRecord. It deletes at most 8192 records
// in a transaction, so that memory does not grow with their number: if the process ends
// in between, the first of them are deleted.
//
// The bytes are overwritten in the file, also where earlier versions of its pages had
// them. If only that fails, the records are deleted and the error is ErrPoisoned or ErrClosed. If the
// process ends before that, the next deletion overwrites them.
func (s *Store) DeleteRecords(seqs ...learner.Seq) error {
	if len(seqs) == 0 {
		return nil
	}
	err := distinct(seqs)
	if err == nil {
		err = s.upgraded()
	}
	if err == nil {
		s.deleting.Lock()
		defer s.deleting.Unlock()
		err = s.deleteAll(seqs)
	}
	if err == nil {
		err = s.wipeFreePages()
	}
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return fmt.Errorf("storage: delete records: %w", err)
	}
	return err
}

// twice is the ErrNoRecord of a number that comes twice in a list.
type twice learner.Seq

// Error implements [error].
func (q twice) Error() string { return fmt.Sprintf("storage: number %d is twice in the list", q) }

// Is makes it an ErrNoRecord.
func (twice) Is(target error) bool { return target == ErrNoRecord }

// distinct reports an error if one of seqs comes twice.
func distinct(seqs []learner.Seq) error {
	sorted := slices.Sorted(slices.Values(seqs))
	for i, q := range sorted[1:] {
		if q == sorted[i] {
			return twice(q)
		}
	}
	return nil
}

func (s *Store) deleteAll(seqs []learner.Seq) error {
	if len(seqs) > deleteBatch { // a single transaction checks this by itself
		if err := s.deletable(seqs); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(seqs, deleteBatch) {
		if err := s.update(func(tx *bbolt.Tx) error { return deleteSlots(tx, some) }); err != nil {
			return err
		}
	}
	return nil
}

// deletable reports an error unless all of seqs are records with content.
func (s *Store) deletable(seqs []learner.Seq) error {
	wanted := slices.Sorted(slices.Values(seqs))
	missing := func() error { return fmt.Errorf("%w: number %d", ErrNoRecord, wanted[0]) }
	found := errors.New("all are there")
	err := s.EachRecord(wanted[0], func(r learner.Record) error {
		if r.Seq < wanted[0] {
			return nil
		}
		if r.Seq > wanted[0] || r.X == nil {
			return missing()
		}
		if wanted = wanted[1:]; len(wanted) == 0 {
			return found
		}
		return nil
	})
	switch {
	case errors.Is(err, found):
		return nil
	case err == nil:
		return missing()
	}
	return err
}

func deleteSlots(tx *bbolt.Tx, seqs []learner.Seq) error {
	end, err := unfinished(tx)
	if err != nil {
		return err
	}
	for _, q := range seqs {
		key := numberKey(uint64(q))
		if end != nil && bytes.Compare(key, end) >= 0 {
			return fmt.Errorf("%w: number %d", ErrNoRecord, q)
		}
		if err := eraseRecord(tx, q); err != nil {
			return err
		}
	}
	return nil
}

// eraseRecord erases the content of a record, its cells and its ID, and keeps its slot.
func eraseRecord(tx *bbolt.Tx, q learner.Seq) error {
	if err := eraseSlot(tx.Bucket(bucketRecords), q); err != nil {
		return err
	}
	if err := forgetID(tx, q); err != nil {
		return err
	}
	return tx.Bucket(bucketCells).Delete(numberKey(uint64(q)))
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
	return put(b, key, encodeSlot(at.empty()))
}

// wipeFreePages fills every unused page with zeros. bbolt writes a changed page to a new
// place and leaves the old bytes as they are.
func (s *Store) wipeFreePages() error {
	return s.write(func() error {
		// An open reader may still use pages that would otherwise be free. Without
		// readers, a write transaction first frees all of them.
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
	content, zeros := make([]byte, s.page), make([]byte, s.page)
	for number, unused := range free {
		if !unused {
			continue
		}
		at := int64(number) * s.page
		if s.wiped { // what cannot be read is overwritten too
			if _, err := s.file.ReadAt(content, at); err == nil && bytes.Equal(content, zeros) {
				continue
			}
		}
		if _, err := s.file.WriteAt(zeros, at); err != nil {
			return err
		}
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	s.wiped = true
	return nil
}
