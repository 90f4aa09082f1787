package schemes

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// The problems of [KM], in the paper's units: normal features and, in one half of the
// coordinates, a model of 1 or -1. Least squares with noise of .1, logistic regression,
// and in both lambda ||.||_1.
const (
	kmRecords  = 100
	kmWidth    = 10
	kmL1       = 0.01
	kmResidual = 0.1
	// kmBound is B: longer features, one record in ten thousand, are scaled down to it.
	kmBound = 6
)

// lasso is the data of the agents, with features divided by B, and the true model.
type lasso struct {
	loss    string
	records [][]learner.Record // by agent
	truth   []float64          // the paper's units
}

func newLasso(loss string, agents int, seed uint64) *lasso {
	random := rand.New(rand.NewPCG(seed, 13))
	p := &lasso{loss: loss, truth: make([]float64, kmWidth)}
	for k := 0; k < kmWidth; k += 2 {
		p.truth[k] = math.Copysign(1, random.Float64()-0.5)
	}
	for range agents {
		p.records = append(p.records, trainingRecords(kmRecords, func() ([]float64, float64) {
			x := make([]float64, kmWidth)
			for k := range x {
				x[k] = random.NormFloat64()
			}
			floats.Scale(min(1, kmBound/floats.Norm(x, 2)), x)
			z := floats.Dot(p.truth, x)
			floats.Scale(1./kmBound, x)
			if loss == "squared" {
				return x, z + kmResidual*random.NormFloat64()
			}
			return x, math.Copysign(1, 1/(1+math.Exp(-z))-random.Float64())
		}))
	}
	return p
}

// rmse is the root of the mean, over coordinates, of squared distances of a model of
// the agents from the truth.
func (p *lasso) rmse(w []float64) float64 {
	var sum float64
	for k, v := range w {
		d := v/kmBound - p.truth[k]
		sum += d * d
	}
	return math.Sqrt(sum / kmWidth)
}

// prox is prox_{g f}(z), with f the mean loss of all agents: the model that the
// Douglas-Rachford iterate z stands for. It is computed by gradient descent with the
// inverse of the curvature as step, which leaves at most 9/10 of the distance each time
// for our g.
func (p *lasso) prox(g float64, z []float64) []float64 {
	curvature := 2.5 / (kmBound * kmBound)
	if p.loss == "logistic" {
		curvature /= 8
	}
	w, gradient := append([]float64(nil), z...), make([]float64, kmWidth)
	share := 1 / float64(len(p.records)*kmRecords)
	for range 100 {
		floats.SubTo(gradient, w, z)
		floats.Scale(1/g, gradient)
		for _, records := range p.records {
			for _, r := range records {
				floats.AddScaled(gradient, share*p.slope(floats.Dot(w, r.X), r.Y), r.X)
			}
		}
		floats.AddScaled(w, -1/(1/g+curvature), gradient)
	}
	return w
}

// slope is the derivative of a record's loss in its score.
func (p *lasso) slope(z, y float64) float64 {
	if p.loss == "squared" {
		return -2 * (y - z)
	}
	return -y / (1 + math.Exp(y*z))
}
