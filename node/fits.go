package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// errClosed is what a fit that was asked for after Close ends with.
var errClosed = errors.New("node: closed")

// fits keeps the newest personal model, and makes the next one in a goroutine of its
// own when it is asked for: the time that takes depends on the data, so it is never
// spent where a message, or the owner, waits for something else.
type fits struct {
	mu      sync.Mutex
	changes uint64 // of the records, so far
	begun   uint64 // fits, so far
	current *fit   // under way; nil: none
	newest  *fitted
	took    time.Duration // by the last one that came to its end
	ended   FitStats
	closed  bool
	// compared holds a value after a fit came to its end.
	compared chan struct{}
}

// fit is one under way.
type fit struct {
	number uint64
	cancel context.CancelFunc
	done   chan struct{} // closed at its end
	err    error         // valid then
}

// fitted is a model and what it was fitted to.
type fitted struct {
	Fitted
	number  uint64 // of the fit
	changes uint64
	prior   []float64
	whole   bool              // the fit came to its end
	point   *api.BenefitPoint // of the comparison then; nil: there is none
}

// outdated makes the newest model one of earlier records or of an earlier population, and
// recordsDeleted of earlier records: what was deleted is forgotten at once, and the models
// that know of it, finished or not, are dropped.
func (f *fits) outdated() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes++
}

func (f *fits) recordsDeleted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes++
	f.newest = nil
	if f.current != nil {
		f.current.cancel()
	}
}

// told says that a fit came to its end.
func (f *fits) told() {
	select {
	case f.compared <- struct{}{}:
	default:
	}
}

// lastTook is how long the last fit took.
func (f *fits) lastTook() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.took
}

// FitStats counts the fits of personal models since [Open].
type FitStats struct {
	Ended   uint64
	Failed  uint64 // of them
	Seconds float64
	Last    time.Time // when the newest model's fit came to its end; zero: there is none
}

// note notes a fit that came to its end. The caller holds f.mu.
func (f *fits) note(took time.Duration, err error) {
	f.took = took
	f.ended.Ended++
	f.ended.Seconds += took.Seconds()
	if err != nil {
		f.ended.Failed++
	}
}

func (f *fits) stats() FitStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.ended
	if f.newest != nil {
		s.Last = f.newest.At
	}
	return s
}

// close ends the fit under way and all later ones, and waits for it.
func (f *fits) close() {
	f.mu.Lock()
	f.closed = true
	current := f.current
	if current != nil {
		current.cancel()
	}
	f.mu.Unlock()
	if current != nil {
		<-current.done
	}
}

// offer makes m the newest model, one that is not whole only for want of another.
func (f *fits) offer(ctx context.Context, m fitted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	better := m.whole || f.newest == nil || !f.newest.whole
	if better && ctx.Err() == nil {
		f.newest = &m
	}
}

// guarded turns a panic of f into an error: a node goes on without a model.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("node: the fit of the personal model: %w", NewDefect(r))
		}
	}()
	return f()
}

// Extend makes of a record of the task one that Theta predicts.
func (f *Fitted) Extend(t *learner.Task, r learner.Record) learner.Record {
	if f.Known == nil {
		return r
	}
	return f.Known.Extend(t, r)
}

// Score measures Theta on records of the task that are in no private sum.
func (f *Fitted) Score(t *learner.Task, records iter.Seq[learner.Record]) learner.Score {
	return t.Score(f.Theta, func(yield func(learner.Record) bool) {
		for r := range records {
			if !yield(f.Extend(t, r)) {
				return
			}
		}
	})
}

// Fitted is a personal model and what it knows.
type Fitted struct {
	learner.PersonalModel
	// Known is what private sums told of all people, nil if nothing: Theta is a model of
	// records as it extends them.
	Known *learner.Known
	// Records is how many of the stored records it was fitted to or, the held-out
	// ones, set aside from; 0: none, it is what a node without records has.
	Records int
	// Comparison measures it on the held-out records; nil without any, and before the fit
	// has come to its end.
	Comparison *api.Comparison
	At         time.Time // when the fit came to its end; zero before
	// Current says that it knows all that was stored, and heard of the neighbours,
	// before it was asked for.
	Current bool
}
