package schemes

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
)

// quadratic is the data of [Polar], records of norm 1, and their mean squared
// residual: excess(w) = (w - w*)' A (w - w*), A the mean of x x'.
type quadratic struct {
	clients [][]learner.Record
	curve   *mat.SymDense // A
	optimum *mat.VecDense // w*
}

// newQuadratic draws clients with this many records each, and models around a common
// one such that the risk at 0 is polarStart above the minimum.
func newQuadratic(clients, records int, seed uint64) (*quadratic, error) {
	random := rand.New(rand.NewPCG(seed, 12))
	direction := func() []float64 {
		x := make([]float64, polarWidth)
		for k := range x {
			x[k] = random.NormFloat64()
		}
		floats.Scale(1/floats.Norm(x, 2), x)
		return x
	}
	q := &quadratic{curve: mat.NewSymDense(polarWidth, nil), optimum: mat.NewVecDense(polarWidth, nil)}
	moment := mat.NewVecDense(polarWidth, nil)
	all := float64(clients * records)
	common := direction()
	for range clients {
		model := direction()
		floats.Scale(0.3, model)
		floats.Add(model, common)
		q.clients = append(q.clients, trainingRecords(records, func() ([]float64, float64) {
			x := direction()
			y := floats.Dot(model, x) + 0.1*random.NormFloat64()
			v := mat.NewVecDense(polarWidth, x)
			q.curve.SymRankOne(q.curve, 1/all, v)
			moment.AddScaledVec(moment, y/all, v)
			return x, y
		}))
	}
	if err := q.optimum.SolveVec(q.curve, moment); err != nil {
		return nil, err
	}
	scale := math.Sqrt(polarStart / q.excess(make([]float64, polarWidth)))
	q.optimum.ScaleVec(scale, q.optimum)
	for _, records := range q.clients {
		for i := range records {
			records[i].Y *= scale
		}
	}
	return q, nil
}

// excess is the mean squared residual above the minimum.
func (q *quadratic) excess(w []float64) float64 {
	var apart mat.VecDense
	apart.SubVec(mat.NewVecDense(len(w), w), q.optimum)
	return mat.Inner(&apart, q.curve, &apart)
}

// descent is gradient descent with the steps a_k: the excess after 0, 1, ... steps.
func (q *quadratic) descent(steps int) []float64 {
	w := mat.NewVecDense(polarWidth, nil)
	excess := []float64{q.excess(w.RawVector().Data)}
	var apart, gradient mat.VecDense
	for k := 1; k <= steps; k++ {
		apart.SubVec(w, q.optimum)
		gradient.MulVec(q.curve, &apart)
		w.AddScaledVec(w, -2*polarStep/math.Pow(float64(k), polarDecay), &gradient)
		excess = append(excess, q.excess(w.RawVector().Data))
	}
	return excess
}
