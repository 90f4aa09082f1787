package sim

import (
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// propagationConfig is a run of 12 people of model propagation on the given graph.
func propagationConfig(t *testing.T, edges [][]learner.Edge, noise privacy.Noise) Config {
	t.Helper()
	c := config(t, 1)
	c.Task.Learner, c.Task.Mu = "propagation", 1
	c.Task.Propagation = learner.Propagation{Ridge: 0.1, Tolerance: 1e-9}
	c.Task.Release.Releases, c.Task.Release.MaxReleases = 1, 1
	policy, err := c.Task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 1, Noise: noise}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Participants {
		c.Participants[i].Edges, c.Participants[i].Policy = edges[i], policy
	}
	return c
}

// fixedPoint solves eq. 16 for the released fits,
//
//	(1 + w_i) T_i - sum_j (W_ij/D_i) T_j = w_i T_i^loc,   w_i = mu c_i.
func fixedPoint(t *testing.T, task *learner.Task, weights [][]float64, states []learner.State) [][]float64 {
	t.Helper()
	n, p := len(states), task.Dimension()
	a, b := mat.NewDense(n, n, nil), mat.NewDense(n, p, nil)
	for i, s := range states {
		w := 0.0
		if s.Fit != nil {
			w = task.Mu * min(1, float64(s.Fit.Slots)/float64(task.ConfidenceAt))
			for k, v := range s.Fit.Model {
				b.Set(i, k, w*v)
			}
		}
		for j := range n {
			a.Set(i, j, -weights[i][j]/floats.Sum(weights[i]))
		}
		a.Set(i, i, 1+w)
	}
	var x mat.Dense
	if err := x.Solve(a, b); err != nil {
		t.Fatal(err)
	}
	models := make([][]float64, n)
	for i := range models {
		models[i] = x.RawRowView(i)
	}
	return models
}

func wantFixedPoint(t *testing.T, name string, c Config, r *Result) {
	t.Helper()
	edges := make([][]learner.Edge, len(c.Participants))
	for i := range edges {
		edges[i] = c.Participants[i].Edges
	}
	for i, want := range fixedPoint(t, c.Task, Weights(edges), r.States) {
		if d := floats.Distance(r.States[i].Model, want, 2); d > 1e-6*floats.Norm(want, 2) {
			t.Errorf("%s: agent %d is %g from the fixed point", name, i, d)
		}
	}
}

// Eq. 16 over messages, with and without noise: the agents fall silent at the
// solution of the linear system, with one release each.
func TestPropagationReachesItsFixedPoint(t *testing.T) {
	for name, edges := range map[string][][]learner.Edge{
		"ring": Ring(12), "star": Star(12), "full": Full(12), "random": RandomGraph(12, 10, 3),
	} {
		for _, noise := range []privacy.Noise{privacy.Gaussian, privacy.Unprotected} {
			c := propagationConfig(t, edges, noise)
			r := run(t, c)
			wantFixedPoint(t, name, c, r)
			for i, made := range r.Releases {
				if made != 1 || noise == privacy.Gaussian && r.Spent[i] < 0.999 {
					t.Errorf("%s: agent %d made %d releases and spent %v", name, i, made, r.Spent[i])
				}
			}
			if r.End == c.Until || r.States[0].Round < 5 {
				t.Errorf("%s: ended at %v, agent 0 in round %d", name, r.End, r.States[0].Round)
			}
		}
	}
}

// One without records and one that restarts do not keep the others from it. The
// one without passes on the mean of its neighbours.
func TestPropagationSurvivesRestartsAndGuests(t *testing.T) {
	c := propagationConfig(t, Ring(12), privacy.Gaussian)
	c.Participants[4].Records = nil
	c.Away = []Away{
		{Who: 2, From: 3 * time.Second, To: 20 * time.Second, Restart: true},
		{Who: 7, From: 0, To: 40 * time.Second},
		{Who: 8, From: 5 * time.Second, To: 6 * time.Second},
	}
	r := run(t, c)
	wantFixedPoint(t, "ring", c, r)
	if r.Releases[2] != 1 || r.Releases[4] != 0 || r.States[4].Round == 0 {
		t.Errorf("releases %v, the guest is in round %d", r.Releases, r.States[4].Round)
	}
}

func TestPropagationReplays(t *testing.T) {
	c := propagationConfig(t, RandomGraph(12, 4, 3), privacy.Gaussian)
	r := run(t, c)
	if !reflect.DeepEqual(r, run(t, c)) {
		t.Error("two runs with one seed differ")
	}
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
