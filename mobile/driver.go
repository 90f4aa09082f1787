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

// state is the content of the event "state".
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

// driver makes the run of the node follow what is wanted. One goroutine, drive, begins
// and ends the runs; the other methods say what is wanted and may be called from
// anywhere.
type driver struct {
	config *Config
	run    func(context.Context) error // takes part in the network until the context ends
	ready  func(context.Context) error // returns when run does take part
	post   func(state)                 // tells the app

	mu          sync.Mutex
	changed     chan struct{} // closed and replaced at every change of the fields below
	started     bool
	paused      bool
	pauseReason string
	slices      map[*slice]bool // the calls of Train under way
	around      surroundings
	current     *run  // nil: nothing runs
	failure     error // how the last run failed
	final       bool  // only opening the directory again can mend the failure
	over        bool  // the node is stopping
	failures    int   // number of failures in a row
	retry       time.Time
	told        state
	online      time.Duration // time in the network, in runs that have ended
}

// run is one time in the network.
type run struct {
	end    context.CancelFunc
	began  time.Time
	online time.Time // the time since which it takes part; zero: not yet
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

// await waits until holds returns true, and fails if ctx ends before.
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
	_ = d.await(context.WithoutCancel(ctx), func() bool { return d.current == nil }) // there is no deadline, so there is no error
}

// reconcile begins or ends a run, and returns how long nothing more has to be done
// unless something changes.
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

// tell posts the state if it has changed. The caller holds d.mu.
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
	var unready error
	greeting.Go(func() {
		unready = unpanicked(func() error { return d.ready(ctx) })
		switch {
		case unready == nil:
			d.update(func() { r.online = time.Now() })
		case errorCode(unready) == CodeDefect:
			end()
		}
	})
	go func() {
		err := unpanicked(func() error { return d.run(ctx) })
		purpose := ctx.Err() != nil
		end()
		greeting.Wait()
		if errorCode(unready) == CodeDefect {
			err = unready
		}
		d.ended(r, purpose, err)
	}()
}

// ended notes that a run has ended, on purpose or by an error.
func (d *driver) ended(r *run, purpose bool, err error) {
	if err == nil && !purpose {
		err = errEnded
	}
	d.update(func() {
		d.online, d.current = d.onlineFor(), nil
		switch {
		case d.final: // for another reason, earlier
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

// obstacle returns why the node may not take part, or "". The caller holds d.mu.
func (d *driver) obstacle() string { return d.config.obstacle(d.around) }

// state returns the state for the app. The caller holds d.mu.
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

// now returns the present state.
func (d *driver) now() state {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state()
}

// again forgets earlier failures that may have passed. It is for use inside update.
func (d *driver) again() { d.failures, d.retry = 0, time.Time{} }

// start implements [Node.Start].
func (d *driver) start() {
	d.update(func() {
		if !d.started {
			d.again()
		}
		d.started = true
	})
}

// pause implements [Node.Pause]. It waits until the run under way has ended, or until
// the node is wanted again.
func (d *driver) pause(ctx context.Context, reason string) error {
	var before *run
	d.update(func() {
		d.paused, d.pauseReason, before = true, reason, d.current
		clear(d.slices)
	})
	return d.await(ctx, func() bool { return before == nil || d.current != before || d.wanted() })
}

// resume implements [Node.Resume].
func (d *driver) resume() {
	d.update(func() {
		if d.paused {
			d.again()
		}
		d.paused = false
	})
}

// stop marks the node as off before its context ends, so that the last run is not taken
// for one that will begin again.
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
