package mobile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// leaks are goroutines that outlive a node by design: those of others that run for the
// whole process.
func leaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreCurrent(),
		goleak.IgnoreTopFunction("github.com/libp2p/go-flow-metrics.(*sweeper).runActive"),
	}
}

// Several nodes, brought into every state at once and stopped by many threads, twice.
func TestStopInEveryState(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	var states sync.WaitGroup
	for name, bring := range map[string]func(n *Node){
		"off":     func(*Node) {},
		"waiting": func(n *Node) { check(t, n.Start()); awaitState(t, n, stateWaiting) },
		"starting": func(n *Node) {
			check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
		},
		"running": func(n *Node) {
			check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
			awaitState(t, n, stateRunning)
		},
		"paused": func(n *Node) {
			check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
			awaitState(t, n, stateRunning)
			check(t, n.Pause("in the background"))
		},
		"resumed": func(n *Node) {
			check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start(), n.Pause(""), n.Resume())
		},
		"failed": func(n *Node) {
			n.driver.fail(errors.New("a test"))
			awaitState(t, n, stateFailed)
		},
		"training": func(n *Node) {
			check(t, n.SetNetwork(NetUnmetered, "", ""))
			go func() { _, _ = n.Train(60_000) }() // stopped, which is an error
			awaitState(t, n, stateRunning)
		},
		"adding a silent peer": func(n *Node) {
			check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
			awaitState(t, n, stateRunning)
			check(t, n.AddPeer("/ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"))
		},
	} {
		states.Go(func() {
			n, err := NewNode(testConfig(t), &recorder{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			bring(n)
			var stops sync.WaitGroup
			for range 4 {
				stops.Go(func() { check(t, n.Stop(), n.Stop()) })
			}
			stops.Wait()
			if err := n.Start(); errorCode(err) != CodeStopped {
				t.Errorf("%s: start after stop: %v", name, err)
			}
		})
	}
	states.Wait()
}

// A node that stops is off: nothing begins any more, and nobody is told that it does.
func TestDriverStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, untilTold)
		s.network(NetUnmetered)
		s.start()
		time.Sleep(time.Second)
		s.expect(t, stateRunning, "")
		s.beginSlice()
		s.stop()
		s.expect(t, stateOff, "")
		s.start()
		s.expect(t, stateOff, "")
		if want := []state{{stateStarting, ""}, {stateRunning, ""}, {stateOff, ""}}; !slices.Equal(s.told, want) || s.now != 0 {
			t.Errorf("told %v, want %v; %d runs", s.told, want, s.now)
		}
	})
}

// Eight threads call everything that moves a node, while one of them stops it.
func TestThreads(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	n, err := NewNode(testConfig(t), &recorder{})
	if err != nil {
		t.Fatal(err)
	}
	calls := []func() error{
		n.Start, n.Resume, n.TrimMemory,
		func() error { return n.Pause("a test") },
		func() error {
			return n.SetNetwork(NetUnmetered, `[{"name":"lo","index":1,"addrs":["127.0.0.1"]}]`, `["127.0.0.1"]`)
		},
		func() error { return n.SetNetwork(NetNone, "", "") },
		func() error { return n.SetPower(50, false, true) },
		func() error { return n.SetPower(-1, true, false) },
		func() error {
			return n.AddPeer("/ip4/127.0.0.1/tcp/1/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN")
		},
		func() error { _, err := n.Train(50); return err },
	}
	var threads sync.WaitGroup
	for k := range 8 {
		threads.Go(func() {
			for i := range 60 {
				if k == 0 && i == 30 {
					check(t, n.Stop())
				}
				err := calls[(i*7+k*3)%len(calls)]()
				if code := errorCode(err); err != nil && code != CodeStopped && code != CodeFull {
					t.Errorf("call %d of thread %d: %v", i, k, err)
				}
			}
		})
	}
	threads.Wait()
}

// A listener may call anything, Stop too, and hears nothing after it.
func TestListenerThatStops(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	var n *Node
	ready, stopped := make(chan struct{}), make(chan error, 1)
	r := &recorder{}
	r.on = func(text string) error {
		<-ready
		if text == `state {"state":"running","reason":""}` {
			_, err := n.Train(1)
			stopped <- errors.Join(err, n.Pause(""), n.Stop())
		}
		return nil
	}
	n, err := NewNode(testConfig(t), r)
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	select {
	case err := <-stopped:
		check(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it never ran")
	}
	if heard := r.all(); heard[len(heard)-1] != `state {"state":"running","reason":""}` {
		t.Errorf("after Stop it heard %q", heard[len(heard)-1])
	}
}

// A defect in one of the node's own goroutines is told, and ends the node's work, not
// the app's.
func TestDefectInTheBackground(t *testing.T) {
	r := &recorder{}
	n := open(t, testConfig(t), r)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	awaitState(t, n, stateRunning)
	n.background("a test", func(context.Context) { stumble(nil) })
	awaitHeard(t, r, `error {"code":"defect","message":"defect: runtime error: index out of range`)
	awaitState(t, n, stateFailed)
	awaitHeard(t, r, "3 defect in a test error=") // with its stack, in the log
	check(t, n.Pause(""), n.Resume())
	if s := n.driver.now(); s.State != stateFailed || errorCode(n.driver.failure) != CodeDefect {
		t.Errorf("%+v", s)
	}
	if slices.ContainsFunc(r.all(), func(text string) bool { return text == `state {"state":"off","reason":""}` }) {
		t.Error("a defect passes for off")
	}
}
