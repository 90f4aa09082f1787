package testnet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// fewNodes is a configuration of real nodes that make two releases each.
func fewNodes(t *testing.T) Config {
	c := simulatedConfig()
	c.Simulate, c.Dir, c.Wake = false, t.TempDir(), 200*time.Millisecond
	all := mustRead(t, people(20, 20, 20, 20, 20, 20))
	all.Task.Release.Releases = 2
	c.Source = func(seed uint64) (*Dataset, error) { return all.Draw(seed, 0) }
	return c
}

func TestRealNodesLearnTogether(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	c := fewNodes(t)
	var linked bool
	c.Progress = func(p Progress) { linked = linked || p.Linked == 6 }
	r := mustRun(t, t.Context(), c)
	if !r.Complete || !linked {
		t.Fatalf("complete %v, all linked %v", r.Complete, linked)
	}
	for _, m := range []Method{Private, Broadcast} {
		trial := r.Rounds[0].trial(m)
		if trial.Unfinished != 0 || trial.Expected == 0 || trial.Bytes == 0 {
			t.Errorf("%s: %d unfinished, %d copies expected, %v bytes", m, trial.Unfinished, trial.Expected, trial.Bytes)
		}
		if trial.Delivered < trial.Expected {
			t.Errorf("%s: %d of %d copies delivered", m, trial.Delivered, trial.Expected)
		}
		if m == Private {
			if len(trial.Newcomers) != 6 || trial.Messages != 2 {
				t.Errorf("%v contributions each, %d newcomers", trial.Messages, len(trial.Newcomers))
			}
			continue
		}
		if last := trial.Curve[len(trial.Curve)-1]; last.Releases != 2 || last.Error != mean(trial.Errors) {
			t.Errorf("%s: the curve ends at %+v, the trial with error %v after 2 releases", m, last, mean(trial.Errors))
		}
	}
	for _, m := range []Method{Private, Broadcast} {
		for i, spent := range r.Rounds[0].trial(m).Spent {
			if spent < 0.99 || spent > 1 {
				t.Errorf("%s: node %d has spent %v of its budget", m, i+1, spent)
			}
		}
	}
	wantEmpty(t, c.Dir)
}

// An interruption ends a run of real nodes cleanly: what they learned so far is
// measured, they stop, and their directories are gone.
func TestRealNodesInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	c := fewNodes(t)
	c.Wake, c.Methods = time.Hour, []Method{Broadcast, Private} // they would never be done
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(p Progress) {
		if p.Linked == 6 {
			cancel()
		}
	}
	r := mustRun(t, ctx, c)
	broadcast := r.Rounds[0].trial(Broadcast)
	if r.Complete || broadcast == nil || broadcast.Unfinished != 6 || len(broadcast.Errors) != 6 {
		t.Fatalf("complete %v, trial %+v", r.Complete, broadcast)
	}
	if r.Rounds[0].trial(Private) != nil {
		t.Error("the next trial ran all the same")
	}
	if r.spent(Broadcast) != 0 {
		t.Errorf("nothing was released, but %v of the budget is spent", r.spent(Broadcast))
	}
	wantEmpty(t, c.Dir)
}

func TestRealNodesWithoutADirectory(t *testing.T) {
	c := fewNodes(t)
	c.Dir = filepath.Join(c.Dir, "file")
	if err := os.WriteFile(c.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "seed 5, private") {
		t.Fatalf("got %v, want an error that names the trial", err)
	}
}

// leaks are the goroutines that may outlive a run.
func leaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreCurrent(),
		// One per process, counts bytes for every host.
		goleak.IgnoreTopFunction("github.com/libp2p/go-flow-metrics.(*sweeper).runActive"),
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The mean time between releases grows with the network, so that two cores
// carry the deliveries.
func TestWakeSuitsTheMachine(t *testing.T) {
	c := simulatedConfig()
	for n, want := range map[int]float64{10: minWake, 25: minWake, 100: 1, 1000: 10} {
		d, err := Linear(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		d.People, d.Task.Graph.Degree = make([]Person, n), 30
		if got := c.nodeConfig(d, Broadcast).WakeSeconds; got != want {
			t.Errorf("%d nodes wake every %v s, want %v", n, got, want)
		}
	}
	d, err := Clusters(1, 10, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.nodeConfig(d, Broadcast).WakeSeconds; got != followWake {
		t.Errorf("10 nodes whose edges follow releases wake every %v s, want %v", got, followWake)
	}
}

// Every server is somebody's start, none is everybody's: a node that keeps a
// hundred connections could not hold them.
func TestStartIsSpread(t *testing.T) {
	f := &fleet{first: []string{"a", "b", "c", "d", "e", "f", "g", "h"}}
	load := make(map[string]int)
	for i := range 200 {
		chosen := f.startFrom(i)
		if len(chosen) != firstEach {
			t.Fatalf("node %d starts from %v", i, chosen)
		}
		for _, s := range chosen {
			load[s]++
		}
	}
	for _, s := range f.first {
		if load[s] != 200*firstEach/8 {
			t.Errorf("%d nodes start from %s, want %d", load[s], s, 200*firstEach/8)
		}
	}
	f.first = f.first[:1]
	if got := f.startFrom(5); len(got) != 1 {
		t.Errorf("with one server, start from %v", got)
	}
	f.first = nil
	if got := f.startFrom(0); len(got) != 0 {
		t.Errorf("the first node starts from %v", got)
	}
}

func TestTooManyNodesForOneProcess(t *testing.T) {
	if err := fits(943, 10, 20_000); err != nil {
		t.Error(err)
	}
	err := fits(943, 20, 20_000)
	if err == nil || !strings.Contains(err.Error(), "take at most 565") {
		t.Errorf("got %v, want an error that says how many fit", err)
	}
	if n := openFiles(); n < 64 {
		t.Errorf("this process may open %d files", n)
	}
}
