package sim

import (
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
