package learner

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"p2pnode/privacy"
)

// twin drives an agent through wakes and messages, and returns its state.
func twin(t *testing.T, change func(*Config)) State {
	t.Helper()
	task := plainTask("squared", 3)
	policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: task.GradientBound()}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: rand.New(rand.NewPCG(1, 1))}
	change(&c)
	agent, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, noise := rand.New(rand.NewPCG(2, 2)), privacy.NewSeededNoise(1)
	if err := agent.Records(draw(r, task, normals(r, task.Dimension()), 9, 1), nil); err != nil {
		t.Fatal(err)
	}
	out := agent.Neighbours(0, []Edge{{"b", 1, true}, {"c", 2, true}})
	var answer privacy.Answer
	for round := range uint64(20) {
		for _, peer := range []ID{"b", "c"} {
			m := Message{From: peer, Kind: KindModel, Round: round + 1, Real: normals(r, task.Dimension())}
			if _, err := agent.Receive(out.Next, m); err != nil {
				t.Fatal(err)
			}
		}
		asked := agent.Tick(out.Next)
		noise.AnswerInto(&answer, asked.Ask.Mechanism, asked.Ask.Sums)
		out = agent.Released(out.Next, answer)
	}
	return agent.State()
}

// Shared memory, and memory for two models, change no bit.
func TestAWorkspaceChangesNothing(t *testing.T) {
	want := twin(t, func(*Config) {})
	vectors, turn := [2][]float64{}, 0
	got := twin(t, func(c *Config) {
		for i := range vectors {
			vectors[i] = make([]float64, c.Task.Dimension())
		}
		c.Workspace = &Workspace{Vector: func() []float64 { turn++; return vectors[turn%2] }}
	})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("state %+v, want %+v", got, want)
	}
	if turn != 20 {
		t.Errorf("%d vectors for 20 releases", turn)
	}
}

// What an agent without shared memory returns lasts.
func TestOutputsLastWithoutAWorkspace(t *testing.T) {
	task := plainTask("squared", 3)
	policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: task.GradientBound()}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	agent, err := New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: rand.New(rand.NewPCG(1, 1))})
	if err != nil {
		t.Fatal(err)
	}
	r, noise := rand.New(rand.NewPCG(2, 2)), privacy.NewSeededNoise(1)
	if err := agent.Records(draw(r, task, normals(r, task.Dimension()), 9, 1), nil); err != nil {
		t.Fatal(err)
	}
	wake := func(at time.Duration) (Message, time.Duration) {
		q := agent.Tick(at).Ask
		out := agent.Released(at, noise.Answer(q.Mechanism, q.Sums))
		return out.Send[0], out.Next
	}
	first, next := wake(agent.Neighbours(0, []Edge{{"b", 1, true}}).Next)
	kept := append([]float64(nil), first.Real...)
	second, _ := wake(next)
	if first.Round != 1 || second.Round != 2 || !reflect.DeepEqual(first.Real, kept) {
		t.Errorf("the first message is %+v after the second", first)
	}
}

// A wake with shared memory allocates nothing.
func TestWakeAllocatesNothing(t *testing.T) {
	for _, loss := range []string{"squared", "logistic", "huber", "hinge"} {
		wake := wakingAgent(t, loss, 5, 10, 4)
		wake()
		if n := testing.AllocsPerRun(100, wake); n != 0 {
			t.Errorf("%s: %v allocations a wake", loss, n)
		}
	}
}

// wakingAgent makes an agent with records and neighbours, and returns a function
// that lets it hear everybody and wake.
func wakingAgent(t testing.TB, loss string, p, records, neighbours int) func() {
	t.Helper()
	task := plainTask(loss, p)
	task.Target.Name = "target"
	policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: task.GradientBound()}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	vectors, turn := [2][]float64{make([]float64, task.Dimension()), make([]float64, task.Dimension())}, 0
	agent, err := New(Config{
		Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: rand.New(rand.NewPCG(1, 1)),
		Workspace: &Workspace{Vector: func() []float64 { turn++; return vectors[turn%2] }},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	if err := agent.Records(draw(r, task, normals(r, task.Dimension()), records, 1), nil); err != nil {
		t.Fatal(err)
	}
	var edges []Edge
	for k := range neighbours {
		edges = append(edges, Edge{ID(rune('b' + k)), 1, true})
	}
	out, round, model := agent.Neighbours(0, edges), uint64(0), normals(r, task.Dimension())
	var answer privacy.Answer
	var noise *privacy.SeededNoise
	return func() {
		round++
		for k := range edges {
			if _, err := agent.Receive(out.Next, Message{From: edges[k].Peer, Kind: KindModel, Round: round, Real: model}); err != nil {
				t.Fatal(err)
			}
		}
		asked := agent.Tick(out.Next)
		noise.AnswerInto(&answer, asked.Ask.Mechanism, asked.Ask.Sums)
		out = agent.Released(out.Next, answer)
	}
}

// The price of a wake when everything it needs is in the cache.
func BenchmarkWake(b *testing.B) {
	wake := wakingAgent(b, "squared", 50, 12, 10)
	b.ReportAllocs()
	for b.Loop() {
		wake()
	}
}
