package node

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"p2pnode/learner"
	"p2pnode/storage"
)

// ownRecords is what is kept of the stored records in memory. Nothing here waits for
// a fit, and who only counts does not wait for who reads them from the disk.
type ownRecords struct {
	store *storage.Store
	task  *learner.Task

	counting sync.Mutex
	counts   storage.Counts // Slots is nil before they were counted

	reading       sync.Mutex
	read          bool
	live, deleted []learner.Record // appended to, never changed
	refused       []learner.Seq    // of deleted, in order of arrival: see setAside
}

// all returns the records, and the deleted ones that keep their slots. Those that are
// refused are among the latter.
func (o *ownRecords) all() (live, deleted []learner.Record, err error) {
	o.reading.Lock()
	defer o.reading.Unlock()
	if !o.read {
		if o.live, o.deleted, err = o.store.Records(); err != nil {
			return nil, nil, fmt.Errorf("node: read the records: %w", err)
		}
		o.setAside()
		o.read = true
	}
	return o.live, o.deleted, nil
}

// setAside takes the content of records that the task does not admit: an earlier
// version stored what it was given. Their slots are public and stay, empty, and the
// personal model does not know of them either.
func (o *ownRecords) setAside() {
	o.refused = nil
	o.live = slices.DeleteFunc(o.live, func(r learner.Record) bool {
		if o.task.Admit(&r) == nil {
			return false
		}
		o.refused = append(o.refused, r.Seq)
		o.deleted = append(o.deleted, learner.Record{Seq: r.Seq, Cohort: r.Cohort})
		return true
	})
}

// unfit returns the records that are stored and refused, in order of arrival.
func (o *ownRecords) unfit() ([]learner.Seq, error) {
	_, _, err := o.all()
	o.reading.Lock()
	defer o.reading.Unlock()
	return o.refused, err
}

// count returns how many there are.
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

// add takes note of records that were just stored together, and of their cells. Who read
// or counted meanwhile may have seen them.
func (o *ownRecords) add(stored []learner.Record, noted learner.Tally) {
	o.counting.Lock()
	if o.counts.Slots != nil {
		o.counts.Add(stored, noted)
	}
	o.counting.Unlock()
	o.reading.Lock()
	defer o.reading.Unlock()
	if !o.read {
		return
	}
	for _, r := range stored {
		if n := len(o.live); n == 0 || r.Seq > o.live[n-1].Seq {
			o.live = append(o.live, r)
		}
	}
}

// forget makes the next use read the records again.
func (o *ownRecords) forget() {
	o.counting.Lock()
	o.counts = storage.Counts{}
	o.counting.Unlock()
	o.trim()
}

// trim gives the memory of the records back.
func (o *ownRecords) trim() {
	o.reading.Lock()
	defer o.reading.Unlock()
	o.read, o.live, o.deleted, o.refused = false, nil, nil, nil
}
