package mobile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"p2pnode/node"
	"p2pnode/node/api"
)

// Node is one participant in the app's process. There may be several, each with a
// directory of its own.
type Node struct {
	node   *node.Node
	config Config // a copy from the call of NewNode
	log    *slog.Logger
	events *events
	driver *driver

	announced  announced         // used inside driver.update only
	introduced chan introduction // peers that the app found

	queue      *queue
	models     *models
	progress   latest[api.Status]
	comparison atomic.Pointer[api.Comparison] // for the newest personal model; nil: none

	ctx    context.Context // ends when Stop begins
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool
	calls   sync.WaitGroup // methods under way
	parts   sync.WaitGroup // goroutines of the node's own
	ended   chan struct{}  // closed when the directory is closed
	endErr  error          // the error of closing it; read it only after ended is closed

	erasing sync.Mutex
	erased  bool // the directory was erased
}

// stopWithin is how long Stop and Pause wait.
const stopWithin = 10 * time.Second

// longestReason is the most bytes of a reason to pause.
const longestReason = 1000

var (
	errStopped = coded(CodeStopped, errors.New("the node was stopped; make a new one"))
	errNotMade = coded(CodeStopped, errors.New("there is no node; make one with newNode"))
)

// NewNode opens the data directory, and makes it first if it is empty: a new identity,
// a new ledger. It does not use the network. l may be nil. It may take a second or two
// with many examples. It fails with [CodeBusy] if another node has the directory open,
// and with [CodeTask] if it belongs to another task.
func NewNode(c *Config, l Listener) (n *Node, err error) {
	defer guard(&err)
	settled, err := c.settle()
	if err != nil {
		return nil, err
	}
	n = &Node{
		config: settled.Config, events: newEvents(l, settled.LogLevel),
		introduced: make(chan introduction, maxIntroduced), ended: make(chan struct{}),
	}
	n.log = slog.New(newLog(n.events))
	if n.node, err = settled.open(n.log); err != nil {
		n.events.close()
		return nil, err
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.driver = newDriver(&n.config, n.run, n.ready, func(s state) { n.events.post("state", s) })
	if err := unpanicked(n.openData); err != nil {
		return nil, errors.Join(ofDirectory(err), n.Stop())
	}
	n.background("the driver", n.driver.drive)
	for range introducers {
		n.background("adding a peer", n.introduce)
	}
	return n, nil
}

// answer does the work of a method and returns its answer. The directory stays open
// meanwhile. Every wait of the work ends when n.ctx ends, so that Stop can wait for it.
func answer[T any](n *Node, work func() (T, error)) (out T, err error) {
	defer n.guard(&err)
	if err := n.enter(); err != nil {
		return out, err
	}
	defer n.calls.Done()
	return work()
}

// do is answer for a method that returns an error only.
func (n *Node) do(work func() error) error {
	_, err := answer(n, func() (struct{}, error) { return struct{}{}, work() })
	return err
}

// json is answer for a method that answers in JSON.
func (n *Node) json(work func() (any, error)) (string, error) {
	return answer(n, func() (string, error) {
		v, err := work()
		if err != nil {
			return "", err
		}
		return encodeJSON(v)
	})
}

// enter counts a call. Until it is done the directory stays open.
func (n *Node) enter() error {
	if n.node == nil {
		return errNotMade
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return errStopped
	}
	n.calls.Add(1)
	return nil
}

// background runs f in a goroutine of the node's own, until n.ctx ends. It is for
// NewNode, for methods that have entered, and for such goroutines themselves. A panic
// ends the node's work, not the app.
func (n *Node) background(name string, f func(context.Context)) {
	n.parts.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				err := defect(r)
				n.report(name, err)
				n.driver.fail(err)
				n.postError(err)
			}
		}()
		f(n.ctx)
	})
}

// postError tells the app about a failure outside of a call.
func (n *Node) postError(err error) {
	code := errorCode(err)
	n.events.post("error", errorEvent{code, inApp(err, code)})
}

// errorEvent is the payload of the event "error".
type errorEvent struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// run takes part in the network until ctx ends, for the driver.
func (n *Node) run(ctx context.Context) error {
	err := n.node.Run(ctx)
	if err != nil {
		n.log.Error("the network ended", "error", err)
	}
	if lasting(err) {
		n.postError(err)
	}
	return err
}

// ready waits until a run takes part in the network, for the driver.
func (n *Node) ready(ctx context.Context) error {
	_, err := n.node.Addrs(ctx)
	return err
}

// Start lets the node take part in the network whenever the conditions allow it, until
// [Node.Pause] or [Node.Stop]; a pause that was requested before goes on until
// [Node.Resume]. It returns at once; events report the result. A second Start changes
// nothing.
func (n *Node) Start() error {
	return n.do(func() error {
		n.driver.start()
		return nil
	})
}

// Stop ends everything and closes the directory. It returns within ten seconds. If
// something has not ended by then, it returns [CodeBusy] and the rest ends by itself;
// call it again to find out. A second Stop changes nothing. Every later call of another
// method fails with [CodeStopped]; no callback begins after Stop has returned.
func (n *Node) Stop() (err error) {
	defer n.guard(&err)
	if n.node == nil {
		return errNotMade
	}
	defer n.events.close()
	n.mu.Lock()
	if !n.stopped {
		n.stopped = true
		n.driver.stop()
		n.cancel()
		go n.end()
	}
	n.mu.Unlock()
	select {
	case <-n.ended:
		return n.endErr
	case <-time.After(stopWithin):
		return coded(CodeBusy, errors.New("the node goes on stopping; call stop again to know when it has"))
	}
}

// end closes the directory when nobody uses it any more.
func (n *Node) end() {
	defer close(n.ended)
	n.calls.Wait()
	n.parts.Wait()
	n.endErr = errors.Join(unpanicked(n.queue.close), unpanicked(n.node.Close))
}

// Pause leaves the network until [Node.Resume]. It closes all sockets. The directory
// stays open, and examples, predictions and fits go on. Queued examples are written,
// because the system may end an app in the background at any time. A slice of
// [Node.Train] under way ends; a later one takes part all the same. reason is shown in
// the state, for example "in the background", at most 1000 bytes. It returns within ten
// seconds, as Stop does.
func (n *Node) Pause(reason string) error {
	return n.do(func() error {
		if len(reason) > longestReason {
			return wrongInput("a reason to pause of %d bytes is longer than %d", len(reason), longestReason)
		}
		ctx, cancel := context.WithTimeout(n.ctx, stopWithin)
		defer cancel()
		err := n.driver.pause(ctx, reason)
		unwritten := n.queue.write(ctx) // another error of it than that of ctx q.failure reports
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return coded(CodeBusy, errors.New("the node goes on leaving the network; call pause again to know when it has"))
		case err == nil && errors.Is(unwritten, context.DeadlineExceeded):
			return coded(CodeBusy, errors.New("the node is paused, and examples still wait for others to be written; call pause again to know when they are"))
		}
		return err // the node may have been stopped meanwhile
	})
}

// Resume ends a pause, and returns at once.
func (n *Node) Resume() error {
	return n.do(func() error {
		n.driver.resume()
		return nil
	})
}
