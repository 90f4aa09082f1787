package mobile

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"p2pnode/node"
)

const (
	// userWait is how long a call waits for an answer while the app's user waits. The
	// rest of the 50 ms is left for everything else, including a busy processor.
	userWait = 30 * time.Millisecond
	// fitPause is the pause after a fit, as a multiple of the time that the fit took:
	// the fits of a node that always learns something new then take a tenth of one
	// processor.
	fitPause = 9
	// failedPause is how long nothing is fitted after a fit that failed.
	failedPause = 10 * time.Second
	// lookEvery is how often a first fit under way is asked for its best model so far.
	lookEvery = 100 * time.Millisecond
)

// models keeps the newest personal model where nothing can delay reading it. One
// goroutine, run, makes a newer one on request.
type models struct {
	fitted func(context.Context) (node.Fitted, error) // calls [node.Node.Fitted]
	made   func(node.Fitted)                          // called with a newer model that is complete

	wanted chan struct{}
	urgent chan struct{} // ends the pause after a fit
	took   atomic.Int64  // time of the last fit, or of the one under way so far, in nanoseconds

	mu      sync.Mutex
	newest  node.Fitted
	dropped uint64        // number of times that earlier models became unusable
	changed chan struct{} // closed and replaced when there is a newer model
}

func newModels(fitted func(context.Context) (node.Fitted, error), made func(node.Fitted)) *models {
	return &models{
		fitted: fitted, made: made,
		wanted: make(chan struct{}, 1), urgent: make(chan struct{}, 1), changed: make(chan struct{}),
	}
}

// want asks for a model that knows everything.
func (m *models) want() { signal(m.wanted) }

// signal puts a value into a channel of capacity 1 unless one is waiting there.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// get returns the newest model. If that is not good enough, it asks for another one and
// waits at most userWait for it, provided that fits are that fast.
func (m *models) get(good func(node.Fitted) bool) node.Fitted {
	newest, changed := m.now()
	if good(newest) {
		return newest
	}
	m.want()
	if time.Duration(m.took.Load()) > userWait {
		return newest
	}
	late := time.NewTimer(userWait)
	defer late.Stop()
	for {
		select {
		case <-changed:
			if newest, changed = m.now(); good(newest) {
				return newest
			}
		case <-late.C:
			return newest
		}
	}
}

func (m *models) now() (newest node.Fitted, changed chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest, m.changed
}

// take asks for a model and makes it the newest, unless drop was called meanwhile. more
// reports whether it says more than the one before.
func (m *models) take(ctx context.Context) (f node.Fitted, more bool, err error) {
	m.mu.Lock()
	dropped := m.dropped
	m.mu.Unlock()
	if f, err = m.fitted(ctx); err != nil {
		return f, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped != dropped {
		return f, false, nil
	}
	more = !m.newest.Current || &m.newest.Theta[0] != &f.Theta[0]
	m.newest = f
	close(m.changed)
	m.changed = make(chan struct{})
	return f, more, nil
}

// glance takes the model that the node has now, without waiting for a fit.
func (m *models) glance() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := m.take(ctx)
	return err
}

// drop replaces the earlier models, which must not be used any more, by the one that
// the node has now, and asks for a new one at once.
func (m *models) drop() error {
	m.mu.Lock()
	m.dropped++
	m.mu.Unlock()
	err := m.glance()
	m.want()
	signal(m.urgent)
	return err
}

// run makes a new model whenever one is wanted, until ctx ends. It calls failed if that
// fails.
func (m *models) run(ctx context.Context, failed func(error)) {
	for {
		select {
		case <-m.wanted:
		case <-ctx.Done():
			return
		}
		took, err := m.refresh(ctx)
		pause := fitPause * took
		if err != nil && ctx.Err() == nil {
			failed(err)
			pause = max(pause, failedPause)
		}
		select {
		case <-time.After(pause):
		case <-m.urgent:
		case <-ctx.Done():
			return
		}
	}
}

// refresh waits for a model that knows everything. While no fitted model exists at all,
// it takes the first fit's best so far.
func (m *models) refresh(ctx context.Context) (took time.Duration, err error) {
	began, done := time.Now(), make(chan error, 1)
	go func() { done <- m.whole(ctx) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			took := time.Since(began)
			m.took.Store(int64(took))
			return took, err
		case <-look.C:
			m.took.Store(int64(time.Since(began)))
			if newest, _ := m.now(); !newest.Current {
				_ = m.glance() // the fit itself reports what is wrong
			}
		}
	}
}

func (m *models) whole(ctx context.Context) (err error) {
	defer guard(&err)
	f, more, err := m.take(ctx)
	if more && f.Current {
		m.made(f)
	}
	return err
}
