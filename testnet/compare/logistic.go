package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// logisticProblem is the data of [Diffusion]: in both classes normal features
// around a mean of norm 1 with the sign of the class, scaled down to unit norm
// where they are longer than 2.5. All agents draw from the same law.
type logisticProblem struct {
	records [][]learner.Record // by agent
	optimum float64            // the least risk
}

const logisticScale = 2.5

func newLogisticProblem(seed uint64) *logisticProblem {
	random := rand.New(rand.NewPCG(seed, 11))
	p := &logisticProblem{}
	for range diffusionAgents {
		p.records = append(p.records, trainingRecords(diffusionRecords, func() ([]float64, float64) {
			y := float64(2*random.IntN(2) - 1)
			x := make([]float64, diffusionWidth)
			for k := range x {
				x[k] = (y/math.Sqrt(diffusionWidth) + random.NormFloat64()) / logisticScale
			}
			if norm := floats.Norm(x, 2); norm > 1 {
				floats.Scale(1/norm, x)
			}
			return x, y
		}))
	}
	p.optimum = p.risk(minimiser(slices.Concat(p.records...)))
	return p
}

// risk is the mean over agents, who have as many records each, of the mean logistic
// loss + rho/2 ||w||^2.
func (p *logisticProblem) risk(w []float64) float64 {
	var sum float64
	for _, records := range p.records {
		for _, r := range records {
			s := r.Y * floats.Dot(w, r.X)
			sum += math.Max(-s, 0) + math.Log1p(math.Exp(-math.Abs(s)))
		}
	}
	return sum/(diffusionAgents*diffusionRecords) + diffusionLambda*floats.Dot(w, w)
}

// excess is the risk above its minimum.
func (p *logisticProblem) excess(w []float64) float64 { return p.risk(w) - p.optimum }

// minimiser is the optimum for some records, by gradient descent: the curvature is
// between rho and 1/4 + rho, so 400 steps leave e^-24 of the distance or less.
func minimiser(records []learner.Record) []float64 {
	w, gradient := make([]float64, diffusionWidth), make([]float64, diffusionWidth)
	for range 400 {
		clear(gradient)
		for _, r := range records {
			slope := -r.Y / (1 + math.Exp(r.Y*floats.Dot(w, r.X)))
			floats.AddScaled(gradient, slope/float64(len(records)), r.X)
		}
		floats.AddScaled(gradient, 2*diffusionLambda, w)
		floats.AddScaled(w, -1/(0.25+2*diffusionLambda), gradient)
	}
	return w
}
