package compare

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// squaredProblem is the data of [Polar].
type squaredProblem struct {
	clients [][]learner.Record
	optimum []float64
	least   float64
}

// newSquaredProblem draws records of unit norm, and models around a common one such
// that the risk at 0 is polarStart above the least.
func newSquaredProblem(seed uint64) *squaredProblem {
	random := rand.New(rand.NewPCG(seed, 12))
	direction := func() []float64 {
		x := make([]float64, polarWidth)
		for k := range x {
			x[k] = random.NormFloat64()
		}
		floats.Scale(1/floats.Norm(x, 2), x)
		return x
	}
	p := &squaredProblem{}
	common := direction()
	for range polarClients {
		model := direction()
		floats.Scale(0.3, model)
		floats.Add(model, common)
		p.clients = append(p.clients, trainingRecords(polarRecords, func() ([]float64, float64) {
			x := direction()
			return x, floats.Dot(model, x) + 0.1*random.NormFloat64()
		}))
	}
	p.solve()
	scale := math.Sqrt(polarStart / p.excess(make([]float64, polarWidth)))
	for _, records := range p.clients {
		for i := range records {
			records[i].Y *= scale
		}
	}
	p.solve()
	return p
}

// solve finds the optimum by gradient descent, steps of 1/2 for a curvature between
// 0.1 and 0.4 or so in every direction.
func (p *squaredProblem) solve() {
	p.optimum = make([]float64, polarWidth)
	for range 2000 {
		floats.AddScaled(p.optimum, -0.5, p.gradient(p.optimum))
	}
	p.least = p.risk(p.optimum)
}

// risk is the mean over clients of their mean squared residual.
func (p *squaredProblem) risk(w []float64) float64 {
	var sum float64
	for _, records := range p.clients {
		for _, r := range records {
			e := r.Y - floats.Dot(w, r.X)
			sum += e * e
		}
	}
	return sum / (polarClients * polarRecords)
}

func (p *squaredProblem) excess(w []float64) float64 { return p.risk(w) - p.least }

func (p *squaredProblem) gradient(w []float64) []float64 {
	g := make([]float64, polarWidth)
	for _, records := range p.clients {
		for _, r := range records {
			floats.AddScaled(g, -2*(r.Y-floats.Dot(w, r.X))/(polarClients*polarRecords), r.X)
		}
	}
	return g
}

// descent is gradient descent with the steps a_k: the excess risk after 0, 1, ...
// steps.
func (p *squaredProblem) descent(steps int) []float64 {
	w := make([]float64, polarWidth)
	excess := []float64{p.excess(w)}
	for k := 1; k <= steps; k++ {
		floats.AddScaled(w, -polarStep/math.Pow(float64(k), polarDecay), p.gradient(w))
		excess = append(excess, p.excess(w))
	}
	return excess
}
