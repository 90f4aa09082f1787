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

// errClosed is the error of a fit that was asked for after Close.
var errClosed = errors.New("node: closed")

// fits keeps the newest personal model, and makes the next one in a goroutine of its own
// when somebody asks for it. The time that a fit takes depends on the data, so neither a
// message nor another question of the owner may wait for it.
type fits struct {
	mu      sync.Mutex
	changes uint64 // how often the records, or what is known of the population, have changed
	begun   uint64 // how many fits were begun
	current *fit   // the fit under way; nil: none
	newest  *fitted
	took    time.Duration // how long the last finished fit took
	ended   FitStats
	closed  bool
	// compared holds a value after a fit was finished.
	compared chan struct{}
}

// fit is a fit under way.
type fit struct {
	number uint64
	cancel context.CancelFunc
	done   chan struct{} // closed at the end of the fit
	err    error         // valid once done is closed
}

// fitted is a model, with what it was fitted to.
type fitted struct {
	Fitted
	number  uint64 // number of the fit
	changes uint64
	prior   []float64
	whole   bool              // the fit was finished
	point   *api.BenefitPoint // the comparison of a finished fit; nil: there is none
}

// outdated notes that the newest model was fitted to earlier records or to an earlier
// population. recordsDeleted notes that records were deleted: it drops the models that
// know of them, finished or not, because what was deleted is forgotten at once.
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

// told signals that a fit was finished.
func (f *fits) told() {
	select {
	case f.compared <- struct{}{}:
	default:
	}
}

// lastTook returns how long the last fit took.
func (f *fits) lastTook() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.took
}

// FitStats counts the fits of personal models since [Open].
type FitStats struct {
	Ended   uint64
	Failed  uint64 // how many of Ended failed
	Seconds float64
	Last    time.Time // when the fit of the newest model was finished; zero: there is none
}

// note counts a finished fit. The caller holds f.mu.
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

// close ends the fit under way, waits for it, and prevents later ones.
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

// offer makes m the newest model. An unfinished model does not replace a finished one.
func (f *fits) offer(ctx context.Context, m fitted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	better := m.whole || f.newest == nil || !f.newest.whole
	if better && ctx.Err() == nil {
		f.newest = &m
	}
}

// guarded turns a panic of f into an error: the node continues without a model.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("node: the fit of the personal model: %w", api.NewDefect(r))
		}
	}()
	return f()
}

// Extend turns a record of the task into one that Theta can predict.
func (f *Fitted) Extend(t *learner.Task, r learner.Record) learner.Record {
	if f.Known == nil {
		return r
	}
	return f.Known.Extend(t, r)
}

// Score measures Theta on records of the task. They must not be in a private sum.
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
	// Known is what private sums told of all people; nil if nothing. If it is set, Theta
	// is a model of records that Known has extended.
	Known *learner.Known
	// Records is how many stored records were used, to fit the model to or, the held-out
	// ones, to measure it on. 0 means that there are none, and the model is that of a
	// node without records.
	Records int
	// Comparison measures the model on the held-out records; nil if there are none, and
	// before the fit is finished.
	Comparison *api.Comparison
	At         time.Time // when the fit was finished; zero before
	// Current says that the model knows everything that was stored, and that neighbours
	// had sent, before somebody asked for it.
	Current bool
}
