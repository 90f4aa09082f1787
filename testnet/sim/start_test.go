package sim

import (
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Agents that begin at the minimiser of Q, each knowing where the neighbours begin,
// stay there: block coordinate descent has nothing left to do, but for what
// quantising gradients of norm 1 takes away.
func TestStartAtGivenModels(t *testing.T) {
	task := testTask("logistic")
	policy, err := task.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	edges := RandomGraph(12, 4, 3)
	c := Config{Task: task, Participants: people(t, task, 12, policy), Seed: 1, WakeMean: time.Second, Until: time.Hour}
	records := make([][]learner.Record, len(edges))
	for i, p := range c.Participants {
		records[i] = p.Records
	}
	want, err := learner.MinimiseQ(task, records, Weights(edges))
	if err != nil {
		t.Fatal(err)
	}
	index := map[learner.ID]int{}
	for i := range edges {
		index[Name(i)] = i
	}
	for i := range edges {
		start := &learner.State{Round: 1, Model: want[i]}
		for _, e := range edges[i] {
			start.Heard = append(start.Heard, learner.Heard{Peer: e.Peer, Weight: e.Weight, Round: 1, Model: want[index[e.Peer]]})
		}
		p := &c.Participants[i]
		p.Edges, p.Releases, p.Start = edges[i], 3, start
	}
	for i, s := range run(t, c).States {
		if d := floats.Distance(s.Model, want[i], 2); d > 1e-6 || s.Round != 4 {
			t.Errorf("agent %d is %g from where it began, in round %d", i, d, s.Round)
		}
	}
}

// Looking at single participants on the way shows what a sample of all shows, and changes
// nothing: a run that nobody looks at ends in the same states.
func TestLookingChangesNothing(t *testing.T) {
	for _, private := range []bool{false, true} {
		c, err := Crowd{Agents: 40, Dimension: 6, Neighbours: 4, Records: 5, Private: private, Seed: 2}.Config()
		if err != nil {
			t.Fatal(err)
		}
		c.Loss, c.Duplicate, c.Until = 0.2, 0.1, 12*time.Second
		var sampled [][]learner.State
		c.Every, c.Sample = 3*time.Second, func(_ time.Duration, states []learner.State) { sampled = append(sampled, states) }
		unseen := run(t, c)
		c.Sample = nil
		looked, err := Start(c)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 4 {
			if err := looked.Advance(time.Duration(k+1)*c.Every - 1); err != nil {
				t.Fatal(err)
			}
			for i := range c.Participants {
				if k == 1 && i%3 == 0 {
					continue // so that some are looked at less often
				}
				s, err := looked.State(i)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(s, sampled[k][i]) {
					t.Errorf("private %v, after %v: participant %d has %+v, want %+v", private, time.Duration(k+1)*c.Every, i, s, sampled[k][i])
				}
			}
		}
		if err := looked.Advance(c.Until); err != nil {
			t.Fatal(err)
		}
		for i := range c.Participants {
			if s, err := looked.State(i); err != nil || !reflect.DeepEqual(s, unseen.States[i]) {
				t.Errorf("private %v: participant %d ends with %+v, %v, want %+v", private, i, s, err, unseen.States[i])
			}
		}
		if sent, lost := looked.Messages(); sent != unseen.Sent[learner.KindModel] || lost != unseen.Lost || lost == 0 {
			t.Errorf("%d messages sent and %d lost, want %d and %d", sent, lost, unseen.Sent[learner.KindModel], unseen.Lost)
		}
	}
}
