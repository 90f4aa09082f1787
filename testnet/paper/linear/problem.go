package linear

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/sim"
)

// problem is one draw of the synthetic problem in numbers, with the graph of the paper:
// all agents are joined with weight exp((cos - 1)/.1) of the angle between target
// models, and weights below .01 are dropped.
type problem struct {
	p      int
	seed   uint64
	people []person
	edges  [][]learner.Edge
}

// person is one agent's data. Rows of train and test are x in [-1, 1]^p.
type person struct {
	target []float64 // p numbers
	train  examples
	test   examples
}

type examples struct {
	x [][]float64
	y []float64 // +1 or -1
}

// gamma is the width of the paper's kernel.
const gamma = 0.1

// draw makes the problem of a seed with n agents.
func draw(seed uint64, n, p int) *problem {
	d := &problem{p: p, seed: seed}
	profiles := make([][]float64, n)
	for i := range n {
		drawn := testnet.DrawLinear(seed, i, p)
		a := person{target: make([]float64, p)}
		copy(a.target, drawn.Target)
		for k, x := range drawn.X {
			switch {
			case k >= drawn.Records:
				a.test.add(x, drawn.Y[k])
			case !learner.Seq(k + 1).HeldOut():
				a.train.add(x, drawn.Y[k])
			}
		}
		d.people = append(d.people, a)
		profiles[i] = drawn.Target
	}
	d.edges = sim.ProfileGraph(profiles, n-1, gamma)
	return d
}

func (e *examples) add(x []float64, y float64) {
	e.x, e.y = append(e.x, x), append(e.y, y)
}

// accuracies measures models of raw features on the people's test records. There may be
// models of the first few people only.
func (d *problem) accuracies(models [][]float64) []float64 {
	out := make([]float64, len(models))
	for i := range models {
		out[i] = d.people[i].test.accuracy(models[i])
	}
	return out
}

// accuracy counts an undecided model as half right.
func (e *examples) accuracy(theta []float64) float64 {
	var right float64
	for k, x := range e.x {
		switch z := e.y[k] * floats.Dot(theta, x); {
		case z > 0:
			right++
		case z == 0:
			right += 0.5
		}
	}
	return right / float64(len(e.x))
}

// records makes training records with features x times scale(x).
func (e *examples) records(scale func(x []float64) float64) []learner.Record {
	out := make([]learner.Record, len(e.x))
	for k, x := range e.x {
		out[k] = learner.Record{Seq: sim.TrainingSeq(k), Cohort: 1, Y: e.y[k], X: floats.ScaleTo(make([]float64, len(x)), scale(x), x)}
	}
	return out
}

// byNorm scales to unit l-norm.
func byNorm(l float64) func(x []float64) float64 {
	return func(x []float64) float64 {
		if n := floats.Norm(x, l); n > 0 {
			return 1 / n
		}
		return 0
	}
}

// spectrum is the largest eigenvalue of (1/m) sum x x', by power iteration: it
// bounds the curvature of the mean logistic loss four times over.
func (e *examples) spectrum() float64 {
	v, w := make([]float64, len(e.x[0])), make([]float64, len(e.x[0]))
	for k := range v {
		v[k] = 1 + 1/float64(k+1) // practically never at right angles to an eigenvector
	}
	var value float64
	for range 100 {
		clear(w)
		for _, x := range e.x {
			floats.AddScaled(w, floats.Dot(x, v)/float64(len(e.x)), x)
		}
		last := value
		value = floats.Norm(w, 2)
		floats.ScaleTo(v, 1/value, w)
		if math.Abs(value-last) <= 1e-6*value {
			break
		}
	}
	return value * (1 + 1e-3) // the iteration converges from below
}

// task is the built-in task for p features.
func task(p int) *learner.Task {
	t := learner.Linear()
	t.Features = learner.NumberFeatures(p)
	return t
}

// alone returns theta_loc: everyone's minimiser of the mean loss plus ||theta||^2/m, by
// gradient descent, on raw features.
func (d *problem) alone() [][]float64 {
	models := make([][]float64, len(d.people))
	for i := range d.people {
		e := &d.people[i].train
		lambda := 1 / float64(len(e.x))
		step := 1 / (e.spectrum()/4 + 2*lambda)
		theta, gradient := make([]float64, d.p), make([]float64, d.p)
		for range localSteps {
			e.gradient(gradient, theta)
			floats.AddScaled(gradient, 2*lambda, theta)
			floats.AddScaled(theta, -step, gradient)
		}
		models[i] = theta
	}
	return models
}

// localSteps is enough to leave a millionth of the distance to the minimum: each step
// removes at least the share 2 lambda/L, a twentieth for the largest m here.
const localSteps = 300

// degree is the number of edges, counted at both ends.
func (d *problem) degree() float64 {
	var n float64
	for i := range d.edges {
		n += float64(len(d.edges[i]))
	}
	return n
}
