package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"p2pnode/learner"
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
	closed  bool
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
	whole   bool // the fit came to its end
}

// recordsAdded and recordsDeleted make the newest model one of earlier records. What
// was deleted is forgotten at once: the models that know of it, finished or not, are dropped.
func (f *fits) recordsAdded() {
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

// lastTook is how long the last fit took.
func (f *fits) lastTook() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.took
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

// await returns a model that knows every record, and the prior or a later one, or
// the error of ctx if that ends first.
func (n *Node) await(ctx context.Context, prior []float64) (Fitted, error) {
	f := &n.fits
	f.mu.Lock()
	defer f.mu.Unlock()
	begun := f.begun
	for {
		if m := f.newest; m != nil && m.whole && (m.number > begun || m.changes == f.changes && slices.Equal(m.prior, prior)) {
			known := m.Fitted
			known.Current = true
			return known, nil
		}
		if f.closed {
			return Fitted{}, errClosed
		}
		if f.current == nil {
			n.beginFit()
		}
		current := f.current
		f.mu.Unlock()
		select {
		case <-current.done:
		case <-ctx.Done():
		}
		f.mu.Lock()
		if err := ctx.Err(); err != nil {
			return Fitted{}, err
		}
		if current.number > begun && current.err != nil {
			return Fitted{}, current.err
		}
	}
}

// beginFit starts a fit of what is stored and heard. The caller holds fits.mu.
func (n *Node) beginFit() {
	f := &n.fits
	f.begun++
	ctx, cancel := context.WithCancel(context.Background())
	current := &fit{number: f.begun, cancel: cancel, done: make(chan struct{})}
	f.current = current
	changes, start := f.changes, time.Now()
	go func() {
		err := guarded(func() error { return n.fit(ctx, fitted{number: current.number, changes: changes}) })
		f.mu.Lock()
		defer f.mu.Unlock()
		cancel()
		current.err, f.current, f.took = err, nil, time.Since(start)
		close(current.done)
	}()
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

// fit fits a model step by step, and offers what there is of it after each.
func (n *Node) fit(ctx context.Context, m fitted) error {
	prior, err := n.prior()
	if err != nil {
		return err
	}
	rows, err := n.records.all()
	if err != nil {
		return err
	}
	m.prior, m.Records = prior, rows.train.Len()+rows.held.Len()
	for model := range learner.PersonalModels(n.files.Task, rows.train, prior) {
		if ctx.Err() != nil {
			return nil
		}
		if m.PersonalModel = model; model.Theta != nil {
			n.fits.offer(ctx, m)
		}
	}
	m.whole, m.At, m.Comparison = true, time.Now(), n.compare(m.PersonalModel, rows)
	n.fits.offer(ctx, m)
	return nil
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
