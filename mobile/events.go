package mobile

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Listener is implemented by the app. One thread calls it, one event at a time and in
// order, and without holding a lock, so it may call any method. Exceptions that it throws
// are logged and dropped. A listener that is slower than the events loses the oldest; the
// event "lost" says how many. A callback that is running when [Node.Stop] is called, even
// from that callback, may still run when Stop has returned; none begins after that.
type Listener interface {
	// OnEvent is called with one of the kinds
	//
	//	state       {"state":…, "reason":…}          as in StatusJSON
	//	stored      {"examples":…, "queued":…}       examples are on disk
	//	model       {"examples":…, "current":…}      there is a newer personal model
	//	neighbours  {"neighbours":…, "listening":…, "heard":…}
	//	released    {"round":…, "left":…, "spent":…} a model left the device
	//	sums        {"all":…, "known":…, "paid":…, "listed":…}  private sums, as in StatusJSON
	//	peer        {"id":…, "connected":…, "reason":…}  what came of AddPeer
	//	error       {"code":…, "message":…}          something failed outside of a call
	//	lost        {"events":…}
	OnEvent(kind, payloadJSON string) error
	// OnLog is called with the lines that the daemon would log.
	OnLog(level int, message string) error
}

const (
	// maxWaiting is how many callbacks may wait for a slow listener: minutes of what a
	// node logs at LogInfo.
	maxWaiting = 256
	// lastCall is how long Stop waits for a running callback. Stop may be called from that
	// callback, so it must not wait for ever.
	lastCall = 100 * time.Millisecond
)

// events delivers events and log lines to the listener: any goroutine adds them, one
// delivers them.
type events struct {
	listener Listener // nil: events are dropped
	level    int      // lowest level of the log lines delivered
	wake     chan struct{}
	ended    chan struct{} // closed when nothing more will be delivered

	mu      sync.Mutex
	waiting []callback // the oldest first
	lost    int
	closed  bool
}

// callback is a call of the listener: of OnEvent or, without a kind, of OnLog.
type callback struct {
	kind  string
	level int
	text  string
}

func newEvents(l Listener, level int) *events {
	e := &events{listener: l, level: level, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if l == nil {
		e.closed = true
		close(e.ended)
		return e
	}
	go e.run()
	return e
}

// post queues an event, with a payload that becomes JSON. It never blocks.
func (e *events) post(kind string, payload any) {
	text, err := json.Marshal(payload)
	if err != nil {
		e.log(LogError, fmt.Sprintf("event %s: %v", kind, err))
		return
	}
	e.add(callback{kind: kind, text: string(text)})
}

// log queues a line of the log. It never blocks.
func (e *events) log(level int, line string) {
	if level >= e.level {
		e.add(callback{level: level, text: line})
	}
}

func (e *events) add(c callback) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if len(e.waiting) == maxWaiting {
		e.waiting = e.waiting[1:]
		e.lost++
	}
	e.waiting = append(e.waiting, c)
	signal(e.wake)
}

// close drops what waits. No callback begins after it has returned.
func (e *events) close() {
	e.mu.Lock()
	if !e.closed {
		e.closed, e.waiting = true, nil
		close(e.wake)
	}
	e.mu.Unlock()
	select {
	case <-e.ended:
	case <-time.After(lastCall):
	}
}

// run delivers from one operating system thread: apps keep state by thread, and a thread
// that has called Java once stays attached until it ends.
func (e *events) run() {
	defer close(e.ended)
	runtime.LockOSThread() // until run returns, which ends the thread
	for range e.wake {
		for c, ok := e.next(); ok; c, ok = e.next() {
			e.deliver(c)
		}
	}
}

// next takes the next callback. If events were lost, it first returns how many.
func (e *events) next() (c callback, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost > 0 && !e.closed {
		c = callback{kind: "lost", text: fmt.Sprintf(`{"events":%d}`, e.lost)}
		e.lost = 0
		return c, true
	}
	if len(e.waiting) == 0 {
		e.waiting = nil // frees the memory before its first element
		return c, false
	}
	c, e.waiting = e.waiting[0], e.waiting[1:]
	return c, true
}

// deliver calls the listener. A failure of OnEvent is logged with OnLog. A failure of
// OnLog is not logged, because that would never end.
func (e *events) deliver(c callback) {
	if err := e.call(c); err != nil && c.kind != "" {
		if cause := errors.Unwrap(err); cause != nil && cause.Error() == "" {
			err = errors.New("an exception without a message; catch and print it in onEvent")
		}
		e.log(LogWarn, fmt.Sprintf("the listener failed at event %s: %v", c.kind, err))
	}
}

func (e *events) call(c callback) (err error) {
	defer guard(&err)
	if c.kind == "" {
		return e.listener.OnLog(c.level, c.text)
	}
	return e.listener.OnEvent(c.kind, c.text)
}
