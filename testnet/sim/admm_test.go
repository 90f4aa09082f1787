package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// admmProblem is 12 people on a random graph.
func admmProblem(t *testing.T, loss string) ADMM {
	t.Helper()
	task := testTask(loss)
	task.Mu = 1
	c := ADMM{Task: task, Rho: 0.1, Edges: RandomGraph(12, 4, 3), Seed: 1}
	for _, p := range people(t, task, 12, privacy.Policy{}) {
		c.Records = append(c.Records, p.Records)
	}
	return c
}

func minimum(t *testing.T, c ADMM) [][]float64 {
	t.Helper()
	want, err := learner.MinimiseQ(c.Task, c.Records, Weights(c.Edges))
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func excess(t *testing.T, c ADMM, models [][]float64) float64 {
	t.Helper()
	q, err := learner.Q(c.Task, c.Records, Weights(c.Edges), models)
	if err != nil {
		t.Fatal(err)
	}
	least, err := learner.Q(c.Task, c.Records, Weights(c.Edges), minimum(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return q - least
}

func TestADMMReachesTheMinimiserOfQ(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it makes 80,000 activations, of agents that know nothing of goroutines")
	}
	for _, loss := range []string{"squared", "logistic"} {
		for name, graph := range map[string]struct {
			edges       [][]learner.Edge
			activations int
		}{
			"random": {RandomGraph(12, 4, 3), 4000}, "ring": {Ring(12), 3000}, "star": {Star(12), 3000}, "full": {Full(12), 9000},
		} {
			c := admmProblem(t, loss)
			c.Edges, c.Activations = graph.edges, graph.activations
			vectors := 0
			c.Every, c.Sample = c.Activations, func(v int, _ [][]float64) { vectors = v }
			got, err := c.Run()
			if err != nil {
				t.Fatal(err)
			}
			var distance, norm float64
			for i, want := range minimum(t, c) {
				distance = math.Hypot(distance, floats.Distance(got[i], want, 2))
				norm = math.Hypot(norm, floats.Norm(want, 2))
			}
			if distance > 1e-6*norm {
				t.Errorf("%s, %s: %g from the minimiser, relative to its norm", loss, name, distance/norm)
			}
			if vectors != 4*c.Activations {
				t.Errorf("%d vectors sent in %d activations", vectors, c.Activations)
			}
		}
	}
}

// An agent's step, taken to the end, against the solution of its linear system in
// t and all copies u: for the squared loss the augmented Lagrangian is quadratic.
func TestADMMStepMinimisesTheAugmentedLagrangian(t *testing.T) {
	c := admmProblem(t, "squared")
	g, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	const i, p = 5, 3
	a := &g.agents[i]
	for k := range a.links {
		l := &a.links[k]
		for _, v := range [][]float64{l.mine.z, l.mine.dual, l.theirs.z, l.theirs.dual, l.copied} {
			for j := range v {
				v[j] = r.NormFloat64()
			}
		}
	}
	size := p * (1 + len(a.links))
	h, b := mat.NewDense(size, size, nil), mat.NewVecDense(size, nil)
	zero, column := make([]float64, p), make([]float64, p)
	a.objective.AddGradient(zero, a.share, make([]float64, p))
	for j := range p { // the Hessian of the objective, a column at a time
		unit := make([]float64, p)
		unit[j] = 1
		clear(column)
		a.objective.AddGradient(column, a.share, unit)
		for k := range p {
			h.Set(k, j, column[k]-zero[k])
		}
		b.SetVec(j, -zero[j])
	}
	for k, l := range a.links {
		for j := range p {
			u := p*(1+k) + j
			h.Set(j, j, h.At(j, j)+l.weight/2+g.rho)
			h.Set(u, u, l.weight/2+g.rho)
			h.Set(j, u, -l.weight/2)
			h.Set(u, j, -l.weight/2)
			b.SetVec(j, b.AtVec(j)+g.rho*l.mine.z[j]-l.mine.dual[j])
			b.SetVec(u, g.rho*l.theirs.z[j]-l.theirs.dual[j])
		}
	}
	var want mat.VecDense
	if err := want.SolveVec(h, b); err != nil {
		t.Fatal(err)
	}
	g.minimise(i, 2000)
	got := append([]float64(nil), a.model...)
	for _, l := range a.links {
		got = append(got, l.copied...)
	}
	if d := floats.Distance(got, want.RawVector().Data, 2); d > 1e-9 {
		t.Errorf("%g from the minimiser", d)
	}
}

// Figure 1 of Bellet et al. 2018 has coordinate descent ahead of ADMM for the same
// number of vectors sent. That is so with the penalty 1, and it is a matter of the
// penalty: with one chosen for the problem ADMM, which takes twenty gradient steps
// where descent takes one, is ahead. A comparison must say how rho was chosen.
func TestADMMAgainstDescentPerVector(t *testing.T) {
	c := admmProblem(t, "logistic")
	policy, err := c.Task.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	descent := Config{Task: c.Task, Participants: people(t, c.Task, 12, policy), Seed: 1, WakeMean: time.Second, Until: time.Hour}
	for i := range descent.Participants {
		descent.Participants[i].Edges, descent.Participants[i].Releases = c.Edges[i], 25
	}
	r := run(t, descent)
	models := make([][]float64, len(r.States))
	for i := range models {
		models[i] = r.States[i].Model
	}
	c.Activations = r.Sent[learner.KindModel] / admmVectors
	fast := excess(t, c, models)
	for _, rho := range []float64{0.1, 1} {
		c.Rho = rho
		baseline, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		got := excess(t, c, baseline)
		t.Logf("rho %v: Q - Q* is %.2g by descent, %.2g by ADMM", rho, fast, got)
		if ahead := fast < got; ahead != (rho == 1) {
			t.Errorf("rho %v: Q - Q* is %g by descent and %g by ADMM", rho, fast, got)
		}
	}
}

func TestADMMRefuses(t *testing.T) {
	for name, change := range map[string]func(*ADMM){
		"no rho":             func(c *ADMM) { c.Rho = 0 },
		"too few records":    func(c *ADMM) { c.Records = c.Records[1:] },
		"too few starts":     func(c *ADMM) { c.Start = make([][]float64, 3) },
		"short starts":       func(c *ADMM) { c.Start = make([][]float64, 12) },
		"nobody's record":    func(c *ADMM) { c.Records[2] = nil },
		"no neighbour":       func(c *ADMM) { c.Edges[3] = nil },
		"a stranger":         func(c *ADMM) { c.Edges[3][0].Peer = "x" },
		"a one-sided edge":   func(c *ADMM) { c.Edges[3] = c.Edges[3][:1] },
		"an edge to nowhere": func(c *ADMM) { c.Edges[3][0].Peer = Name(12) },
	} {
		c := admmProblem(t, "squared")
		change(&c)
		if _, err := c.Run(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A start that is the minimum stays there only if the duals are right too, but it
// is a start: the objective begins where it says, and its exchange is counted.
func TestADMMStart(t *testing.T) {
	c := admmProblem(t, "squared")
	c.Start = minimum(t, c)
	got, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	if d := excess(t, c, got); d != 0 {
		t.Errorf("starts %g above the minimum", d)
	}
	first := 0
	c.Activations, c.Every, c.Sample = 1, 1, func(v int, _ [][]float64) { first = v }
	if _, err := c.Run(); err != nil {
		t.Fatal(err)
	}
	edges := 0
	for _, list := range c.Edges {
		edges += len(list)
	}
	if first != edges+4 {
		t.Errorf("%d vectors after the first activation, want one a directed edge and 4", first)
	}
}
