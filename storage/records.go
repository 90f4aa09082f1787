package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Intake says which records the store takes, and when a cohort takes no more. It uses
// public values only. Its functions must not store records.
type Intake struct {
	// Admit returns an error for a record that must not be stored, as [learner.Task.Admit]
	// does: the cost of a release is right only for records that fit the task. Required.
	Admit func(*learner.Record) error
	Size  int           // slots, >= 1
	Age   time.Duration // since its first record; 0: no limit
	// Closed reports whether the cohort's budget is used up; nil means never. It is called
	// at most once and outside any transaction, so it may ask the ledger.
	Closed func(privacy.Cohort) bool
}

// putSlots stores slots that come after all others, and the cells of their records where
// they are known.
func putSlots(tx *bbolt.Tx, slots []slot) error {
	records, cells := tx.Bucket(bucketRecords), tx.Bucket(bucketCells)
	records.FillPercent, cells.FillPercent = 1, 1 // keys arrive in order, so no key is inserted between others later
	for _, at := range slots {
		key := numberKey(uint64(at.record.Seq))
		if err := put(records, key, encodeSlot(at)); err != nil {
			return err
		}
		if at.record.Cells == "" {
			continue
		}
		if err := put(cells, key, []byte(at.record.Cells)); err != nil {
			return err
		}
	}
	return nil
}

// EachCells calls visit, in order of arrival, for the stored cells of the records between
// two numbers, both included. visit must not call the store.
func (s *Store) EachCells(from, to learner.Seq, visit func(learner.Seq, learner.Cells)) error {
	return s.eachText(bucketCells, from, to, func(q learner.Seq, cells string) { visit(q, learner.Cells(cells)) })
}

// eachText calls visit for each value that a bucket has for the records between two
// numbers, both included.
func (s *Store) eachText(bucket []byte, from, to learner.Seq, visit func(q learner.Seq, text string)) error {
	if s.upgraded() != nil {
		return nil // the first release stored none
	}
	after := errors.New("after the last one")
	err := s.view(func(tx *bbolt.Tx) error {
		return scan(tx, s.file, bucket, numberKey(uint64(from)), func(key, sealed []byte) error {
			q := learner.Seq(binary.BigEndian.Uint64(key))
			if q > to {
				return after
			}
			data, err := unseal(key, sealed)
			if err == nil {
				text := string(data)
				callersOwn(func() { visit(q, text) })
			}
			return err
		})
	})
	if err != nil && !errors.Is(err, after) {
		return fmt.Errorf("storage: read what was written of records: %w", err)
	}
	return nil
}

// openCohort makes the next record open a new cohort if the cohort of last, the newest
// slot, takes no more records.
func (s *Store) openCohort(last *slot, in Intake, now time.Time) error {
	if s.leaveCohort(last) {
		return nil
	}
	first, err := s.slot(last.record.Seq - learner.Seq(last.number-1))
	if err != nil {
		return err
	}
	old := in.Age > 0 && now.Sub(time.Unix(0, first.arrived)) >= in.Age
	if old || in.Closed != nil && in.Closed(last.record.Cohort) {
		last.number = math.MaxUint64
	}
	return nil
}

// leaveCohort makes the next record open a new cohort, and returns true, if the cohort of
// last is retired or has contributed to a private sum.
func (s *Store) leaveCohort(last *slot) bool {
	c, retired := last.record.Cohort, s.retired()
	if c > retired && !s.contributed(c) {
		return false
	}
	last.record.Cohort, last.number = max(c, retired), math.MaxUint64
	return true
}

// retired returns the last cohort that the open ledger has retired, 0 if there is none.
func (s *Store) retired() privacy.Cohort {
	s.ledgerMu.Lock()
	defer s.ledgerMu.Unlock()
	if s.ledger == nil {
		return 0
	}
	return s.ledger.Retired()
}

// contributed reports whether the open ledger has a contribution of the cohort.
func (s *Store) contributed(c privacy.Cohort) bool {
	s.ledgerMu.Lock()
	defer s.ledgerMu.Unlock()
	return s.ledger != nil && s.ledger.Epoch(c) > 0
}

// next returns the slot that r takes after this one.
func (at slot) next(r learner.Record, size int, now time.Time) slot {
	r.Seq, r.Cohort = at.record.Seq+1, at.record.Cohort
	if at.number >= uint64(size) {
		r.Cohort++
		return slot{record: r, number: 1, arrived: now.UnixNano()}
	}
	return slot{record: r, number: at.number + 1, arrived: now.UnixNano()}
}

// lastSlot returns the slot of the newest record, or the zero slot if there is none.
func (s *Store) lastSlot() (last slot, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		end, err := unfinished(tx)
		if err != nil {
			return err
		}
		c := tx.Bucket(bucketRecords).Cursor()
		key, sealed := c.Last()
		if end != nil {
			c.Seek(end)
			key, sealed = c.Prev()
		}
		if key != nil {
			last, err = openSlot(key, sealed, nil)
		}
		return err
	})
	return last, err
}

// slot returns the slot of a number that has been given to a record.
func (s *Store) slot(q learner.Seq) (at slot, err error) {
	err = s.view(func(tx *bbolt.Tx) (err error) {
		key := numberKey(uint64(q))
		at, err = openSlot(key, tx.Bucket(bucketRecords).Get(key), nil)
		return err
	})
	return at, err
}

// EachRecord calls visit for the live and the deleted records from a number on, in order
// of arrival. It holds one record in memory at a time: r.X is valid until visit returns.
// A deleted record has its Seq and Cohort, Y = 0 and X nil. A live record that an upgrade
// set aside has an X that is empty but not nil. No record has its cells. A new agent must
// be given all of them, because an empty slot counts as a record. EachRecord returns the
// error of visit, or ErrDamaged. visit must not call the store: a call that writes may
// wait for the end of EachRecord, and so for ever.
func (s *Store) EachRecord(from learner.Seq, visit func(r learner.Record) error) error {
	var x []float64
	err := s.view(func(tx *bbolt.Tx) error {
		end, err := unfinished(tx)
		if err != nil {
			return err
		}
		return scan(tx, s.file, bucketRecords, numberKey(uint64(from)), func(key, sealed []byte) error {
			if end != nil && bytes.Compare(key, end) >= 0 {
				return nil
			}
			at, err := openSlot(key, sealed, x)
			if err != nil {
				return err
			}
			x = at.record.X
			switch {
			case at.erased:
				at.record.X = nil
			case at.aside:
				at.record.X = []float64{}
			}
			callersOwn(func() { err = visit(at.record) })
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("storage: read records: %w", err)
	}
	return nil
}

// Counts says how many records are stored.
type Counts struct {
	Records int                    // live records, without those set aside
	Aside   int                    // live records that an upgrade could not take over
	HeldOut int                    // how many of Records are held out
	Slots   map[privacy.Cohort]int // slots of training records by cohort, deleted ones included
	Newest  learner.Seq            // the number of the newest record that was counted, live or deleted
	Noted   learner.Tally          // counts the cells of Records that were not taken as written
}

// Add counts records that were stored together, the records that they replaced, and the
// notes on their cells. It ignores records that it has counted before.
func (c *Counts) Add(stored, erased []learner.Record, noted learner.Tally) {
	if len(stored) == 0 || stored[0].Seq <= c.Newest {
		return
	}
	for _, r := range stored {
		if r.X == nil {
			c.slot(r)
		} else {
			c.live(r)
		}
	}
	c.Erase(erased, noted)
}

// Erase takes records that were counted before, as [Store.Expire] returns them, out of
// the counts, and adds noted to the notes. Their slots stay.
func (c *Counts) Erase(erased []learner.Record, noted learner.Tally) {
	for _, r := range erased {
		if r.X != nil { // set aside
			c.Aside--
			continue
		}
		c.Records--
		if r.Seq.HeldOut() {
			c.HeldOut--
		}
	}
	c.Noted = c.Noted.Plus(noted)
}

func (c *Counts) live(r learner.Record) {
	c.slot(r)
	c.Records++
	if r.Seq.HeldOut() {
		c.HeldOut++
	}
}

// slot counts the slot of a record, live or deleted.
func (c *Counts) slot(r learner.Record) {
	c.Newest = r.Seq
	if !r.Seq.HeldOut() {
		c.Slots[r.Cohort]++
	}
}

// Count counts the records that [Store.EachRecord] visits.
func (s *Store) Count() (Counts, error) {
	c := Counts{Slots: make(map[privacy.Cohort]int)}
	err := s.EachRecord(0, func(r learner.Record) error {
		switch {
		case r.X == nil:
			c.slot(r)
		case len(r.X) == 0:
			c.Aside++
			c.slot(r)
		default:
			c.live(r)
		}
		return nil
	})
	if err == nil {
		c.Noted, err = s.noted(c.Newest)
	}
	return c, err
}

// noted counts the cells of the records up to a number. It reads the file past bbolt's
// memory map, as [Store.EachRecord] does, so that the cells stay out of memory.
func (s *Store) noted(last learner.Seq) (counted learner.Tally, err error) {
	if s.upgraded() != nil {
		return nil, nil // the first release stored none
	}
	end := numberKey(uint64(last) + 1)
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, s.file, bucketCells, nil, func(key, sealed []byte) error {
			data, err := unseal(key, sealed)
			if err == nil && bytes.Compare(key, end) < 0 {
				counted.AddPacked(data)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("storage: count cells: %w", err)
	}
	return counted, nil
}
