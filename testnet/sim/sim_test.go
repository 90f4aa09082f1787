package sim

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
)

func testTask(loss string) *learner.Task {
	t := learner.Linear()
	t.Features = t.Features[:3]
	t.Loss = loss
	t.Graph = learner.Graph{Rule: "random", Degree: 4}
	if loss == "squared" {
		t.Target.Min, t.Target.Max = -5, 5
	}
	return t
}

// people draws n participants with 8 to 40 records of their own linear model.
func people(t *testing.T, task *learner.Task, n int, policy privacy.Policy) []Participant {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	edges := RandomGraph(n, task.Graph.Degree, 3)
	out := make([]Participant, n)
	for i := range out {
		slope := []float64{r.NormFloat64(), 1, r.NormFloat64()}
		out[i] = Participant{ID: Name(i), Edges: edges[i], Policy: policy}
		for k := range 8 + r.IntN(33) {
			x := []float64{r.Float64() - 0.5, r.Float64() - 0.5, r.Float64() - 0.5}
			y := floats.Dot(slope, x) + 0.1*r.NormFloat64()
			if task.Loss == "logistic" {
				y = float64(2*r.IntN(2) - 1)
			}
			out[i].Records = append(out[i].Records, learner.Record{Seq: learner.Seq(k + 1), X: x, Y: y})
		}
	}
	return out
}

func config(t *testing.T, releases int) Config {
	t.Helper()
	task := testTask("squared")
	policy, err := design(task, releases).Policy()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Task: task, Participants: people(t, task, 12, policy), Seed: 4,
		WakeMean: time.Second, Latency: 30 * time.Millisecond, Until: time.Hour, Trace: true,
	}
}

func run(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSameSeedSameBits(t *testing.T) {
	a, b := run(t, config(t, 6)), run(t, config(t, 6))
	if !reflect.DeepEqual(a, b) {
		t.Error("two runs with one seed differ")
	}
	c := config(t, 6)
	c.Seed++
	if reflect.DeepEqual(a.States, run(t, c).States) {
		t.Error("another seed changes nothing")
	}
}

func TestBudgetIsExhaustedExactly(t *testing.T) {
	const releases = 7
	c := config(t, releases)
	r := run(t, c)
	messages := 0
	for i := range r.States {
		if r.Releases[i] != releases || r.States[i].Round != releases {
			t.Errorf("agent %d made %d releases and is in round %d, want %d", i, r.Releases[i], r.States[i].Round, releases)
		}
		if r.Spent[i] > 1 || r.Spent[i] < 0.999 {
			t.Errorf("agent %d spent %v of its budget", i, r.Spent[i])
		}
		messages += releases * len(c.Participants[i].Edges)
	}
	// With delays, a message can be overtaken by the next one: then it is stale.
	if r.Messages > messages || r.Messages < messages*9/10 {
		t.Errorf("%d messages delivered of %d sent", r.Messages, messages)
	}
}

func TestEveryTraceReplays(t *testing.T) {
	c := config(t, 5)
	r := run(t, c)
	for i, p := range c.Participants {
		fresh, err := learner.New(learner.Config{
			Self: p.ID, Task: c.Task, Policy: p.Policy, WakeMean: c.WakeMean.Seconds(), Schedule: AgentSchedule(c.Seed, i),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := learner.Replay(fresh, r.Traces[i]); !reflect.DeepEqual(got, r.States[i]) {
			t.Errorf("agent %d replayed to another state", i)
		}
	}
}

// Without clipping and noise the agents converge to the minimiser of Q.
func TestUnprotectedRunReachesTheMinimiserOfQ(t *testing.T) {
	for _, loss := range []string{"squared", "logistic"} {
		task := testTask(loss)
		task.Mu = 1
		policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: task.GradientBound()}.Policy()
		if err != nil {
			t.Fatal(err)
		}
		c := Config{Task: task, Participants: people(t, task, 12, policy), Seed: 1, WakeMean: time.Second, Latency: time.Millisecond, Until: 2000 * time.Second}
		edges, records := make([][]learner.Edge, 12), make([][]learner.Record, 12)
		for i, p := range c.Participants {
			edges[i], records[i] = p.Edges, p.Records
		}
		want, err := learner.MinimiseQ(task, records, Weights(edges))
		if err != nil {
			t.Fatal(err)
		}
		var distance, norm float64
		for i, s := range run(t, c).States {
			d := floats.Distance(s.Model, want[i], 2)
			distance += d * d
			norm += floats.Dot(want[i], want[i])
		}
		if distance > 1e-12*norm {
			t.Errorf("%s: squared distance to the minimiser %g, relative to its norm", loss, distance/norm)
		}
	}
}

func TestSampleSeesTheLearningCurve(t *testing.T) {
	c := config(t, 5)
	c.Every = 500 * time.Millisecond
	var times []time.Duration
	var rounds []uint64
	c.Sample = func(now time.Duration, states []learner.State) {
		var total uint64
		for _, s := range states {
			total += s.Round
		}
		times, rounds = append(times, now), append(rounds, total)
	}
	r := run(t, c)
	for k := range times {
		if k > 0 && (times[k] < times[k-1] || rounds[k] < rounds[k-1]) {
			t.Fatalf("sample %d goes back", k)
		}
		if k < len(times)-1 && times[k] != time.Duration(k+1)*c.Every {
			t.Errorf("sample %d at %v", k, times[k])
		}
	}
	if last := len(times) - 1; last < 5 || times[last] != r.End || rounds[last] != 5*12 {
		t.Errorf("%d samples, the last in total round %d", len(times), rounds[last])
	}
	c.Sample = nil
	if !reflect.DeepEqual(r.States, run(t, c).States) {
		t.Error("looking changed the run")
	}
}

// Somebody without neighbours or without records does not keep the others
// running, and the horizon stops what would never end.
func TestRunEnds(t *testing.T) {
	c := config(t, 3)
	c.Participants = append(c.Participants,
		Participant{ID: "hermit", Records: c.Participants[0].Records, Policy: c.Participants[0].Policy},
		Participant{ID: "blank", Edges: c.Participants[0].Edges, Policy: c.Participants[0].Policy},
		Participant{ID: "friend of a stranger", Records: c.Participants[0].Records, Edges: []learner.Edge{{Peer: "stranger", Weight: 1}}, Policy: c.Participants[0].Policy})
	c.Until = time.Minute
	r := run(t, c)
	if r.Releases[0] != 3 || r.Releases[12] != 0 || r.Releases[13] != 0 || r.Releases[14] != 0 {
		t.Errorf("releases %v", r.Releases)
	}
	if r.End > time.Minute {
		t.Errorf("ended at %v", r.End)
	}
}

func TestRunRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no task":         func(c *Config) { c.Task = nil },
		"no horizon":      func(c *Config) { c.Until = 0 },
		"no wakes":        func(c *Config) { c.WakeMean = 0 },
		"the same twice":  func(c *Config) { c.Participants[1].ID = c.Participants[0].ID },
		"a bad budget":    func(c *Config) { c.Participants[1].Policy.Terms.Budget.Epsilon = -1 },
		"an invalid task": func(c *Config) { c.Task.Mu = 0 },
		"a bad record":    func(c *Config) { c.Participants[2].Records[0].X = nil; c.Participants[2].Records[0].Seq = 0 },
	} {
		c := config(t, 3)
		change(&c)
		if _, err := Run(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	task := learner.Linear()
	policy, err := design(task, 16).Policy()
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	edges := RandomGraph(1000, 10, 1)
	list := make([]Participant, 1000)
	for i := range list {
		list[i] = Participant{ID: Name(i), Edges: edges[i], Policy: policy}
		for k := range 20 {
			x := make([]float64, 20)
			x[k] = r.Float64()
			list[i].Records = append(list[i].Records, learner.Record{Seq: learner.Seq(k + 1), X: x, Y: 1})
		}
	}
	for b.Loop() {
		if _, err := Run(Config{Task: task, Participants: list, WakeMean: time.Second, Until: time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
}

func design(task *learner.Task, releases int) privacy.Design {
	return privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: task.Dimension(), Clip: task.Clip, Releases: releases,
	}
}

// counted counts the ticks of an agent.
type counted struct {
	learner.Agent
	ticks *int
}

func (c counted) Tick(now time.Duration) learner.Output {
	*c.ticks++
	return c.Agent.Tick(now)
}

// What stands in for an agent sees its inputs, and changes nothing by looking.
func TestWrappedAgentsAreTheSame(t *testing.T) {
	plain := run(t, config(t, 6))
	c := config(t, 6)
	ticks := make([]int, len(c.Participants))
	c.Wrap = func(i int, a learner.Agent) learner.Agent { return counted{a, &ticks[i]} }
	wrapped := run(t, c)
	if !reflect.DeepEqual(plain.States, wrapped.States) {
		t.Error("the states differ")
	}
	for i, n := range ticks {
		if n < wrapped.Releases[i] {
			t.Errorf("agent %d: %d ticks, %d releases", i, n, wrapped.Releases[i])
		}
	}
}
