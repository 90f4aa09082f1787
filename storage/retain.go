package storage

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// Limits say which records are kept. They look at when records arrived, never at what
// they say. The zero value keeps all.
type Limits struct {
	Records int       // the newest so many; 0: any number
	Since   time.Time // those that arrived then or later; zero: all
}

// errBeyond ends a scan at the first record that is kept.
var errBeyond = errors.New("storage: the rest is kept")

// Expire erases records that are beyond the limits, oldest first, as DeleteRecords does,
// but at most 8192 of them and without [Store.Wipe], which the caller owes once no more
// come. live is how many records are stored, and from a number below which none is. It
// returns what was erased and the next from.
//
// Of records that earlier versions stored only the first of a cohort says when it arrived.
// Those after it count as being as new as the next that says it; while there is none, they
// are kept, but for what Limits.Records says.
func (s *Store) Expire(l Limits, live int, from learner.Seq) (c Changes, next learner.Seq, err error) {
	if err := s.upgraded(); err != nil {
		return c, from, fmt.Errorf("storage: erase old records: %w", err)
	}
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

// Wipe overwrites what was erased wherever earlier versions of the file's pages had it.
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

// beyond lists the oldest records that are beyond the limits, some of them.
func (s *Store) beyond(l Limits, live int, from learner.Seq) (gone []learner.Record, next learner.Seq, err error) {
	excess := 0
	if l.Records > 0 {
		excess = live - l.Records
	}
	next = from
	var untold []learner.Record // that do not say when they arrived
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
			case end != nil && bytes.Compare(key, end) >= 0 || len(gone) == deleteBatch:
				return errBeyond
			case at.erased:
				if len(gone)+len(untold) == 0 {
					next = at.record.Seq + 1
				}
				return nil
			}
			record := at.empty().record
			if at.aside {
				record.X = []float64{} // as [Store.EachRecord] says it
			}
			switch {
			case excess > 0 && !at.aside:
				excess--
				gone = append(gone, record)
			case l.Since.IsZero():
				return errBeyond
			case at.arrived == 0:
				untold = append(untold, record)
			case at.arrived < l.Since.UnixNano():
				gone, untold = append(append(gone, untold...), record), nil
			default:
				return errBeyond
			}
			return nil
		})
	})
	if errors.Is(err, errBeyond) {
		err = nil
	}
	return gone, next, err
}
