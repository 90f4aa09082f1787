package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// errRelease1 prevents that one file holds records of two codings.
var errRelease1 = errors.New("the records are those of the first release: upgrade the file first")

// upgraded returns an error unless the records have this version's coding.
func (s *Store) upgraded() error {
	if s.release1.Load() {
		return errRelease1
	}
	return nil
}

// Recode says how to convert records of the first release.
type Recode struct {
	// Features returns the new coordinates of a record, or an error if they cannot be
	// computed; nil leaves them as they are. It must not call the store.
	Features func(x []float64) ([]float64, error)
	// State returns the agent's state as it is after the upgrade.
	State func([]byte) ([]byte, error)
}

// recodeBatch is how many records one transaction converts, so that memory stays small.
const recodeBatch = 4096

// keyRecoded holds the number of the last record that an interrupted upgrade converted.
var keyRecoded = []byte("recoded")

// Upgrade converts a file of the first release to this version, and leaves a file of this
// version as it is. Each record that is not deleted gets new coordinates. If r.Features
// returns an error for a record, the record is set aside: it keeps its bytes and its
// slot, and [Store.EachRecord] returns it without features. The agent's state becomes
// what r.State returns. The message that was published last is dropped, because it
// belongs to a network of an earlier wire version. Numbers, cohorts and the ledger stay.
// If State returns an error, nothing has changed. If the process is killed meanwhile, the
// next call continues. The ledger must not be open yet.
func (s *Store) Upgrade(r Recode) error {
	if !s.release1.Load() {
		return nil
	}
	s.ledgerMu.Lock()
	defer s.ledgerMu.Unlock()
	if s.ledger != nil {
		return errors.New("storage: upgrade: the ledger is open; upgrade before opening it")
	}
	last, err := s.upgradedState(r)
	if err == nil {
		err = s.keepRelease1()
	}
	if err == nil && r.Features != nil {
		err = s.recodeAll(r)
	}
	if err == nil {
		err = s.update(func(tx *bbolt.Tx) error { return finishUpgrade(tx, last) })
	}
	if err != nil {
		return fmt.Errorf("storage: upgrade: %w", err)
	}
	s.release1.Store(false)
	return nil
}

// keepRelease1 copies the file as the first release left it, unless an interrupted
// upgrade, or the opening of a file that is older still, has made a copy already.
func (s *Store) keepRelease1() error {
	begun, err := s.value(keyRecoded)
	if err != nil || begun != nil || s.kept != "" {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.keepBefore()
}

// upgradedState returns the committed round that replaces the stored one; nil if there is
// none.
func (s *Store) upgradedState(r Recode) (*committed, error) {
	data, err := s.value(keyCommitted)
	if err != nil || data == nil {
		return nil, err
	}
	last, err := decodeCommitted(data)
	if err != nil {
		return nil, err
	}
	last.message = nil
	last.state, err = r.State(last.state)
	return &last, err
}

func finishUpgrade(tx *bbolt.Tx, last *committed) error {
	b := tx.Bucket(bucketStore)
	if last != nil {
		if err := put(b, keyCommitted, encodeCommitted(*last)); err != nil {
			return err
		}
	}
	if err := b.Delete(keyRecoded); err != nil {
		return err
	}
	return laterBuckets(tx)
}

// recodeAll gives all records new coordinates, one batch in each transaction.
func (s *Store) recodeAll(r Recode) error {
	for more := true; more; {
		err := s.update(func(tx *bbolt.Tx) error {
			last, err := recodedUpTo(tx)
			if err != nil {
				return err
			}
			var slots []slot
			if slots, more, err = slotsAfter(tx, last); err != nil {
				return err
			}
			records := tx.Bucket(bucketRecords)
			for _, at := range slots {
				last = at.record.Seq
				if err := put(records, numberKey(uint64(last)), encodeSlot(r.slot(at))); err != nil {
					return err
				}
			}
			return put(tx.Bucket(bucketStore), keyRecoded, numberKey(uint64(last)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// slot converts a slot; a deleted one stays as it is.
func (r Recode) slot(at slot) slot {
	if at.erased {
		return at
	}
	var x []float64
	var err error
	callersOwn(func() { x, err = r.Features(at.record.X) })
	if err == nil {
		at.record.X = x
	} else {
		at.aside = true
	}
	return at
}

// recodedUpTo returns the number of the last record that has its new coordinates.
func recodedUpTo(tx *bbolt.Tx) (learner.Seq, error) {
	key, err := get(tx.Bucket(bucketStore), keyRecoded)
	if err != nil || key == nil {
		return 0, err
	}
	return learner.Seq(binary.BigEndian.Uint64(key)), nil
}

// slotsAfter returns the next slots after a number, and whether there are more.
func slotsAfter(tx *bbolt.Tx, after learner.Seq) (slots []slot, more bool, err error) {
	c := tx.Bucket(bucketRecords).Cursor()
	for key, sealed := c.Seek(numberKey(uint64(after) + 1)); key != nil; key, sealed = c.Next() {
		if len(slots) == recodeBatch {
			return slots, true, nil
		}
		at, err := openSlot(key, sealed, nil)
		if err != nil {
			return nil, false, err
		}
		slots = append(slots, at)
	}
	return slots, false, nil
}
