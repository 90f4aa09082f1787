package learner

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"p2pnode/privacy"
)

// Algorithm 1, the server: x^J <- Proj_X(x^J - a_k sum_h g^{J,h}) with a_k = a_0/k^s,
// k the window; then the mean of the three.
func TestServerAlgorithm1(t *testing.T) {
	n := newServerNet(t, polarTask()) // a_0 = 1/2, decay 3/4, X = [-2, 2], Delta = 2
	n.gradients(1, -2, 0.5)
	for i, id := range serverIDs {
		wantClose(t, "step 1 of "+string(id), n.of(2)[id], []float64{min(2, float64(i+1)), -0.25 * float64(i+1)}, 1e-15)
	}
	n.gradients(2, 1, 1)
	if len(n.of(3)) > 0 {
		t.Fatal("a model was sent before the consensus")
	}
	n.deliver(nil)
	n.wantAgreed(3, (0.5+1+0.5)/3, (-0.75-1.5-2)/3) // the last is -2.25, projected
	n.gradients(3, 1, 0)
	rate := 0.5 / math.Pow(2, 0.75)
	wantClose(t, "window 2", n.of(4)["s2"], []float64{2./3 - 2*rate, -4.25 / 3}, 1e-12)
	if len(n.mail) > 0 {
		t.Error("a consensus in the middle of a window")
	}
}

// A server that missed the end of a window takes the model the others agreed on;
// with a later one it waits for the deadline, in case the better comes.
func TestServerCatchesUp(t *testing.T) {
	for _, c := range []struct {
		models []Message
		at     time.Duration
		want   Message
	}{
		{[]Message{model("s2", 4, 1, 0)}, 0, model("s1", 4, 1, 0)},
		{[]Message{model("s2", 5, 1, 0), model("s3", 4, 0, 1)}, 0, model("s1", 4, 0, 1)},
		{[]Message{model("s2", 5, 1, 0), model("s3", 6, 0, 1)}, time.Second, model("s1", 6, 0, 1)},
	} {
		task := polarTask()
		task.Polar.Delta = 3
		n := newServerNet(t, task)
		s, before := n.servers["s1"], len(n.models)
		if _, err := s.Receive(n.now, model("s2", 7, 1, 0)); !errors.Is(err, ErrStale) {
			t.Errorf("a server that would need this one to be so far: %v", err)
		}
		for _, m := range c.models {
			out, err := s.Receive(n.now, m)
			if err != nil {
				t.Fatal(err)
			}
			n.take(out)
		}
		if c.at > 0 {
			if len(n.models) > before {
				t.Error("did not wait for the deadline")
			}
			n.take(s.Tick(n.now + c.at))
		}
		if len(n.models) != before+1 {
			t.Fatalf("%d models", len(n.models)-before)
		}
		if got := n.models[before]; got.Round != c.want.Round || !slices.Equal(got.Real, c.want.Real) {
			t.Errorf("went on from %+v, want %+v", got, c.want)
		}
		if _, err := s.Receive(n.now, model("s2", c.want.Round, 9, 9)); !errors.Is(err, ErrStale) {
			t.Errorf("a model of the same window: %v", err)
		}
	}
}

// A client that misses a deadline is not waited for until it speaks again.
func TestServerWaitsForClients(t *testing.T) {
	s := must(New(polarConfig(polarTask(), "s1"))).(*polarServer)
	if out := s.Neighbours(0, nil); out.Next != Never {
		t.Error("waits for something with nobody there")
	}
	if out := s.Neighbours(0, liveEdges("a", "b", "s2")); out.Next != time.Second || len(s.clients) != 2 {
		t.Errorf("starts at %v with %d clients", out.Next, len(s.clients))
	}
	if out := s.Tick(time.Second); len(out.Send) != 1 || out.Send[0].Round != 1 {
		t.Fatal("does not start")
	}
	gradient := func(now time.Duration, from ID, step uint64) uint64 {
		out, err := s.Receive(now, Message{From: from, Kind: KindGradient, Round: step, Real: []float64{0, 0}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Send) == 0 {
			return 0
		}
		return out.Send[0].Round
	}
	if gradient(time.Second, "a", 1) != 0 {
		t.Error("did not wait for b")
	}
	if out := s.Tick(2 * time.Second); len(out.Send) != 1 || out.Send[0].Round != 2 {
		t.Error("waits for b for ever")
	}
	s.task.Polar.Delta = 4 // so that no consensus comes between
	if gradient(2*time.Second, "a", 2) != 3 {
		t.Error("waits for b, which missed the deadline")
	}
	if gradient(2*time.Second, "b", 2) != 0 || gradient(2*time.Second, "a", 3) != 0 {
		t.Error("does not wait for b, which is there after all")
	}
	if gradient(2*time.Second, "b", 3) != 4 {
		t.Error("does not go on with both")
	}
	if out := s.Neighbours(2*time.Second, nil); out.Next != Never || len(out.Send) > 0 {
		t.Error("goes on with nobody there")
	}
}

// The result is broadcast once, and then the server is silent.
func TestServerEnds(t *testing.T) {
	task := polarTask()
	task.Rounds.Count = 2
	n := newServerNet(t, task)
	n.gradients(1, 0, 0)
	n.gradients(2, 1, 1)
	n.deliver(nil)
	for _, s := range n.servers {
		if out := s.Tick(n.now + time.Hour); len(out.Send) > 0 || out.Next != Never {
			t.Error("goes on after the last round")
		}
		if out := s.Released(n.now, privacy.Answer{}); len(out.Send) > 0 || out.Next != Never {
			t.Error("an answer to a server")
		}
	}
	n.wantAgreed(3, -1, -1)
}

// While no client answers the deadline doubles; the first answer makes it what it
// was.
func TestServerSlowsDownInSilence(t *testing.T) {
	task := polarTask()
	task.Polar.Delta = 100
	s := must(New(polarConfig(task, "s1"))).(*polarServer)
	now := s.Neighbours(0, liveEdges("h")).Next
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 64, 64} {
		out := s.Tick(now)
		if len(out.Send) != 1 || out.Next != now+wait*time.Second {
			t.Fatalf("%d models and a deadline of %v, want %v", len(out.Send), out.Next-now, wait*time.Second)
		}
		now = out.Next
	}
	out, err := s.Receive(now-1, Message{From: "h", Kind: KindGradient, Round: s.step, Real: []float64{1, 1}})
	if err != nil || len(out.Send) != 1 || out.Next != now-1+time.Second {
		t.Errorf("after an answer %d models and a deadline of %v: %v", len(out.Send), out.Next-now, err)
	}
}
