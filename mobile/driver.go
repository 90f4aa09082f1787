package mobile

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The states of a node.
const (
	stateOff      = "off"
	stateWaiting  = "waiting"
	statePaused   = "paused"
	stateStarting = "starting"
	stateRunning  = "running"
	stateFailed   = "failed"
)

// state is what the event "state" says.
type state struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// failed is the state after a failure.
func failed(err error) state { return state{stateFailed, inApp(err, errorCode(err))} }

// The pauses between attempts to run after failures.
const (
	firstPause = time.Second
	longPause  = 5 * time.Minute
)

var errEnded = errors.New("the network ended by itself")

// driver makes what runs follow what is wanted: one goroutine, drive, begins and ends
// the runs; the methods say what is wanted and may be called from anywhere.
type driver struct {
	config *Config
	run    func(context.Context) error // takes part in the network until the context ends
	ready  func(context.Context) error // returns when run does take part
	post   func(state)                 // tells the app

	mu          sync.Mutex
	changed     chan struct{} // closed, and replaced, at every change of what follows
	started     bool
	paused      bool
	pauseReason string
	slices      map[*slice]bool // of Train, under way
	around      surroundings
	current     *run  // nil: nothing runs
	failure     error // of the last run
	final       bool  // it can only be mended by opening the directory again
	over        bool  // the node stops
	failures    int   // in a row
	retry       time.Time
	told        state
	online      time.Duration // in the network, in runs that have ended
}

// run is one time in the network.
type run struct {
	end    context.CancelFunc
	began  time.Time
	online time.Time // since when it takes part; zero: not yet
	ending bool      // it was told to end
}

func newDriver(c *Config, run, ready func(context.Context) error, post func(state)) *driver {
	return &driver{
		config: c, run: run, ready: ready, post: post,
		changed: make(chan struct{}), slices: make(map[*slice]bool), around: unknownSurroundings(), told: state{State: stateOff},
	}
}

// update changes the driver's state, tells the app, and wakes the goroutines that wait
// for changes.
func (d *driver) update(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	d.tell()
	close(d.changed)
	d.changed = make(chan struct{})
}

// await waits until what it is given holds, and fails when ctx has ended before.
func (d *driver) await(ctx context.Context, holds func() bool) error {
	for {
		d.mu.Lock()
		done, changed := holds(), d.changed
		d.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drive begins and ends runs until ctx ends, and returns when none is under way.
func (d *driver) drive(ctx context.Context) {
	timer := time.NewTimer(longPause)
	defer timer.Stop()
	for ctx.Err() == nil {
		changed, pause := d.reconcile(ctx)
		timer.Reset(pause)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	_ = d.await(context.WithoutCancel(ctx), func() bool { return d.current == nil }) // no deadline, so no error
}

// reconcile begins a run or ends it, and says how long that stays right if nothing
// changes.
func (d *driver) reconcile(ctx context.Context) (changed chan struct{}, pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	want := d.wanted() && d.obstacle() == "" && !d.final
	pause = time.Until(d.retry)
	switch {
	case want && d.current == nil && pause <= 0:
		d.begin(ctx)
	case !want && d.current != nil:
		d.current.end()
		d.current.ending = true
	}
	if pause <= 0 || !want {
		pause = longPause
	}
	d.tell()
	return d.changed, pause
}

// tell posts the state if it is a new one. The caller holds d.mu.
func (d *driver) tell() {
	if s := d.state(); s != d.told {
		d.told = s
		d.post(s)
	}
}

// begin starts a run. The caller holds d.mu.
func (d *driver) begin(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	r := &run{end: end, began: time.Now()}
	d.current = r
	var greeting sync.WaitGroup
	greeting.Go(func() {
		if d.ready(ctx) == nil {
			d.update(func() { r.online = time.Now() })
		}
	})
	go func() {
		err := unpanicked(func() error { return d.run(ctx) })
		purpose := ctx.Err() != nil
		end()
		greeting.Wait()
		d.ended(r, purpose, err)
	}()
}

// ended notes that a run has ended: on purpose, or by an error.
func (d *driver) ended(r *run, purpose bool, err error) {
	if err == nil && !purpose {
		err = errEnded
	}
	d.update(func() {
		d.online, d.current = d.onlineFor(), nil
		switch {
		case d.final: // for another reason, before
		case lasting(err) || errorCode(err) == CodeDefect:
			d.failure, d.final = err, true
		case purpose:
			d.failure, d.failures = nil, 0
		default:
			if time.Since(r.began) > longPause {
				d.failures = 0
			}
			d.failure = err
			d.retry = time.Now().Add(min(longPause, firstPause<<min(d.failures, 16)))
			d.failures++
		}
	})
}

// wanted reports whether the app wants the node to take part. The caller holds d.mu.
func (d *driver) wanted() bool { return !d.over && (d.started && !d.paused || len(d.slices) > 0) }

// obstacle is why the node may not take part, or "". The caller holds d.mu.
func (d *driver) obstacle() string { return d.config.obstacle(d.around) }

// state is what the app is told. The caller holds d.mu.
func (d *driver) state() state {
	switch obstacle := d.obstacle(); {
	case d.final:
		return failed(d.failure)
	case !d.wanted() && d.paused:
		return state{statePaused, d.pauseReason}
	case !d.wanted():
		return state{stateOff, ""}
	case obstacle != "":
		return state{stateWaiting, obstacle}
	case d.current != nil && !d.current.online.IsZero() && !d.current.ending:
		return state{stateRunning, ""}
	case d.current != nil || d.failure == nil:
		return state{stateStarting, ""}
	}
	return failed(d.failure)
}

// now is the state at the moment.
func (d *driver) now() state {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state()
}

// again forgets earlier failures that may have passed. It is for update.
func (d *driver) again() { d.failures, d.retry = 0, time.Time{} }

// start is [Node.Start].
func (d *driver) start() {
	d.update(func() {
		if !d.started {
			d.again()
		}
		d.started = true
	})
}

// pause is [Node.Pause]: it waits until the run under way has ended, or is wanted again.
func (d *driver) pause(ctx context.Context, reason string) error {
	var before *run
	d.update(func() {
		d.paused, d.pauseReason, before = true, reason, d.current
		clear(d.slices)
	})
	return d.await(ctx, func() bool { return before == nil || d.current != before || d.wanted() })
}

// resume is [Node.Resume].
func (d *driver) resume() {
	d.update(func() {
		if d.paused {
			d.again()
		}
		d.paused = false
	})
}

// stop says that the node is off before its context ends, so that the run that ends
// with it is not taken for one that begins again.
func (d *driver) stop() { d.update(func() { d.over = true }) }

// fail ends everything for good, after a defect.
func (d *driver) fail(err error) {
	d.update(func() {
		d.failure, d.final = err, true
		if d.current != nil {
			d.current.end()
		}
	})
}
