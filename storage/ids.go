package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// Arrival is a record to be stored, and the ID by which its owner knows it.
type Arrival struct {
	learner.Record
	ID string // at most MaxID bytes; "": none
}

// MaxID is the most bytes that an ID has.
const MaxID = 256

// Outcome is what became of an [Arrival].
type Outcome uint8

// The outcomes.
const (
	New      Outcome = iota // it was stored
	Same                    // to the task it is the same as the record that has this ID: at most its cells have changed
	Replaced                // the record that had this ID said something else and was erased; the arrival was stored
)

// Changes is what [Store.Put] did.
type Changes struct {
	Outcomes []Outcome // one for each arrival
	// Stored lists the new records in order, with Seq and Cohort and without cells. If a
	// later arrival replaced one at once, it is an empty slot: its X is nil and its Y is
	// 0.
	Stored []learner.Record
	Erased []learner.Record // the records that were stored before and are erased now, with Seq and Cohort
	// Noted counts the cells that were stored, less those that were erased.
	Noted learner.Tally
}

// Put stores arrivals with their cells, all or none, for example when Admit refuses one.
// Their numbers continue from the highest one ever given. A record joins the newest cohort.
// A new cohort is opened when in says so, and when the ledger is open and the newest cohort
// is retired or has contributed to a private sum: later records take part in a later epoch.
// now is stored as the time of every record. A cohort whose first record has no time,
// because an older version of this program stored it, counts as too old.
//
// If a record has the ID of an arrival already, Put compares the two, one arrival after the
// other. If they are the same to the task, the record stays. If not, Put erases the record's
// content as [Store.DeleteRecords] does and keeps its slot; the arrival gets a new slot,
// and with it a budget of its own. An ID is erased with its record. After ErrPoisoned or
// ErrClosed the changes may be on disk.
func (s *Store) Put(arrivals []Arrival, in Intake, now time.Time) (Changes, error) {
	c, err := s.put(arrivals, in, now)
	if err != nil {
		return Changes{}, fmt.Errorf("storage: append records: %w", err)
	}
	return c, nil
}

func (s *Store) put(arrivals []Arrival, in Intake, now time.Time) (Changes, error) {
	if in.Size < 1 {
		return Changes{}, fmt.Errorf("the cohort size %d is not positive", in.Size)
	}
	if len(arrivals) == 0 {
		return Changes{}, nil
	}
	if err := s.upgraded(); err != nil {
		return Changes{}, err
	}
	for i := range arrivals {
		if err := in.Admit(&arrivals[i].Record); err != nil {
			return Changes{}, fmt.Errorf("record %d of %d does not fit the task: %w; encode it with the task", i+1, len(arrivals), err)
		}
		if n := len(arrivals[i].ID); n > MaxID {
			return Changes{}, fmt.Errorf("the ID of record %d of %d has %d bytes, and the most is %d", i+1, len(arrivals), n, MaxID)
		}
	}
	s.appending.Lock()
	defer s.appending.Unlock()
	last, err := s.lastSlot()
	if err == nil {
		err = s.openCohort(&last, in, now)
	}
	if err != nil {
		return Changes{}, err
	}
	b := &batch{last: last, size: in.Size, now: now, place: make(map[string]int)}
	if err := s.update(func(tx *bbolt.Tx) error { return b.write(tx, arrivals) }); err != nil {
		return Changes{}, err
	}
	if b.overwritten {
		err = s.wipeFreePages()
	}
	return b.changes(), err
}

// batch is what one transaction stores.
type batch struct {
	last slot
	size int
	now  time.Time

	outcomes    []Outcome
	slots       []slot
	ids         []string       // the ID for each of slots
	place       map[string]int // the index in slots, by ID
	erased      []learner.Record
	came, went  learner.Tally
	overwritten bool // free pages hold bytes that were overwritten
}

func (b *batch) write(tx *bbolt.Tx, arrivals []Arrival) error {
	for i := range arrivals {
		o, err := b.take(tx, &arrivals[i])
		if err != nil {
			return err
		}
		b.outcomes = append(b.outcomes, o)
	}
	if err := putSlots(tx, b.slots); err != nil {
		return err
	}
	for i, id := range b.ids {
		if at := &b.slots[i]; id != "" && !at.erased {
			if err := putID(tx, id, &at.record); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batch) take(tx *bbolt.Tx, a *Arrival) (Outcome, error) {
	if a.ID == "" {
		b.add(a)
		return New, nil
	}
	have, found, err := b.find(tx, a.ID)
	if err != nil {
		return 0, err
	}
	now := printOf(&a.Record)
	switch {
	case !found:
		b.add(a)
		return New, nil
	case have.content != now.content:
		if err := b.replace(tx, a, have.seq); err != nil {
			return 0, err
		}
		return Replaced, nil
	case have.cells != now.cells:
		return Same, b.rewrite(tx, a, have.seq)
	}
	return Same, nil
}

// find looks for an ID among the records that the batch stores, and then among those
// stored before.
func (b *batch) find(tx *bbolt.Tx, id string) (p print, found bool, err error) {
	if i, here := b.place[id]; here {
		return printOf(&b.slots[i].record), true, nil
	}
	data, err := get(tx.Bucket(bucketKnown), []byte(id))
	if err != nil || data == nil {
		return print{}, false, err
	}
	p, err = decodePrint(data)
	return p, err == nil, err
}

func (b *batch) add(a *Arrival) {
	b.last = b.last.next(a.Record, b.size, b.now)
	if a.ID != "" {
		b.place[a.ID] = len(b.slots)
	}
	b.slots, b.ids = append(b.slots, b.last), append(b.ids, a.ID)
	b.came.Add(a.Cells)
}

// replace empties the slot of the record with this ID and gives the arrival the next
// slot.
func (b *batch) replace(tx *bbolt.Tx, a *Arrival, q learner.Seq) error {
	if i, here := b.place[a.ID]; here {
		b.went.Add(b.slots[i].record.Cells)
		b.slots[i] = b.slots[i].empty()
		b.add(a)
		return nil
	}
	key := numberKey(uint64(q))
	at, err := openSlot(key, tx.Bucket(bucketRecords).Get(key), nil)
	if err == nil {
		err = b.goes(tx, key)
	}
	if err == nil {
		err = eraseRecord(tx, q)
	}
	if err != nil {
		return err
	}
	b.erased, b.overwritten = append(b.erased, at.empty().record), true
	b.add(a)
	return nil
}

// rewrite replaces the cells of a record and leaves the rest of it alone.
func (b *batch) rewrite(tx *bbolt.Tx, a *Arrival, q learner.Seq) error {
	b.came.Add(a.Cells)
	if i, here := b.place[a.ID]; here {
		b.went.Add(b.slots[i].record.Cells)
		b.slots[i].record.Cells = a.Cells
		return nil
	}
	key := numberKey(uint64(q))
	if err := b.goes(tx, key); err != nil {
		return err
	}
	b.overwritten = true
	if err := put(tx.Bucket(bucketCells), key, []byte(a.Cells)); err != nil {
		return err
	}
	r := a.Record
	r.Seq = q
	return putID(tx, a.ID, &r)
}

// goes counts the stored cells of a record, which are about to be erased.
func (b *batch) goes(tx *bbolt.Tx, key []byte) error {
	cells, err := get(tx.Bucket(bucketCells), key)
	b.went.AddPacked(cells)
	return err
}

func (b *batch) changes() Changes {
	c := Changes{Outcomes: b.outcomes, Stored: make([]learner.Record, len(b.slots)), Erased: b.erased, Noted: b.came.Minus(b.went)}
	for i, at := range b.slots {
		c.Stored[i] = at.record
		c.Stored[i].Cells = ""
	}
	return c
}

// print is kept for each record with an ID, so that a later arrival can be compared with
// the record without reading it: the record's number, and parts of two digests.
type print struct {
	seq     learner.Seq
	content [16]byte // of the values that the agent learns from
	cells   [8]byte  // of the cells that the owner wrote
}

func printOf(r *learner.Record) (p print) {
	p.seq = r.Seq
	words := binary.LittleEndian.AppendUint64(nil, r.Key)
	words = binary.LittleEndian.AppendUint64(words, math.Float64bits(r.Y))
	for _, v := range r.X {
		words = binary.LittleEndian.AppendUint64(words, math.Float64bits(v))
	}
	content := sha256.Sum256(words)
	cells := sha256.Sum256([]byte(r.Cells))
	copy(p.content[:], content[:])
	copy(p.cells[:], cells[:])
	return p
}

// The layout of a print, little endian: seq (8), content (16), cells (8).
const printSize = 8 + 16 + 8

func (p print) encode() []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(p.seq))
	return append(append(data, p.content[:]...), p.cells[:]...)
}

func decodePrint(data []byte) (p print, err error) {
	if len(data) != printSize {
		return p, fmt.Errorf("%w: the note of an ID has the wrong form", ErrDamaged)
	}
	p.seq = learner.Seq(binary.LittleEndian.Uint64(data))
	copy(p.content[:], data[8:])
	copy(p.cells[:], data[24:])
	return p, nil
}

// putID notes the ID of a record.
func putID(tx *bbolt.Tx, id string, r *learner.Record) error {
	if err := put(tx.Bucket(bucketIDs), numberKey(uint64(r.Seq)), []byte(id)); err != nil {
		return err
	}
	return put(tx.Bucket(bucketKnown), []byte(id), printOf(r).encode())
}

// forgetID erases the ID of a record, if it has one.
func forgetID(tx *bbolt.Tx, q learner.Seq) error {
	ids, key := tx.Bucket(bucketIDs), numberKey(uint64(q))
	id, err := get(ids, key)
	if err != nil || id == nil {
		return err
	}
	return errors.Join(tx.Bucket(bucketKnown).Delete(id), ids.Delete(key))
}

// EachID calls visit, in order of arrival, for the IDs of the records between two
// numbers, both included. visit must not call the store.
func (s *Store) EachID(from, to learner.Seq, visit func(q learner.Seq, id string)) error {
	return s.eachText(bucketIDs, from, to, visit)
}
