package learner

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// liveEdges makes live edges.
func liveEdges(peers ...ID) []Edge {
	var edges []Edge
	for _, p := range peers {
		edges = append(edges, Edge{Peer: p, Weight: 1, Live: true})
	}
	return edges
}

// testClient has records and three live servers.
func testClient(t *testing.T, task *Task, resume *State) *polarClient {
	t.Helper()
	c := polarConfig(task, "h")
	c.Resume = resume
	a := must(New(c)).(*polarClient)
	if err := a.Records(testRecords(1, 1, 9), nil); err != nil {
		t.Fatal(err)
	}
	a.Neighbours(0, liveEdges("s1", "s2", "s3"))
	return a
}

func model(from ID, round uint64, values ...float64) Message {
	return Message{From: from, Kind: KindModel, Round: round, Real: values}
}

// hear lets the agent receive a message and answers its queries from the door, if
// there are any: what it sends.
func hear(t *testing.T, a Agent, now time.Duration, m Message) []Message {
	t.Helper()
	out, err := a.Receive(now, m)
	if err != nil {
		t.Fatalf("%s of round %d from %s: %v", "message", m.Round, m.From, err)
	}
	return carryOut(a, now, out)
}

func carryOut(a Agent, now time.Duration, out Output) []Message {
	send := out.Send
	for out.Ask != nil {
		out = a.Released(now, privacy.NewSeededNoise(1).Answer(out.Ask.Mechanism, out.Ask.Sums))
		send = append(send, out.Send...)
	}
	return send
}

// localGradient is the slow twin of a client's gradient: mean over its training
// records, and the regulariser.
func localGradient(task *Task, at []float64) []float64 {
	sum, m := make([]float64, 2), 0
	for _, r := range testRecords(1, 1, 9) {
		if !r.Seq.HeldOut() {
			floats.AddScaled(sum, -2*(r.Y-floats.Dot(at, r.X)), r.X)
			m++
		}
	}
	floats.Scale(1/float64(m), sum)
	floats.AddScaled(sum, 2*task.Lambda/float64(m), at)
	return sum
}

// Algorithm 1, the client: over a window what it sends to all servers adds up to
// M g(u), whatever the weights and offsets; what it sends to one is not that.
func TestClientAlgorithm1(t *testing.T) {
	task := polarTask()
	c := testClient(t, task, nil)
	point := []float64{0.5, -1}
	total := make([]float64, 2)
	for step := uint64(1); step <= 2; step++ {
		send := hear(t, c, 0, model("s2", step, point...))
		var to []ID
		for _, m := range send {
			to = append(to, m.To)
			if m.Kind != KindGradient || m.From != "h" || m.Round != step || m.NoiseStd != 0 {
				t.Errorf("message %+v is no gradient of h for step %d", m, step)
			}
			floats.Add(total, m.Real)
		}
		if !slices.Equal(to, []ID{"s1", "s2", "s3"}) {
			t.Errorf("gradients for %v", to)
		}
		if more := hear(t, c, 0, model("s1", step, 9, 9)); len(more) > 0 {
			t.Error("answered a step twice")
		}
	}
	want := localGradient(task, point)
	floats.Scale(task.Polar.Sum, want)
	wantClose(t, "sum over the window", total, want, 1e-9)
	s := c.State()
	if s.Round != 2 || !slices.Equal(s.Model, point) || len(s.Heard) != 2 {
		t.Errorf("state %+v", s)
	}
}

// The models gradients are taken at: the first that comes, the mean of all, or each
// server's own. Offsets and weights are the same for all, so a window is M times it.
func TestClientUpdates(t *testing.T) {
	models := []Message{model("s2", 1, 1, 0), model("s3", 1, 0, 1), model("s1", 1, -1, -1)}
	for update, want := range map[string][]float64{
		"minimum-wait":    localGradient(polarTask(), []float64{1, 0}),
		"client-averaged": localGradient(polarTask(), []float64{0, 0}),
	} {
		task := polarTask()
		task.Polar.Update, task.Polar.Delta = update, 1
		c := testClient(t, task, nil)
		sum := make([]float64, 2)
		for _, m := range models {
			for _, g := range hear(t, c, 0, m) {
				floats.Add(sum, g.Real)
			}
		}
		floats.Scale(1/task.Polar.Sum, sum)
		wantClose(t, update, sum, want, 1e-9)
	}
	task := polarTask()
	task.Polar.Update, task.Polar.Delta = "basic", 1
	task.Polar.Obfuscation, task.Polar.Additive, task.Polar.Bound = "multiplicative", 0, task.Polar.Sum
	c := testClient(t, task, nil)
	for _, m := range models {
		send := hear(t, c, 0, m)
		if len(send) != 1 || send[0].To != m.From {
			t.Fatalf("%d answers to the model of %s", len(send), m.From)
		}
		wantClose(t, "basic", send[0].Real, localGradient(task, m.Real), 1e-9) // M/S is 1
	}
	if len(c.offsets) != 0 {
		t.Error("offsets kept after the last server got its own")
	}
}

// Client-averaged waits for the servers that are there, and for half a deadline.
func TestClientWaitsForTheModels(t *testing.T) {
	task := polarTask()
	task.Polar.Update = "client-averaged"
	c := testClient(t, task, nil)
	out, err := c.Receive(time.Second, model("s1", 1, 1, 1))
	if err != nil || out.Ask != nil || out.Next != 1500*time.Millisecond {
		t.Fatalf("after one model: asks %v, next %v, %v", out.Ask != nil, out.Next, err)
	}
	if out := c.Tick(1499 * time.Millisecond); out.Ask != nil {
		t.Error("did not wait")
	}
	if out := c.Neighbours(1499*time.Millisecond, append(liveEdges("s1"), Edge{Peer: "s2"})); out.Ask == nil {
		t.Error("waits for servers that are away")
	}
	c = testClient(t, task, nil)
	if _, err := c.Receive(time.Second, model("s1", 1, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if out := c.Tick(1500 * time.Millisecond); out.Ask == nil {
		t.Error("waits for ever")
	}
}

func TestClientIsSilent(t *testing.T) {
	c := must(New(polarConfig(polarTask(), "h"))).(*polarClient)
	c.Neighbours(0, liveEdges("s1"))
	if out, _ := c.Receive(0, model("s1", 1, 0, 0)); out.Ask != nil {
		t.Error("asks without records")
	}
	c = testClient(t, polarTask(), nil)
	c.Neighbours(0, nil)
	if out, _ := c.Receive(0, model("s1", 1, 0, 0)); out.Ask != nil {
		t.Error("asks with no server there")
	}
	if out := c.Neighbours(0, liveEdges("s2")); out.Ask == nil {
		t.Fatal("does not answer once a server is there")
	}
	if out := c.Released(0, privacy.Answer{}); len(out.Send) > 0 || out.Ask != nil {
		t.Error("sends although the budget is used up")
	}
	if out, _ := c.Receive(0, model("s1", 2, 0, 0)); out.Ask != nil {
		t.Error("asks for records that cannot pay")
	}
	if out := c.Released(0, privacy.Answer{Sum: []float64{1, 1}, Slots: 1}); len(out.Send) > 0 {
		t.Error("an answer nobody asked for was sent")
	}
	task := polarTask()
	task.Rounds.Count = 2
	c = testClient(t, task, nil)
	if out, _ := c.Receive(0, model("s1", 3, 0, 0)); out.Ask != nil {
		t.Error("answers the result")
	}
}

// A gradient is never released twice for one step, whatever happened in between.
func TestResumedClientAnswersNewSteps(t *testing.T) {
	for _, update := range []string{"minimum-wait", "client-averaged", "basic"} {
		task := polarTask()
		task.Polar.Update = update
		c := testClient(t, task, nil)
		for _, s := range []ID{"s1", "s2", "s3"} {
			hear(t, c, 0, model(s, 4, 1, 1))
		}
		saved := c.State()
		d := testClient(t, task, &saved)
		if got := d.State(); !reflect.DeepEqual(got, saved) {
			t.Errorf("%s: resumed with %+v, saved %+v", update, got, saved)
		}
		if out := d.Neighbours(0, liveEdges("s1", "s2", "s3")); out.Ask != nil {
			t.Errorf("%s: answers again", update)
		}
		if _, err := d.Receive(0, model("s1", 4, 1, 1)); !errors.Is(err, ErrStale) {
			t.Errorf("%s: a step heard before the restart: %v", update, err)
		}
		var send []Message
		for _, s := range []ID{"s1", "s2", "s3"} {
			send = append(send, hear(t, d, 0, model(s, 5, 1, 1))...)
		}
		if len(send) != 3 || d.State().Round <= saved.Round {
			t.Errorf("%s: %d answers to a new step, round %d after %d", update, len(send), d.State().Round, saved.Round)
		}
	}
}

// With polar.private the guarantee is that of the door: what is sent follows from
// its answer, what was public and the client's own coins, not from the records.
func TestObfuscationIsPostProcessing(t *testing.T) {
	task := polarTask()
	task.Polar.Private = true
	var sent [2][]Message
	for k := range sent {
		c := polarConfig(task, "h")
		c.Policy = repeated(must(privacy.NewGaussian(1, 3)))
		a := must(New(c))
		if err := a.Records(testRecords(1, Seq(1+100*k), 9), nil); err != nil {
			t.Fatal(err)
		}
		a.Neighbours(0, liveEdges("s1"))
		out, err := a.Receive(0, model("s1", 1, 1, -1))
		if err != nil || out.Ask == nil || !out.Ask.Mechanism.Protected() {
			t.Fatalf("no protected query: %v", err)
		}
		sent[k] = a.Released(0, privacy.Answer{Sum: []float64{3, 4}, Slots: 8, Cohorts: []privacy.Cohort{1}}).Send
	}
	if len(sent[0]) != 3 || !reflect.DeepEqual(sent[0], sent[1]) {
		t.Errorf("other records, one answer: %v and %v", sent[0], sent[1])
	}
}

// A model of the window before comes late: its weights are gone, and new ones would
// spoil the sums of both windows.
func TestClientLeavesPastWindows(t *testing.T) {
	task := polarTask()
	task.Polar.Update = "basic"
	c := testClient(t, task, nil)
	if len(hear(t, c, 0, model("s1", 3, 1, 1))) != 1 {
		t.Fatal("no answer")
	}
	weights := c.weights
	if len(hear(t, c, 0, model("s2", 2, 1, 1))) != 0 {
		t.Error("answered a step of the window before")
	}
	if len(hear(t, c, 0, model("s2", 3, 1, 1))) != 1 || !reflect.DeepEqual(weights, c.weights) {
		t.Error("the weights changed within a window")
	}
}
