package mobile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// writeDelay is how long an example waits for others before it is written, so that one
// fsync serves them all.
const writeDelay = 500 * time.Millisecond

// refusedPause is how long examples wait that there was no room for, unless another write
// tries again before.
const refusedPause = time.Minute

// queue holds the examples that wait to be written, and counts those that are written.
type queue struct {
	store   func([]learner.Record) error // writes all or none, and returns when they are on disk
	written func(stored, queued int)     // called after every write
	failure func(error)                  // called when a write fails, and at the first of several that there is no room for
	count   func() int                   // number of stored examples
	limit   int                          // bound on the waiting ones
	most    int                          // bound on all

	writing chan struct{} // of capacity 1; full while records are written, so that they keep their order: see lock

	mu      sync.Mutex
	waiting []learner.Record // oldest first, including those that are being written
	stored  int
	storing int   // number of examples that append or appendFrom is storing
	failed  error // nothing can be written any more: see [storage.ErrPoisoned]
	refused error // there was no room for the last write, of which nothing was written; nil: there was
	added   chan struct{}
}

// add queues a record.
func (q *queue) add(r learner.Record) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed != nil {
		return q.failed
	}
	if len(q.waiting) >= q.limit && q.refused != nil {
		return coded(CodeFull, fmt.Errorf("%d examples wait to be written already: %w", len(q.waiting), q.refused))
	}
	if len(q.waiting) >= q.limit {
		return coded(CodeFull, fmt.Errorf("%d examples wait to be written already: wait a second, or for Flush", len(q.waiting)))
	}
	if err := q.room(1); err != nil {
		return err
	}
	q.waiting = append(q.waiting, r)
	signal(q.added)
	return nil
}

// room returns an error if n more examples are too many. The caller holds q.mu.
func (q *queue) room(n int) error {
	have := q.stored + q.storing + len(q.waiting)
	if n > q.most-have {
		return coded(CodeFull, fmt.Errorf("the node has %d examples and keeps at most %d, all of them in memory: delete some, or raise MaxExamples", have, q.most))
	}
	return nil
}

// lock waits until nobody else writes. It fails with the error of ctx if that ends first.
func (q *queue) lock(ctx context.Context) error {
	select {
	case q.writing <- struct{}{}:
		return nil
	default:
	}
	select {
	case q.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *queue) unlock() { <-q.writing }

// write writes the waiting examples. It waits for another write until ctx ends.
func (q *queue) write(ctx context.Context) error {
	if err := q.lock(ctx); err != nil {
		return err
	}
	defer q.unlock()
	return q.writeWaiting()
}

// append writes the waiting examples, and then the records, all or none. It waits as write
// does.
func (q *queue) append(ctx context.Context, records []learner.Record) error {
	if err := q.lock(ctx); err != nil {
		return err
	}
	defer q.unlock()
	if err := q.writeWaiting(); err != nil || len(records) == 0 {
		return err
	}
	q.mu.Lock()
	err := q.room(len(records))
	if err == nil {
		q.storing = len(records)
	}
	q.mu.Unlock()
	if err != nil {
		return err
	}
	err = q.store(records)
	return q.done(err, func() { q.storing = 0 })
}

// appendFrom writes the waiting examples, and then lets store write more, all or none.
// store asks for room for each example. It waits as write does.
func (q *queue) appendFrom(ctx context.Context, store func(room func() error) error) error {
	if err := q.lock(ctx); err != nil {
		return err
	}
	defer q.unlock()
	if err := q.writeWaiting(); err != nil {
		return err
	}
	err := store(func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		err := q.room(1)
		if err == nil {
			q.storing++
		}
		return err
	})
	if err != nil { // which may be an error of reading the examples
		q.mu.Lock()
		defer q.mu.Unlock()
		q.storing = 0
		return err
	}
	return q.done(nil, func() { q.storing = 0 })
}

// writeWaiting writes the waiting examples. The caller has called lock.
func (q *queue) writeWaiting() error {
	q.mu.Lock()
	batch, failed := q.waiting, q.failed
	q.mu.Unlock()
	if failed != nil || len(batch) == 0 {
		return failed
	}
	err := q.store(batch)
	return q.done(err, func() {
		if err == nil {
			q.waiting = append([]learner.Record(nil), q.waiting[len(batch):]...)
		}
	})
}

// done notes the result of a write. What there was no room for waits for another attempt.
// A store that failed otherwise writes nothing more, so there is no second attempt: the
// waiting examples stay, and [Node.Stop] counts them.
func (q *queue) done(err error, note func()) error {
	q.mu.Lock()
	note()
	if err == nil {
		q.stored = q.count()
	}
	known := q.refused != nil // and told
	q.refused = nil
	if err != nil {
		err = fmt.Errorf("examples cannot be written: %w", err)
		if errors.Is(err, api.ErrFull) {
			q.refused = err
		} else {
			q.failed = err
		}
	}
	told := known && q.failed == nil
	stored, queued := q.stored, len(q.waiting)
	q.mu.Unlock()
	switch {
	case err == nil:
		q.written(stored, queued)
	case !told:
		q.failure(err)
	}
	return err
}

// recount counts the stored examples again, because some may have been removed. During a write
// those that it has stored may count twice until it ends.
func (q *queue) recount() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stored = q.count()
}

// lengths returns how many examples are stored and how many wait.
func (q *queue) lengths() (stored, queued int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stored, len(q.waiting)
}

// run writes the waiting examples again and again, and a last time when ctx ends.
func (q *queue) run(ctx context.Context) {
	var again <-chan time.Time // nil: there was room for the last write
	for ctx.Err() == nil {
		select {
		case <-q.added:
		case <-again:
		case <-ctx.Done():
		}
		select {
		case <-time.After(writeDelay):
		case <-ctx.Done():
		}
		again = nil
		if err := q.write(context.WithoutCancel(ctx)); errors.Is(err, api.ErrFull) { // q.failure reports the error
			again = time.After(refusedPause)
		}
	}
}

// close writes what was added since run ended, or says how many examples are lost.
func (q *queue) close() error {
	err := q.write(context.Background())
	if _, queued := q.lengths(); err != nil && queued > 0 {
		return fmt.Errorf("%d examples were not written: %w", queued, err)
	}
	return nil
}
