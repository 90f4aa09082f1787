package node

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"p2pnode/learner"
	"p2pnode/storage"
)

// ownRecords keeps the stored records in memory. Nothing here waits for a fit, and
// counting does not wait until records were read from the disk.
type ownRecords struct {
	store *storage.Store
	task  *learner.Task

	counting sync.Mutex
	counts   storage.Counts // Slots is nil before the first count

	reading sync.Mutex
	read    bool
	rows    ownRows
}

// ownRows holds the records at one moment. The agent and the fits share their memory.
type ownRows struct {
	train, held *learner.Rows // the records to learn from, and those to measure on
	empty       []emptySlot   // in order of arrival
	newest      learner.Seq
}

// emptySlot is the slot of a record that takes part in nothing.
type emptySlot struct {
	learner.Record // without X
	// refused means that an earlier version stored the record and the task does not admit
	// it. Otherwise the record was deleted.
	refused bool
}

// all returns the records as they are now.
func (o *ownRecords) all() (ownRows, error) {
	o.reading.Lock()
	defer o.reading.Unlock()
	if !o.read {
		rows := ownRows{train: new(learner.Rows), held: new(learner.Rows)}
		err := o.store.EachRecord(0, func(r learner.Record) error {
			rows.add(o.task, r)
			return nil
		})
		if err != nil {
			return ownRows{}, fmt.Errorf("node: read the records: %w", err)
		}
		o.read, o.rows = true, rows
	}
	return ownRows{o.rows.train.Snapshot(), o.rows.held.Snapshot(), slices.Clip(o.rows.empty), o.rows.newest}, nil
}

// add adds a record that came after the others, and returns it in memory that is kept. A
// record that the task does not admit, which an earlier version may have stored, gets no
// content: its slot is public and stays, empty, and the personal model ignores the record
// too.
func (w *ownRows) add(t *learner.Task, r learner.Record) learner.Record {
	w.newest = r.Seq
	refused := r.X != nil && t.Admit(&r) != nil
	switch {
	case r.X == nil || refused:
		r.X, r.Y = nil, 0
		w.empty = append(w.empty, emptySlot{r, refused})
		return r
	case r.Seq.HeldOut():
		return w.held.Add(r)
	}
	return w.train.Add(r)
}

// slots returns the records to learn from and the empty slots, whose X is nil, in order
// of arrival. This is what an agent is given.
func (w *ownRows) slots() iter.Seq[learner.Record] {
	return merged(w.train.All(), func(yield func(learner.Record) bool) {
		for _, e := range w.empty {
			if !yield(e.Record) {
				return
			}
		}
	})
}

// each returns all records, with the empty slots among them, in order of arrival.
func (w *ownRows) each() iter.Seq[learner.Record] { return merged(w.slots(), w.held.All()) }

// merged merges two sequences of records that are in order of arrival.
func merged(a, b iter.Seq[learner.Record]) iter.Seq[learner.Record] {
	return func(yield func(learner.Record) bool) {
		next, stop := iter.Pull(b)
		defer stop()
		other, more := next()
		for r := range a {
			for ; more && other.Seq < r.Seq; other, more = next() {
				if !yield(other) {
					return
				}
			}
			if !yield(r) {
				return
			}
		}
		for ; more; other, more = next() {
			if !yield(other) {
				return
			}
		}
	}
}

// refused returns the numbers of the stored records that the task does not admit.
func (w *ownRows) refused() (list []learner.Seq) {
	for _, e := range w.empty {
		if e.refused {
			list = append(list, e.Seq)
		}
	}
	return list
}

// count returns how many records there are.
func (o *ownRecords) count() (storage.Counts, error) {
	o.counting.Lock()
	defer o.counting.Unlock()
	if o.counts.Slots == nil {
		c, err := o.store.Count()
		if err != nil {
			return c, fmt.Errorf("node: %w", err)
		}
		o.counts = c
	}
	c := o.counts
	c.Slots = maps.Clone(c.Slots)
	return c, nil
}

// change notes records that were just stored together, their cells, and the records that
// they replaced. It returns the new ones in memory that may be kept. A concurrent read or
// count may have seen the change already.
func (o *ownRecords) change(c storage.Changes) []learner.Record {
	o.counting.Lock()
	if o.counts.Slots != nil && len(c.Stored) > 0 {
		o.counts.Add(c.Stored, c.Erased, c.Noted)
	} else if len(c.Noted) > 0 {
		o.counts.Slots = nil // only cells were written anew: the next call of count counts again
	}
	o.counting.Unlock()
	o.reading.Lock()
	defer o.reading.Unlock()
	if !o.read {
		return c.Stored
	}
	if len(c.Erased) > 0 {
		o.rows.drop(c.Erased)
	}
	kept := slices.Clone(c.Stored)
	for i, r := range c.Stored {
		if r.Seq > o.rows.newest {
			kept[i] = o.rows.add(o.task, r)
		}
	}
	return kept
}

// expired notes records that were just erased. They were counted before.
func (o *ownRecords) expired(c storage.Changes) {
	o.counting.Lock()
	if o.counts.Slots != nil {
		o.counts.Erase(c.Erased, c.Noted)
	}
	o.counting.Unlock()
	o.reading.Lock()
	defer o.reading.Unlock()
	if o.read {
		o.rows.drop(c.Erased)
	}
}

// drop notes records that were just deleted.
func (o *ownRecords) drop(deleted []learner.Seq) {
	defer o.recount()
	o.reading.Lock()
	defer o.reading.Unlock()
	if !o.read {
		return
	}
	var gone []learner.Record
	wanted := make(map[learner.Seq]bool, len(deleted))
	for _, q := range deleted {
		wanted[q] = true
	}
	for r := range o.rows.each() {
		if wanted[r.Seq] {
			gone = append(gone, r)
		}
	}
	o.rows.drop(gone)
}

// drop empties the slots of records whose Seq and Cohort are known.
func (w *ownRows) drop(records []learner.Record) {
	numbers, gone := make([]learner.Seq, len(records)), make(map[learner.Seq]bool, len(records))
	for i, r := range records {
		numbers[i], gone[r.Seq] = r.Seq, true
	}
	w.empty = slices.DeleteFunc(slices.Clone(w.empty), func(e emptySlot) bool { return gone[e.Seq] }) // slots of refused records
	for _, r := range records {
		w.empty = append(w.empty, emptySlot{Record: learner.Record{Seq: r.Seq, Cohort: r.Cohort}})
	}
	slices.SortFunc(w.empty, func(a, b emptySlot) int { return cmp.Compare(a.Seq, b.Seq) })
	w.train.Drop(numbers)
	w.held.Drop(numbers)
}

// forget makes the next use read the records again.
func (o *ownRecords) forget() {
	o.trim()
	o.recount()
}

// recount counts the records again. Nobody may store others meanwhile. Until it has
// finished, count returns the previous counts.
func (o *ownRecords) recount() {
	counts, err := o.store.Count()
	if err != nil {
		counts = storage.Counts{} // the next call of count counts, and returns the error
	}
	o.counting.Lock()
	defer o.counting.Unlock()
	o.counts = counts
}

// trim frees the memory of the records.
func (o *ownRecords) trim() {
	o.reading.Lock()
	defer o.reading.Unlock()
	o.read, o.rows = false, ownRows{}
}
