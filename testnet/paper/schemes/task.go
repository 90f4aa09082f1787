package schemes

import (
	"fmt"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// latency is the mean delay of a message, far below the deadline of a round.
const latency = time.Millisecond

// run is one simulation: agent i has records[i], policies[i] and edges[i].
type run struct {
	task     *learner.Task
	edges    [][]learner.Edge
	records  [][]learner.Record
	policies []privacy.Policy
	wrap     func(i int, a learner.Agent) learner.Agent // nil: nothing
}

// simulate runs the agents until they have nothing left to do.
func (r *run) simulate(seed uint64) (*sim.Result, error) {
	c := sim.Config{
		Task: r.task, Seed: seed, Wrap: r.wrap,
		WakeMean: time.Second, Latency: latency, Until: 100000 * time.Hour,
	}
	for i := range r.edges {
		c.Participants = append(c.Participants, sim.Participant{
			ID: sim.Name(i), Records: r.records[i], Edges: r.edges[i], Policy: r.policies[i],
		})
	}
	return sim.Run(c)
}

// rounds is simulate for learners that release in every round. It returns an error if a
// round was incomplete or if the budget did not last.
func (r *run) rounds(seed uint64) (*sim.Result, error) {
	got, err := r.simulate(seed)
	if err != nil {
		return nil, err
	}
	count := r.task.Rounds.Count
	for i, s := range got.States {
		if s.Round != uint64(count) || got.Releases[i] != count || s.Dropped > 0 {
			return nil, fmt.Errorf("schemes: agent %d made %d releases in %d of %d rounds, %d edges left out", i, got.Releases[i], s.Round, count, s.Dropped)
		}
	}
	return got, nil
}

// baseTask has the keys that every task needs; records have p coordinates.
func baseTask(name, loss string, p int) *learner.Task {
	return &learner.Task{
		Name: "schemes", Learner: name, Loss: loss, Features: learner.NumberFeatures(p), Target: learner.Target{Name: "y"},
		Mu: 1, Clip: 1, ConfidenceAt: 1, Radius: 1e5, CohortSize: 1 << 20,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: 1, Kappa: 1},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-5, Releases: 1, MaxEpsilon: 1000, MaxDelta: 0.1, MaxReleases: 1 << 16, WakeSeconds: 1, MinWake: 1,
		},
		Rounds: learner.Rounds{Seconds: 10},
	}
}

// trainingRecords numbers n records so that none of them is held out.
func trainingRecords(n int, draw func() ([]float64, float64)) []learner.Record {
	records := make([]learner.Record, n)
	for i := range records {
		x, y := draw()
		records[i] = learner.Record{Seq: sim.TrainingSeq(i), Cohort: 1, X: x, Y: y}
	}
	return records
}

// repeated is a policy that always uses one mechanism, without an account: for noise
// that no budget bounds.
func repeated(m privacy.Mechanism) privacy.Policy {
	return privacy.Policy{Schedule: privacy.NewSchedule(privacy.Step{Mechanism: m, Count: 1})}
}
