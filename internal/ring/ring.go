// Package ring keeps the newest of a sequence in bounded memory, for readers who catch
// up and then follow. Nobody waits for a slow reader: it loses values that are no
// longer kept, and is told so.
package ring

import "sync"

// Ring keeps the newest values. Its methods are safe for concurrent use.
type Ring[T any] struct {
	mu    sync.Mutex
	size  int
	kept  []T           // the value of number i is at i modulo size
	added uint64        // number of values added so far
	more  chan struct{} // closed by the next Add; nil: nobody waits
}

// New returns a ring that keeps that many values.
func New[T any](size int) *Ring[T] { return &Ring[T]{size: size} }

// Add adds what value returns for its number: 0 for the first, and one more for
// each. It never waits for readers.
func (r *Ring[T]) Add(value func(number uint64) T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := value(r.added)
	if len(r.kept) < r.size {
		r.kept = append(r.kept, v)
	} else {
		r.kept[r.added%uint64(r.size)] = v
	}
	r.added++
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// From returns the kept values from that number on, and the number of the first of them
// or, if there are none, of the next value to come. The channel is closed when there is
// another value.
func (r *Ring[T]) From(number uint64) (values []T, first uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = min(max(number, r.added-uint64(len(r.kept))), r.added)
	for n := first; n < r.added; n++ {
		values = append(values, r.kept[n%uint64(r.size)])
	}
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return values, first, r.more
}
