package learner_test

import (
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// Vlaski and Sayed, eq. 3-4 without noise: agents over messages are the dense
// iteration, whatever the law of the noise would be, and without losses every
// edge counts in every round.
func TestDiffusionIsTheDenseIteration(t *testing.T) {
	for _, noise := range []string{"iid", "transmit-only", "graph-homomorphic"} {
		for _, loss := range []string{"squared", "logistic"} {
			for name, edges := range graphs(12) {
				task := roundsTask("diffusion", loss)
				task.Diffusion.Noise = noise
				n := newNetwork(task, edges)
				r := run(t, n.config(t))
				if d := apart(models(r), n.diffuse(task.Rounds.Count)); d > 1e-9 {
					t.Errorf("%s, %s, %s: %g from the dense iteration", noise, loss, name, d)
				}
				for i, s := range r.States {
					if s.Round != uint64(task.Rounds.Count) || s.Dropped+s.Asymmetric > 0 {
						t.Errorf("%s, %s: agent %d ended in round %d with %d edges dropped, %d asymmetric", loss, name, i, s.Round, s.Dropped, s.Asymmetric)
					}
				}
			}
		}
	}
}

// DP-dKM, algorithm 1 corrected, without noise: the same for the three operators.
func TestKMIsTheDenseIteration(t *testing.T) {
	for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
		for _, loss := range []string{"squared", "logistic"} {
			for name, edges := range graphs(12) {
				task := roundsTask("km", loss)
				task.KM.Operator = operator
				task.Rounds.Count = 12
				if operator != "gradient" {
					task.KM.L1, task.KM.L2 = 0.05, 0.02
				}
				n := newNetwork(task, edges)
				r := run(t, n.config(t))
				if d := apart(models(r), n.iterate(task.Rounds.Count)); d > 1e-6 {
					t.Errorf("%s, %s, %s: %g from the dense iteration", operator, loss, name, d)
				}
			}
		}
	}
}

// Every deterministic scheme reaches its own fixed point, one linear system for
// the squared loss.
func TestFixedPointOfTheLinearSystem(t *testing.T) {
	for _, name := range []string{"diffusion", "km"} {
		for graph, edges := range graphs(12) {
			task := roundsTask(name, "squared")
			task.Rounds.Count = 400
			n := newNetwork(task, edges)
			if d := apart(models(run(t, n.config(t))), n.solve(t)); d > 1e-6 {
				t.Errorf("%s, %s: %g from the fixed point", name, graph, d)
			}
		}
	}
}

// The schemes without a linear system reach what the dense iteration, run twice as
// long, has come to.
func TestFixedPointOfTheLongIteration(t *testing.T) {
	for _, c := range []struct{ learner, operator, loss string }{
		{"km", "proximal", "squared"}, {"km", "proximal", "logistic"}, {"km", "douglas-rachford", "squared"}, {"diffusion", "", "logistic"},
	} {
		for graph, edges := range map[string][][]learner.Edge{"star": sim.Star(8), "random": sim.RandomGraph(11, 10, 7)} {
			task := roundsTask(c.learner, c.loss)
			task.Rounds.Count = 300
			if c.learner == "km" {
				task.KM.Operator, task.KM.L1, task.KM.L2 = c.operator, 0.05, 0.02
			}
			n := newNetwork(task, edges)
			got := models(run(t, n.config(t)))
			want := n.iterate
			if c.learner == "diffusion" {
				want = n.diffuse
			}
			if d := apart(got, want(600)); d > 1e-6 {
				t.Errorf("%+v, %s: %g from the fixed point", c, graph, d)
			}
		}
	}
}

// With a constant step both end beside the minimum of the sum of all objectives, by a
// bias proportional to the step, which for km is alpha g.
func TestBiasShrinksWithTheStep(t *testing.T) {
	for _, name := range []string{"diffusion", "km"} {
		task := roundsTask(name, "squared")
		n := newNetwork(task, sim.RandomGraph(12, 4, 7))
		best := n.centralised(t)
		var last float64
		for _, step := range []float64{0.4, 0.2, 0.1, 0.05} {
			task.Rounds.Step, task.Rounds.Count = step, int(120/step)
			bias := apart(models(run(t, n.config(t))), best)
			t.Logf("%s, step %v: bias %.4f of the minimum's norm", name, step, bias)
			if ratio := bias / last; last > 0 && (ratio < 0.45 || ratio > 0.6) {
				t.Errorf("%s: half the step leaves %v of the bias, want about half", name, ratio)
			}
			last = bias
		}
	}
}

// Everybody gets to the end although messages are lost, at the cost of edges left
// out of rounds; the ends of an edge differ in few of them; and the models are
// nearly those of a network that loses nothing.
func TestRoundsSurviveLoss(t *testing.T) {
	task := roundsTask("diffusion", "squared")
	task.Rounds.Count, task.Rounds.Step = 300, 0.2
	n := newNetwork(task, sim.RandomGraph(12, 4, 7))
	c := n.config(t)
	want := models(run(t, c))
	c.Loss = 0.05
	r := run(t, c)
	var dropped, asymmetric, edges uint64
	for i, s := range r.States {
		if s.Round != 300 {
			t.Errorf("agent %d ended in round %d", i, s.Round)
		}
		dropped, asymmetric, edges = dropped+s.Dropped, asymmetric+s.Asymmetric, edges+300*uint64(len(n.edges[i]))
	}
	t.Logf("of %d ends of edges in all rounds %d were left out and %d known to be asymmetric; %g from the run without losses", edges, dropped, asymmetric, apart(models(r), want))
	// An end leaves the edge out if either model or the acknowledgement to it is
	// lost, 1 - 0.95^3 = 14.3 %. Who waits for what is lost is late for the others, who
	// lose patience with it: so far it was twice as much at most. The ends differ when one
	// acknowledgement is lost and nothing else, 2 0.05 0.95^3 = 8.6 %, and 95 % of that is
	// told. The standard deviation over 6,900 edges is 0.4 %.
	if share := float64(dropped) / float64(edges); share < 0.127 || share > 0.29 {
		t.Errorf("%v of the edges were left out", share)
	}
	if share := float64(asymmetric) / float64(edges); share < 0.03 || share > 0.1 {
		t.Errorf("%v of the edges were asymmetric", share)
	}
	if d := apart(models(r), want); d > 0.1 {
		t.Errorf("%g from the run without losses", d)
	}
}

// Nodes that leave, come back, start anew from what they stored or come late stop
// nobody, and end with the others.
func TestRoundsSurviveComingAndGoing(t *testing.T) {
	for _, name := range []string{"diffusion", "km"} {
		task := roundsTask(name, "squared")
		task.Rounds.Count = 400
		n := newNetwork(task, sim.RandomGraph(12, 4, 7))
		c := n.config(t)
		want := models(run(t, c))
		c.Away = []sim.Away{
			{Who: 0, To: 5 * time.Second},
			{Who: 3, From: 2 * time.Second, To: 9 * time.Second},
			{Who: 5, From: 3 * time.Second, To: 3*time.Second + 50*time.Millisecond, Restart: true},
			{Who: 6, From: 3 * time.Second, To: 8 * time.Second, Restart: true},
		}
		r := run(t, c)
		for i, s := range r.States {
			if s.Round != 400 {
				t.Errorf("%s: agent %d ended in round %d", name, i, s.Round)
			}
		}
		if d := apart(models(r), want); d > 1e-6 {
			t.Errorf("%s: %g from the run in which nobody left", name, d)
		}
		if r.Releases[0] > 400-20 || r.Releases[3] > 400-20 {
			t.Errorf("%s: releases %v: who was away has made all", name, r.Releases)
		}
		t.Logf("%s: ended after %v, releases %v", name, r.End, r.Releases)
	}
}

// With one seed a private run replays to the last bit, whatever its learner, with
// losses and deadlines.
func TestRoundsReplay(t *testing.T) {
	for _, task := range privateTasks() {
		n := newNetwork(task, sim.RandomGraph(8, 4, 7))
		c := n.private(t, privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 10})
		c.Loss, c.Trace = 0.02, true
		r := run(t, c)
		for i, p := range c.Participants {
			fresh, err := learner.New(learner.Config{Self: p.ID, Task: task, Policy: p.Policy, WakeMean: 1, Schedule: sim.AgentSchedule(c.Seed, i)})
			if err != nil {
				t.Fatal(err)
			}
			if got := learner.Replay(fresh, r.Traces[i]); !reflect.DeepEqual(got, r.States[i]) {
				t.Errorf("%s %s%s: agent %d replayed to another state", task.Learner, task.Diffusion.Noise, task.KM.Operator, i)
			}
		}
	}
}

// No budget is overspent, and all that was designed for is used: rounds without
// a count end with it.
func TestRoundsEndWithTheBudget(t *testing.T) {
	for _, task := range privateTasks() {
		task.Rounds.Count = 0
		n := newNetwork(task, sim.RandomGraph(8, 4, 7))
		c := n.private(t, privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 10})
		c.Participants[2].Records = nil // follows
		r := run(t, c)
		for i, made := range r.Releases {
			what := task.Learner + " " + task.Diffusion.Noise + task.KM.Operator
			switch {
			case i == 2:
				if made != 0 || r.States[i].Round < 10 {
					t.Errorf("%s: without records %d releases in %d rounds", what, made, r.States[i].Round)
				}
			case made < 10 || r.Spent[i] > 1 || r.Spent[i] < 0.8:
				t.Errorf("%s: agent %d made %d releases for %v of its budget", what, i, made, r.Spent[i])
			}
		}
		if r.End > time.Minute {
			t.Errorf("%s %s: ended after %v", task.Learner, task.Diffusion.Noise, r.End)
		}
	}
}

// privateTasks is one for each kind of release.
func privateTasks() []*learner.Task {
	var tasks []*learner.Task
	for _, noise := range []string{"iid", "transmit-only", "graph-homomorphic"} {
		task := roundsTask("diffusion", "logistic")
		task.Diffusion.Noise = noise
		tasks = append(tasks, task)
	}
	for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
		task := roundsTask("km", "logistic")
		task.KM.Operator = operator
		tasks = append(tasks, task)
	}
	return tasks
}

// private is a run with noise.
func (n *network) private(t testing.TB, d privacy.Design) sim.Config {
	t.Helper()
	return n.with(t, n.task.Design(d))
}

func (n *network) with(t testing.TB, d privacy.Design) sim.Config {
	t.Helper()
	c := n.config(t)
	policy, err := d.Policy()
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Participants {
		c.Participants[i].Policy = policy
	}
	return c
}

// centralised is the minimum of the sum of all objectives, once for each agent.
func (n *network) centralised(t *testing.T) [][]float64 {
	t.Helper()
	p := n.task.Dimension()
	sum, right := mat.NewSymDense(p, nil), make([]float64, p)
	for i := range n.edges {
		h, b := n.quadratic(i)
		sum.AddSym(sum, h)
		floats.Add(right, b)
	}
	var w mat.VecDense
	if err := w.SolveVec(sum, mat.NewVecDense(p, right)); err != nil {
		t.Fatal(err)
	}
	out := n.zeros()
	for i := range out {
		copy(out[i], w.RawVector().Data)
	}
	return out
}

// Every loss, under every scheme: everybody comes to the end with a model that is
// better than none.
func TestEveryLossInRounds(t *testing.T) {
	for _, loss := range []string{"squared", "huber", "logistic", "hinge", "multinomial"} {
		for _, task := range privateTasks() {
			task.Loss, task.Rounds.Step = loss, 0.3
			switch loss {
			case "squared", "huber":
				task.Target.Min, task.Target.Max = -5, 5
			case "multinomial":
				task.Target.Classes, task.Clip = []string{"low", "middle", "high"}, 1.5
			}
			if loss == "huber" {
				task.Threshold = 1
			}
			if loss == "hinge" {
				task.Smoothing = 0.5
			}
			n := newNetwork(task, sim.Ring(5))
			for i, s := range run(t, n.config(t)).States {
				before, after := task.Error(make([]float64, task.Dimension()), n.records[i]), task.Error(s.Model, n.records[i])
				if s.Round != 40 || after > before {
					t.Errorf("%s, %s %s%s: agent %d in round %d, error %v, %v without a model", loss, task.Learner, task.Diffusion.Noise, task.KM.Operator, i, s.Round, after, before)
				}
			}
		}
	}
}

// A thousand agents of ten neighbours take ten private rounds.
func BenchmarkRounds(b *testing.B) {
	task := roundsTask("diffusion", "logistic")
	task.Rounds.Count = 10
	n := newNetwork(task, sim.RandomGraph(1000, 10, 1))
	for b.Loop() {
		if _, err := sim.Run(n.private(b, privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 10})); err != nil {
			b.Fatal(err)
		}
	}
}
