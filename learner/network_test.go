package learner_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// The networks of these tests: agents over simulated messages, and the same
// iteration on dense matrices without agents, rounds or messages.

// roundsTask is a task of three features for a learner in rounds.
func roundsTask(name, loss string) *learner.Task {
	t := learner.Linear()
	t.Features = t.Features[:3]
	t.Learner, t.Loss, t.Lambda = name, loss, 0.5
	t.Graph = learner.Graph{Rule: "random", Degree: 4}
	t.Rounds = learner.Rounds{Count: 40, Seconds: 10, Step: 0.6}
	if loss == "squared" {
		t.Target.Min, t.Target.Max = -5, 5
	}
	switch name {
	case "diffusion":
		t.Diffusion.Noise = "iid"
	case "km":
		t.KM = learner.KM{Operator: "gradient", Relaxation: 0.8}
	}
	return t
}

// network is agents with records, on a graph.
type network struct {
	task    *learner.Task
	edges   [][]learner.Edge
	records [][]learner.Record
}

func newNetwork(task *learner.Task, edges [][]learner.Edge) *network {
	r := rand.New(rand.NewPCG(5, uint64(len(edges))))
	n := &network{task: task, edges: edges}
	for range edges {
		slope := []float64{r.NormFloat64() / 2, 1, r.NormFloat64() / 2}
		var records []learner.Record
		for len(records) < 10+r.IntN(10) {
			x := []float64{r.Float64() - 0.5, r.Float64() - 0.5, r.Float64() - 0.5}
			y := floats.Dot(slope, x) + 0.1*r.NormFloat64()
			switch task.Loss {
			case "logistic", "hinge":
				y = math.Copysign(1, y)
			case "multinomial":
				y = float64(min(2, max(0, int(4*y)+1)))
			}
			records = append(records, learner.Record{Seq: learner.Seq(len(records) + 1), X: x, Y: y})
		}
		n.records = append(n.records, records)
	}
	return n
}

func graphs(n int) map[string][][]learner.Edge {
	return map[string][][]learner.Edge{
		"ring": sim.Ring(n), "star": sim.Star(n), "full": sim.Full(n), "random": sim.RandomGraph(n, 10, 7),
	}
}

// config is a run without protection.
func (n *network) config(t testing.TB) sim.Config {
	t.Helper()
	policy, err := n.task.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{Task: n.task, Seed: 9, WakeMean: time.Second, Latency: 20 * time.Millisecond, Until: 100 * time.Hour}
	for i := range n.edges {
		c.Participants = append(c.Participants, sim.Participant{ID: sim.Name(i), Records: n.records[i], Edges: n.edges[i], Policy: policy})
	}
	return c
}

func run(t *testing.T, c sim.Config) *sim.Result {
	t.Helper()
	r, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// training is the records that count.
func (n *network) training(i int) []learner.Record {
	var kept []learner.Record
	for _, r := range n.records[i] {
		if r.Seq%5 != 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// metropolis is a_kl = 1/(1 + max(d_k, d_l)) and a_kk the rest.
func (n *network) metropolis() [][]float64 {
	a := make([][]float64, len(n.edges))
	for i := range a {
		a[i] = make([]float64, len(a))
		a[i][i] = 1
		for _, e := range n.edges[i] {
			for j := range a {
				if sim.Name(j) == e.Peer {
					a[i][j] = 1 / (1 + math.Max(float64(len(n.edges[i])), float64(len(n.edges[j]))))
					a[i][i] -= a[i][j]
				}
			}
		}
	}
	return a
}

// gradient is that of agent i's objective, mean loss + lambda_i ||w||^2.
func (n *network) gradient(i int, w []float64) []float64 {
	records := n.training(i)
	m := float64(len(records))
	g := make([]float64, len(w))
	floats.AddScaled(g, 2*n.task.Lambda/m, w)
	for _, r := range records {
		z := floats.Dot(w, r.X)
		slope := -2 * (r.Y - z)
		if n.task.Loss == "logistic" {
			slope = -r.Y / (1 + math.Exp(r.Y*z))
		}
		floats.AddScaled(g, slope/m, r.X)
	}
	return g
}

// diffuse is rounds of eq. 3-4 without noise: W <- A (W - mu grad J(W)).
func (n *network) diffuse(rounds int) [][]float64 {
	w := n.zeros()
	for range rounds {
		phi := n.zeros()
		for k := range w {
			floats.AddScaledTo(phi[k], w[k], -n.task.Rounds.Step, n.gradient(k, w[k]))
		}
		w = n.mixed(phi)
	}
	return w
}

// iterate is rounds of algorithm 1 without noise: X <- W X + alpha (T(X) - X). In
// the first round everybody is at 0.
func (n *network) iterate(rounds int) [][]float64 {
	x := n.zeros()
	for range rounds {
		next := n.mixed(x)
		for k := range x {
			floats.AddScaled(next[k], n.task.KM.Relaxation, n.operator(k, x[k]))
			floats.AddScaled(next[k], -n.task.KM.Relaxation, x[k])
		}
		x = next
	}
	return x
}

func (n *network) operator(k int, x []float64) []float64 {
	g := n.task.Rounds.Step
	y := make([]float64, len(x))
	switch n.task.KM.Operator {
	case "gradient", "proximal":
		floats.AddScaledTo(y, x, -g, n.gradient(k, x))
		return n.penaltyProx(y)
	}
	// The prox of g f by plain gradient descent, far longer than needed.
	u := append([]float64(nil), x...)
	for range 45 {
		d := n.gradient(k, u)
		floats.Scale(g, d)
		floats.Add(d, u)
		floats.Sub(d, x)
		floats.AddScaled(u, -0.5, d)
	}
	first := make([]float64, len(x)) // 2u - x
	floats.AddScaledTo(first, u, 1, u)
	floats.Sub(first, x)
	floats.AddTo(y, x, first)
	second := n.penaltyProx(append([]float64(nil), first...))
	for j := range y {
		y[j] = (x[j] + 2*second[j] - first[j]) / 2
	}
	return y
}

// penaltyProx minimises g (L1 |u| + L2 u^2) + (u - v)^2/2 by trying the three
// cases.
func (n *network) penaltyProx(y []float64) []float64 {
	g, k := n.task.Rounds.Step, n.task.KM
	for j, v := range y {
		switch {
		case v > g*k.L1:
			y[j] = (v - g*k.L1) / (1 + 2*g*k.L2)
		case v < -g*k.L1:
			y[j] = (v + g*k.L1) / (1 + 2*g*k.L2)
		default:
			y[j] = 0
		}
	}
	return y
}

func (n *network) zeros() [][]float64 {
	w := make([][]float64, len(n.edges))
	for i := range w {
		w[i] = make([]float64, n.task.Dimension())
	}
	return w
}

func (n *network) mixed(w [][]float64) [][]float64 {
	a, out := n.metropolis(), n.zeros()
	for i := range a {
		for j, weight := range a[i] {
			floats.AddScaled(out[i], weight, w[j])
		}
	}
	return out
}

// solve returns the fixed point for the squared loss by one linear system of all
// agents: diffusion  W = A (W - mu (H W - b)),  km  X = W X - alpha g (H X - b),
// H and b block by block.
func (n *network) solve(t *testing.T) [][]float64 {
	t.Helper()
	a, p := n.metropolis(), n.task.Dimension()
	size := len(a) * p
	system, right := mat.NewDense(size, size, nil), mat.NewVecDense(size, nil)
	for j := range a {
		h, b := n.quadratic(j)
		for i := range a {
			for r := range p {
				for c := range p {
					v := 0.0
					if i == j && r == c {
						v = 1
					}
					switch n.task.Learner {
					case "diffusion":
						if r == c {
							v -= a[i][j]
						}
						v += n.task.Rounds.Step * a[i][j] * h.At(r, c)
					case "km":
						if r == c {
							v -= a[i][j]
						}
						if i == j {
							v += n.task.KM.Relaxation * n.task.Rounds.Step * h.At(r, c)
						}
					}
					system.Set(i*p+r, j*p+c, v)
				}
				share := n.task.Rounds.Step * a[i][j]
				if n.task.Learner == "km" {
					share = 0
					if i == j {
						share = n.task.KM.Relaxation * n.task.Rounds.Step
					}
				}
				right.SetVec(i*p+r, right.AtVec(i*p+r)+share*b[r])
			}
		}
	}
	var solution mat.VecDense
	if err := solution.SolveVec(system, right); err != nil {
		t.Fatal(err)
	}
	out := n.zeros()
	for i := range out {
		copy(out[i], solution.RawVector().Data[i*p:(i+1)*p])
	}
	return out
}

// quadratic returns the H and b of agent i's gradient H w - b, squared loss.
func (n *network) quadratic(i int) (*mat.SymDense, []float64) {
	p, records := n.task.Dimension(), n.training(i)
	m := float64(len(records))
	h, b := mat.NewSymDense(p, nil), make([]float64, p)
	for r := range p {
		h.SetSym(r, r, 2*n.task.Lambda/m)
	}
	for _, r := range records {
		h.SymRankOne(h, 2/m, mat.NewVecDense(p, r.X))
		floats.AddScaled(b, 2*r.Y/m, r.X)
	}
	return h, b
}

func models(r *sim.Result) [][]float64 {
	var out [][]float64
	for _, s := range r.States {
		out = append(out, s.Model)
	}
	return out
}

// apart is the distance of two lists of models relative to the norm of the second.
func apart(a, b [][]float64) float64 {
	var distance, norm float64
	for i := range a {
		distance = math.Hypot(distance, floats.Distance(a[i], b[i], 2))
		norm = math.Hypot(norm, floats.Norm(b[i], 2))
	}
	return distance / norm
}
