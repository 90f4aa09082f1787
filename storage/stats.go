package storage

import (
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// Stats describes the state of the file and the work done on it. Counts begin at [Open].
type Stats struct {
	Size    int64 // of the file, in bytes
	Free    int64 // bytes of it that are free and are used before the file grows
	Readers int   // read transactions that are open
	Reads   uint64
	// Database is how long commits took. Each is measured from the end of the changes in
	// memory until the file was synchronised, which a commit does twice. Anchor says how
	// long writes of the ledger's anchor took.
	Database, Anchor Durations
	// Rearranged is how long bbolt took to move keys between pages during those commits.
	// Allocated is how many bytes of pages it filled.
	Rearranged time.Duration
	Allocated  uint64
	Failed     bool // a write failed, so nothing is written any more
}

// Stats returns the present numbers. It reads no record and waits for no commit. It waits
// only while the file is replaced or its unused pages are overwritten.
func (s *Store) Stats() (Stats, error) {
	s.reading.RLock()
	defer s.reading.RUnlock()
	if s.broken.Load() {
		return Stats{}, ErrDamaged
	}
	info, err := s.file.Stat()
	if err != nil {
		return Stats{}, fmt.Errorf("storage: %w", err)
	}
	b := s.db.Stats()
	t := &b.TxStats
	return Stats{
		Size:    info.Size(),
		Free:    int64(b.FreePageN+b.PendingPageN) * s.page,
		Readers: b.OpenTxN, Reads: uint64(b.TxN),
		Database: s.commits.read(), Anchor: s.anchors.read(),
		Rearranged: t.GetSpillTime() + t.GetRebalanceTime(),
		Allocated:  uint64(t.GetPageAlloc()),
		Failed:     s.failed.Load() != nil,
	}, nil
}

// durationBounds are the upper bounds of the buckets of [Durations], in seconds. They
// reach from a fast disk to a disk so slow that rounds are late.
var durationBounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}

// Durations says how long something took, over all the times it was done.
type Durations struct {
	Count   uint64
	Seconds float64            // the sum of all
	AtMost  map[float64]uint64 // how many took at most that many seconds
}

// stopwatch collects [Durations]. Its zero value is ready.
type stopwatch struct {
	buckets [len(durationBounds) + 1]atomic.Uint64
	nanos   atomic.Int64
}

func (w *stopwatch) took(d time.Duration) {
	i := 0
	for i < len(durationBounds) && d.Seconds() > durationBounds[i] {
		i++
	}
	w.buckets[i].Add(1)
	w.nanos.Add(int64(d))
}

func (w *stopwatch) read() Durations {
	d := Durations{Seconds: time.Duration(w.nanos.Load()).Seconds(), AtMost: make(map[float64]uint64, len(durationBounds))}
	for i := range w.buckets {
		d.Count += w.buckets[i].Load()
		if i < len(durationBounds) {
			d.AtMost[durationBounds[i]] = d.Count
		}
	}
	return d
}

// commit runs fn in a write transaction of bbolt, and notes how long the commit took.
func (s *Store) commit(fn func(*bbolt.Tx) error) error {
	var start time.Time
	err := s.db.Update(func(tx *bbolt.Tx) error {
		err := fn(tx)
		start = time.Now()
		return err
	})
	if err == nil {
		s.commits.took(time.Since(start))
	}
	return err
}
