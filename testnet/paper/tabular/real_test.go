package tabular

import (
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// What real nodes are given is what the simulator learns: the same records, none of
// them at a number that a device holds out, the same task and budget, in fewer rounds.
func TestPeopleAreTheNodes(t *testing.T) {
	task := (&learner.Task{Name: "table", Target: learner.Target{Name: "y", Min: -1, Max: 1}}).Complete(nil, learner.Expected{})
	task.Release.Epsilon, task.Release.Releases = 3, 5 // of the task, not of the setting
	s := setting{task: task, releases: 64, budget: privacy.Budget{Epsilon: 2, Delta: 1e-4}}
	train := make([]learner.Record, 9)
	for i := range train {
		train[i].Y = float64(i)
	}
	d := s.people([]node{newNode("a", train, make([]learner.Record, 2)), newNode("b", train[:1:1], nil)})
	if len(d.People) != 2 || d.People[0].Name != "a" || len(d.People[0].Records) != 9 || len(d.People[0].Test) != 2 {
		t.Fatalf("people %+v", d.People)
	}
	for i, r := range d.People[0].Records {
		if r.Seq.HeldOut() || r.Y != float64(i) {
			t.Errorf("record %d is number %d with y = %v", i, r.Seq, r.Y)
		}
	}
	if r := d.Task.Release; r.Epsilon != 2 || r.Delta != 1e-4 || r.Releases != realRounds || d.Task.Rounds.Count != realRounds {
		t.Errorf("release %+v", r)
	}
	if task.Release.Releases != 5 {
		t.Error("the setting's task was changed")
	}
}
