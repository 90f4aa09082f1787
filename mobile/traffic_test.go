package mobile

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Eight threads use every method while the node is stopped in their middle: they all
// end, with answers before and with the code "stopped" after.
func TestStopInTheMiddleOfEverything(t *testing.T) {
	n := open(t, linearConfig(t), &recorder{})
	check(t, n.AddExamples(rows(fixed(1), 20)), n.SetNetwork(NetUnmetered, "", ""), n.Start())
	var threads sync.WaitGroup
	begun := make(chan struct{}, 8)
	for g := range 8 {
		threads.Go(func() {
			r := fixed(uint64(g))
			for i := 0; ; i++ {
				x, label := example(r)
				_, predicted := n.Predict(encodeVector(x))
				_, status := n.StatusJSON()
				errs := []error{predicted, status, n.AddExample(encodeVector(x), label), n.AddExampleJSON(strings.Replace(rowJSON("0.1"), "}", `,"y":0}`, 1))}
				for _, f := range []func() (string, error){
					func() (string, error) { return n.PredictJSON(rowJSON("1")) }, n.BudgetJSON, n.PeersJSON, n.TaskJSON,
					func() (string, error) { return n.ExamplesJSON(1, 3) },
				} {
					_, err := f()
					errs = append(errs, err)
				}
				_, export := n.ExportModel()
				errs = append(errs, n.Flush(), n.AddExamples(rows(r, 2)), n.DeleteExamples(fmt.Sprintf("[%d]", 8*i+g+1)), export)
				stopped := false
				for _, err := range errs {
					switch code := ""; {
					case err == nil:
					default:
						if code = errorCode(err); code == CodeStopped {
							stopped = true
						} else if code != CodeInput && code != CodeFull { // another thread deleted it
							t.Errorf("thread %d: %v", g, err)
						}
					}
				}
				if i == 1 {
					begun <- struct{}{}
				}
				if stopped {
					return
				}
			}
		})
	}
	for range 8 {
		<-begun
	}
	check(t, n.Stop())
	threads.Wait()
}

// A listener may stop its node, and hears nothing more afterwards.
func TestListenerStopsTheNode(t *testing.T) {
	r := &recorder{}
	stopped := make(chan error, 1)
	var n *Node
	r.on = func(text string) error {
		if strings.HasPrefix(text, "stored ") {
			stopped <- n.Stop()
		}
		return nil
	}
	c := linearConfig(t)
	n = open(t, c, r)
	check(t, n.AddExamples(rows(fixed(1), 5)))
	select {
	case err := <-stopped:
		check(t, err)
	case <-time.After(time.Minute):
		t.Fatal("Stop from a callback does not return")
	}
	heard := r.all()
	if last := heard[len(heard)-1]; !strings.HasPrefix(last, "stored ") {
		t.Errorf("heard %q after Stop", last)
	}
	check(t, open(t, c, nil).Stop()) // the directory is free
}

// 20,000 calls leave nothing behind.
func TestMemoryOfManyCalls(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	check(t, n.AddExamples(rows(fixed(1), 50)))
	awaitCurrent(t, n, rowJSON("0.5"))
	b := encodeVector(make([]float64, 20))
	calls := func(k int) {
		for range k {
			_, err := n.Predict(b)
			_, err2 := n.StatusJSON()
			check(t, err, err2)
		}
	}
	inUse := func() (bytes uint64, goroutines int) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	calls(500)
	before, goroutines := inUse()
	calls(10000)
	after, now := inUse()
	// A leak of one number a call would be 160 kB.
	if after > before+100_000 || now > goroutines+2 {
		t.Errorf("%d bytes and %d goroutines became %d and %d", before, goroutines, after, now)
	}
}

func TestAllocationsOfPredict(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	check(t, n.AddExamples(rows(fixed(1), 50)))
	awaitCurrent(t, n, rowJSON("0.5"))
	b := encodeVector(make([]float64, 20))
	if got := testing.AllocsPerRun(100, func() {
		if _, err := n.Predict(b); err != nil {
			t.Error(err)
		}
	}); got > 6 {
		t.Errorf("%v allocations, want the two vectors and a few", got)
	}
}

// Two nodes learn from each other; the app hears of it, and nothing that they log,
// at any level, says a number of an example. With an epsilon of 1 noise would make one
// model in ten speak against the neighbour's records, which would then leave it out.
func TestNodesTellTheirApps(t *testing.T) {
	r := fixed(9)
	var values []float64
	listeners := []*recorder{{}, {}}
	var nodes []*Node
	for i, l := range listeners {
		c := linearConfig(t)
		c.LogLevel = LogDebug
		c.Settings += "\nepsilon = 10\nwake_seconds = 0.05\nmdns = false\ndht = \"off\"\npower = \"normal\""
		if i == 1 {
			addrs, err := nodes[0].node.Addrs(t.Context())
			check(t, err, c.AddBootstrap(addrs[0]))
		}
		n := open(t, c, l)
		nodes = append(nodes, n)
		for range 40 {
			x, label := example(r)
			values = append(values, x...)
			check(t, n.AddExample(encodeVector(x), label))
		}
		check(t, n.Flush(), n.SetNetwork(NetUnmetered, "", ""), n.Start())
		awaitState(t, n, stateRunning)
	}
	for _, l := range listeners {
		awaitHeard(t, l, `neighbours {"neighbours":1,"listening":1`)
		awaitHeard(t, l, "released {")
		awaitHeard(t, l, `"heard":1}`)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := nodes[0].PredictJSON(rowJSON("0.5"))
		if p := parse(t, text, err); p["value"] != p["alone"] {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the neighbour's model makes no difference")
		}
	}
	for i, n := range nodes {
		check(t, n.Stop())
		said := strings.Join(listeners[i].all(), "\n")
		for _, v := range values {
			if text := strconv.FormatFloat(math.Abs(v), 'g', 6, 64); strings.Contains(said, text) {
				t.Errorf("%s, a number of an example, was said", text)
			}
		}
	}
}
