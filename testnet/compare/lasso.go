package compare

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// lassoProblem is the data of [KM]: records of unit norm from one model, every other
// of whose coordinates is zero, and the minimiser of the mean loss + l1 ||w||_1.
type lassoProblem struct {
	loss    string
	l1      float64
	records [][]learner.Record // by agent
	optimum []float64
}

func newLassoProblem(loss string, l1 float64, seed uint64) *lassoProblem {
	random := rand.New(rand.NewPCG(seed, 13))
	model := make([]float64, kmWidth)
	for k := 0; k < kmWidth; k += 2 {
		model[k] = math.Copysign(1, random.Float64()-0.5)
	}
	p := &lassoProblem{loss: loss, l1: l1, optimum: make([]float64, kmWidth)}
	for range kmAgents {
		p.records = append(p.records, trainingRecords(kmRecords, func() ([]float64, float64) {
			x := make([]float64, kmWidth)
			for k := range x {
				x[k] = random.NormFloat64()
			}
			floats.Scale(1/floats.Norm(x, 2), x)
			z := floats.Dot(model, x)
			if loss == "squared" {
				return x, z + 0.1*random.NormFloat64()
			}
			return x, math.Copysign(1, 1/(1+math.Exp(-2*z))-random.Float64())
		}))
	}
	p.solve()
	return p
}

// solve finds the optimum by proximal gradient descent, with a step of half the
// inverse of the largest curvature of one record.
func (p *lassoProblem) solve() {
	step := 0.25
	if p.loss == "logistic" {
		step = 4
	}
	gradient := make([]float64, kmWidth)
	for range 1000 {
		clear(gradient)
		for _, records := range p.records {
			for _, r := range records {
				floats.AddScaled(gradient, p.slope(floats.Dot(p.optimum, r.X), r.Y)/(kmAgents*kmRecords), r.X)
			}
		}
		floats.AddScaled(p.optimum, -step, gradient)
		for k, v := range p.optimum {
			p.optimum[k] = math.Copysign(max(0, math.Abs(v)-step*p.l1), v)
		}
	}
}

// rmse is the root of the mean, over coordinates, of squared distances from the
// optimum.
func (p *lassoProblem) rmse(w []float64) float64 {
	return floats.Distance(w, p.optimum, 2) / math.Sqrt(kmWidth)
}

// slope is the derivative of a record's loss in its score.
func (p *lassoProblem) slope(z, y float64) float64 {
	if p.loss == "squared" {
		return -2 * (y - z)
	}
	return -y / (1 + math.Exp(y*z))
}
