package learner

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Eq. 16, iterated from zero, against the limit in the golden file.
func TestEquation16FixedPointMatchesGolden(t *testing.T) {
	for name, g := range goldenCases(t) {
		models := make([][]float64, len(g.ThetaLoc))
		for i := range models {
			models[i] = make([]float64, 3)
		}
		for range 500 {
			for i := range models {
				mean := make([]float64, 3)
				for j, w := range g.Inputs.W[i] {
					floats.AddScaled(mean, w/floats.Sum(g.Inputs.W[i]), models[j])
				}
				models[i] = propagate(mean, g.ThetaLoc[i], g.Inputs.Mu*g.Inputs.C[i])
			}
		}
		for i := range models {
			wantClose(t, name, models[i], g.ModelPropagation[i], goldenMinimiser)
		}
	}
}

// The same by agents that have made their release and talk until all are silent.
func TestAgentsReachTheGoldenFixedPoint(t *testing.T) {
	for name, g := range goldenCases(t) {
		task := propagationTask("squared", 3)
		task.Mu, task.ConfidenceAt, task.Propagation.Tolerance = g.Inputs.Mu, 6, 1e-12
		agents := make(map[ID]Agent)
		ids := []ID{"a", "b", "c", "d"}
		next := make(map[ID]time.Duration)
		for i, id := range ids {
			resume := &State{Model: make([]float64, 3), Fit: &Fit{Model: g.ThetaLoc[i], Slots: g.Inputs.M[i]}}
			agents[id] = must(New(Config{Self: id, Task: task, WakeMean: 1, Schedule: source(), Resume: resume}))
			var edges []Edge
			for j, w := range g.Inputs.W[i] {
				edges = append(edges, Edge{Peer: ids[j], Weight: w, Live: true})
			}
			next[id] = agents[id].Neighbours(0, edges).Next
		}
		talkUntilSilent(t, ids, agents, next)
		for i, id := range ids {
			wantClose(t, name, agents[id].State().Model, g.ModelPropagation[i], goldenMinimiser)
		}
	}
}

// talkUntilSilent ticks the agent that is due first and delivers at once.
func talkUntilSilent(t *testing.T, ids []ID, agents map[ID]Agent, next map[ID]time.Duration) {
	t.Helper()
	for range 100_000 {
		first := ids[0]
		for _, id := range ids {
			if next[id] < next[first] {
				first = id
			}
		}
		now := next[first]
		if now == Never {
			return
		}
		out := agents[first].Tick(now)
		next[first] = out.Next
		for _, m := range out.Send {
			for _, id := range ids {
				if out, err := agents[id].Receive(now, m); err == nil {
					next[id] = out.Next
				}
			}
		}
	}
	t.Error("the agents never fall silent")
}

// propagationAgent has two parameters, a live neighbour "b" and no records.
func propagationAgent(t *testing.T, resume *State) *propagation {
	t.Helper()
	task := propagationTask("squared", 2)
	policy := must(task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 1}).Policy())
	a := must(New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: source(), Resume: resume}))
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 2, Live: true}, {Peer: "c", Weight: 1}})
	return a.(*propagation)
}

func TestPropagationReleasesOnceAndThenOnlySmooths(t *testing.T) {
	a := propagationAgent(t, nil)
	if err := a.Records(append(testRecords(1, 1, 12), testRecords(2, 13, 6)...), nil); err != nil {
		t.Fatal(err)
	}
	out := a.Tick(a.next)
	if out.Ask == nil || len(out.Ask.Sums) != 1 || out.Ask.Sums[0].Cohort() != 1 || out.Ask.Sums[0].Slots() != 10 || out.Ask.Round != 1 {
		t.Fatalf("asks %+v, want the first cohort's 10 records", out.Ask)
	}
	if out.Next != Never {
		t.Error("the clock runs while the release is at the door")
	}
	out = a.Released(a.next, privacy.Answer{Sum: []float64{4, -2}, Slots: 10, Cohorts: []privacy.Cohort{1}})
	want := []float64{2, -1} // over 2 m r = 2
	if len(out.Send) != 1 || out.Send[0].Round != 1 || out.Send[0].Kind != KindModel {
		t.Fatalf("sends %+v, want the first model", out.Send)
	}
	wantClose(t, "the fit, alone", out.Send[0].Real, want, 1e-15)
	if got := out.Send[0].NoiseStd; math.Abs(got-a.mechanism.NoiseStd()/2) > 1e-15 {
		t.Errorf("noise %v, want %v", got, a.mechanism.NoiseStd()/2)
	}

	heard := Message{From: "b", Kind: KindModel, Round: 1, NoiseStd: 0.3, Real: []float64{1, 1}}
	if _, err := a.Receive(out.Next, heard); err != nil {
		t.Fatal(err)
	}
	out = a.Tick(a.next)
	const w = 0.2 // mu 1, 10 of 50 records; c was not heard
	if out.Ask != nil || len(out.Send) != 1 || out.Send[0].Round != 2 {
		t.Fatalf("asks %+v, sends %+v, want a second model unpaid", out.Ask, out.Send)
	}
	wantClose(t, "eq. 16", out.Send[0].Real, []float64{(1 + 2*w) / (1 + w), (1 - w) / (1 + w)}, 1e-15)
	if got, want := out.Send[0].NoiseStd, math.Hypot(0.3, w*a.mechanism.NoiseStd()/2)/(1+w); math.Abs(got-want) > 1e-15 {
		t.Errorf("noise %v, want %v", got, want)
	}
	if out.Next != Never || a.Tick(time.Hour).Ask != nil {
		t.Error("goes on although nothing is new")
	}
	if out, err := a.Receive(time.Hour, Message{From: "b", Kind: KindModel, Round: 2, Real: []float64{1, 1}}); err != nil || out.Next == Never {
		t.Error("does not wake for news")
	}
	if out := a.Tick(a.next); len(out.Send) != 0 {
		t.Error("says the same again")
	}
}

// Without a release it passes on what it hears: nothing of its own is in it.
func TestPropagationWithoutAReleasePassesOn(t *testing.T) {
	for name, records := range map[string][]Record{"no records": nil, "no budget": testRecords(1, 1, 4)} {
		a := propagationAgent(t, nil)
		if err := a.Records(records, nil); err != nil {
			t.Fatal(err)
		}
		out := a.Tick(a.next)
		if (out.Ask != nil) != (records != nil) || len(out.Send) > 0 {
			t.Fatalf("%s: asks %+v, sends %+v", name, out.Ask, out.Send)
		}
		out = a.Released(0, privacy.Answer{}) // ignored if nothing was asked
		if _, err := a.Receive(out.Next, Message{From: "b", Kind: KindModel, Round: 7, NoiseStd: 0.1, Real: []float64{1, 2}}); err != nil {
			t.Fatal(err)
		}
		out = a.Tick(a.next)
		if out.Ask != nil || len(out.Send) != 1 || out.Send[0].NoiseStd != 0.1 {
			t.Fatalf("%s: asks %+v, sends %+v", name, out.Ask, out.Send)
		}
		wantClose(t, name, out.Send[0].Real, []float64{1, 2}, 0)
	}
}

// A cohort whose budget is gone, as all are after a restore, is passed over for
// the next.
func TestPropagationReleasesTheOldestCohortThatCanPay(t *testing.T) {
	a := propagationAgent(t, nil)
	if err := a.Records(append(testRecords(1, 1, 12), testRecords(2, 13, 12)...), nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []privacy.Cohort{1, 2} {
		out := a.Tick(a.next)
		if out.Ask == nil || out.Ask.Sums[0].Cohort() != want {
			t.Fatalf("asks %+v, want cohort %d", out.Ask, want)
		}
		if out = a.Released(a.next, privacy.Answer{}); len(out.Send) > 0 {
			t.Error("sends without a release")
		}
	}
	if out := a.Tick(a.next); out.Ask != nil || out.Next != Never {
		t.Error("asks again although no cohort can pay")
	}
}

func TestPropagationWaitsForAListener(t *testing.T) {
	a := propagationAgent(t, nil)
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 2}})
	if err := a.Records(testRecords(1, 1, 4), nil); err != nil {
		t.Fatal(err)
	}
	if out := a.Tick(a.next); out.Ask != nil || out.Next != Never {
		t.Error("releases into an empty room, or keeps waking there")
	}
	if out := a.Neighbours(time.Minute, []Edge{{Peer: "b", Weight: 2, Live: true}}); out.Next == Never || a.Tick(out.Next).Ask == nil {
		t.Error("does not release once somebody listens")
	}
}

// A restart goes on from the release: it is neither made again nor forgotten.
func TestPropagationResumes(t *testing.T) {
	a := propagationAgent(t, nil)
	if err := a.Records(testRecords(1, 1, 12), nil); err != nil {
		t.Fatal(err)
	}
	a.Tick(a.next)
	a.Released(0, privacy.Answer{Sum: []float64{4, -2}, Slots: 10, Cohorts: []privacy.Cohort{1}})
	if _, err := a.Receive(0, Message{From: "b", Kind: KindModel, Round: 1, NoiseStd: 0.3, Real: []float64{1, 1}}); err != nil {
		t.Fatal(err)
	}
	text := must(json.Marshal(a.State()))
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	b := propagationAgent(t, &state)
	if err := b.Records(testRecords(1, 1, 12), nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.State(), b.State()) {
		t.Error("the state changed")
	}
	was, is := a.Tick(a.next), b.Tick(b.next)
	if is.Ask != nil || !reflect.DeepEqual(was.Send, is.Send) {
		t.Errorf("sends %+v after the restart, %+v without", is.Send, was.Send)
	}
}

func TestPropagationRefuses(t *testing.T) {
	for name, s := range map[string]State{
		"a short model":   {Model: []float64{1}},
		"a short fit":     {Model: []float64{1, 1}, Fit: &Fit{Model: []float64{1}, Slots: 1}},
		"a fit of nobody": {Model: []float64{1, 1}, Fit: &Fit{Model: []float64{1, 1}}},
		"a wild noise":    {Model: []float64{1, 1}, NoiseStd: math.NaN()},
		"an odd fit":      {Model: []float64{1, 1}, Fit: &Fit{Model: []float64{1, 1}, NoiseStd: math.NaN(), Slots: 1}},
		"a noisy fit":     {Model: []float64{1, 1}, Fit: &Fit{Model: []float64{1, 1}, NoiseStd: math.Inf(1), Slots: 1}},
		"a wild fit":      {Model: []float64{1, 1}, Fit: &Fit{Model: []float64{math.NaN(), 1}, Slots: 1}},
	} {
		if _, err := New(Config{Self: "a", Task: propagationTask("squared", 2), WakeMean: 1, Schedule: source(), Resume: &s}); err == nil {
			t.Errorf("resumes %s", name)
		}
	}
	for name, change := range map[string]func(*Task){
		"no ridge":             func(t *Task) { t.Propagation.Ridge = 0 },
		"no tolerance":         func(t *Task) { t.Propagation.Tolerance = 0 },
		"endless fits":         func(t *Task) { t.Propagation.Ridge = 1e-9 },
		"not a number":         func(t *Task) { t.Propagation.Ridge = math.NaN() },
		"many releases":        func(t *Task) { t.Release.MaxReleases = 2 },
		"keys without learner": func(t *Task) { t.Learner = "personal" },
	} {
		task := propagationTask("squared", 2)
		change(task)
		if task.Validate() == nil {
			t.Errorf("accepts a task with %s", name)
		}
	}
	if err := propagationTask("squared", 2).Validate(); err != nil {
		t.Error(err)
	}
}

// A policy with a batch is refused, because a whole vector cannot have one.
func TestPropagationRefusesBatches(t *testing.T) {
	task := propagationTask("squared", 2)
	policy := must(privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: 2, Clip: 1, Releases: 1,
		Accounting: privacy.CommittedPlan, Batch: 5, Slots: 10,
	}.Policy())
	if _, err := New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: source()}); err == nil {
		t.Error("takes a subsampled mechanism")
	}
}
