package storage

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// Limits say which records are kept. They depend on when and in which order records
// arrived, never on what is in them. The zero value keeps all.
type Limits struct {
	Records int       // how many of the newest records are kept; 0: all
	Since   time.Time // keep the records that arrived then or later; zero: all
	Now     time.Time // no record arrived later, whatever it says; needed with Since
}

// Earliest is before this program existed: a clock that says less was never set.
var Earliest = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// told reports whether a record says when it arrived, and the clock by which it does can
// have been right.
func (l Limits) told(arrived int64) bool {
	return arrived >= Earliest.UnixNano() && arrived <= l.Now.UnixNano()
}

// errBeyond ends a scan at the first record that is kept.
var errBeyond = errors.New("storage: the rest is kept")

// Expire erases records that are beyond the limits, oldest first, as DeleteRecords does,
// but at most 8192 of them in one call. It does not overwrite what is left in free pages:
// the caller must call [Store.Wipe] when there are no more to erase. live is how many
// records are stored, without those set aside. No record with a number below from is
// stored. Expire returns what it erased and the from for the next call.
//
// Records arrived in the order of their numbers, so a record is at least as new as those
// before it, whatever it says. Earlier versions stored the time of arrival for the first
// record of a cohort only, and a time that no right clock can have said is none. A record
// without a time counts as being as new as the next record with one. If no later record
// has a time, it is kept, unless Limits.Records excludes it. A record that an upgrade set
// aside is not counted: it goes when as many newer ones as Limits.Records are kept.
func (s *Store) Expire(l Limits, live int, from learner.Seq) (c Changes, next learner.Seq, err error) {
	s.deleting.Lock()
	defer s.deleting.Unlock()
	gone, next, err := s.beyond(l, live, from)
	if err == nil && len(gone) > 0 {
		b := new(batch)
		err = s.update(func(tx *bbolt.Tx) error { return b.expire(tx, gone) })
		c = Changes{Erased: gone, Noted: b.came.Minus(b.went)}
	}
	if err != nil {
		return Changes{}, from, fmt.Errorf("storage: erase old records: %w", err)
	}
	return c, next, nil
}

// Due reports whether Expire would erase a record.
func (s *Store) Due(l Limits, live int, from learner.Seq) (bool, error) {
	gone, _, err := s.beyond(l, live, from)
	if err != nil {
		return false, fmt.Errorf("storage: look for old records: %w", err)
	}
	return len(gone) > 0, nil
}

// Wipe overwrites the bytes of erased records in the unused pages of the file.
func (s *Store) Wipe() error {
	if err := s.wipeFreePages(); err != nil {
		return fmt.Errorf("storage: overwrite old records: %w", err)
	}
	return nil
}

func (b *batch) expire(tx *bbolt.Tx, gone []learner.Record) error {
	for _, r := range gone {
		if err := b.goes(tx, numberKey(uint64(r.Seq))); err != nil {
			return err
		}
		if err := eraseRecord(tx, r.Seq); err != nil {
			return err
		}
	}
	return nil
}

// beyond lists the oldest records that are beyond the limits, at most deleteBatch of
// them.
func (s *Store) beyond(l Limits, live int, from learner.Seq) (gone []learner.Record, next learner.Seq, err error) {
	if err := s.upgraded(); err != nil {
		return nil, from, err
	}
	excess := -1 // how many more must go, without those set aside; below 0: the rest is kept
	if l.Records > 0 {
		excess = live - l.Records
	}
	next = from
	var untold []learner.Record // records without a time of arrival, as many as there is room for
	full := false               // there are more of them
	err = s.view(func(tx *bbolt.Tx) error {
		end, err := unfinished(tx)
		if err != nil {
			return err
		}
		return scan(tx, s.file, bucketRecords, numberKey(uint64(from)), func(key, sealed []byte) error {
			at, err := openSlot(key, sealed, nil)
			switch {
			case err != nil:
				return err
			case end != nil && bytes.Compare(key, end) >= 0 || len(gone) >= deleteBatch:
				return errBeyond
			case at.erased:
				if len(gone)+len(untold) == 0 {
					next = at.record.Seq + 1
				}
				return nil
			}
			record := at.empty().record
			if at.aside {
				record.X = []float64{} // as [Store.EachRecord] returns it
			}
			if !at.aside {
				excess--
			}
			switch {
			case excess >= 0:
				gone = append(gone, record)
			case l.Since.IsZero():
				return errBeyond
			case !l.told(at.arrived):
				if full = full || len(gone)+len(untold) >= deleteBatch; !full {
					untold = append(untold, record)
				}
			case at.arrived >= l.Since.UnixNano():
				return errBeyond
			default:
				if gone, untold = append(gone, untold...), nil; full || len(gone) >= deleteBatch {
					return errBeyond
				}
				gone = append(gone, record)
			}
			return nil
		})
	})
	if errors.Is(err, errBeyond) {
		err = nil
	}
	return gone, next, err
}
