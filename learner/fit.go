package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// fitter minimises, by damped Newton,
//
//	sum_j l(theta; x_j, y_j) + sum_k weight_k (theta_k - centre_k)^2
//
// over the records it was made with. For the squared loss the first step is
// exact: these are the normal equations. It keeps its buffers between fits.
type fitter struct {
	loss      loss
	x         *mat.Dense // one row a record
	y         []float64
	z         []float64 // scores at the solution
	scaled    *mat.Dense
	hessian   *mat.SymDense
	factor    mat.Cholesky // of the Hessian at the solution
	gradient  *mat.VecDense
	direction *mat.VecDense
}

// newFitter wants at least one record.
func newFitter(l loss, records []Record) *fitter {
	m, p := len(records), len(records[0].X)
	f := &fitter{
		loss: l, x: mat.NewDense(m, p, nil), y: make([]float64, m), z: make([]float64, m),
		scaled: mat.NewDense(m, p, nil), hessian: mat.NewSymDense(p, nil),
		gradient: mat.NewVecDense(p, nil), direction: mat.NewVecDense(p, nil),
	}
	for i, r := range records {
		f.x.SetRow(i, r.X)
		f.y[i] = r.Y
	}
	return f
}

// newtonSteps bounds the work; from a warm start a handful is enough.
const newtonSteps = 50

// minimise moves theta, the starting point, to the minimum. The weights must be
// positive, so that the minimum is unique.
func (f *fitter) minimise(theta, weight, centre []float64) {
	value := f.objective(theta, weight, centre)
	for range newtonSteps {
		f.differentiate(theta, weight, centre)
		if !f.factor.Factorize(f.hessian) || f.factor.SolveVecTo(f.direction, f.gradient) != nil {
			return // beyond float64: keep the best point so far
		}
		direction := f.direction.RawVector().Data
		decrement := floats.Dot(direction, f.gradient.RawVector().Data)
		if decrement <= 1e-9*(1+value) {
			// Newton squares the error: this step is the last, and too small for
			// the objective to show that it helps.
			floats.Sub(theta, direction)
			f.scores(theta)
			return
		}
		next := f.lineSearch(theta, direction, weight, centre, value)
		if math.Abs(value-next-decrement/2) <= 1e-9*decrement {
			return // as foretold: the objective is quadratic, this was the minimum
		}
		value = next
	}
}

// lineSearch halves the Newton step until the objective falls, and returns it.
func (f *fitter) lineSearch(theta, direction, weight, centre []float64, value float64) float64 {
	for scale := 1.0; scale > 1e-9; scale /= 2 {
		floats.AddScaled(theta, -scale, direction)
		if next := f.objective(theta, weight, centre); next < value {
			return next
		}
		floats.AddScaled(theta, scale, direction)
	}
	return f.objective(theta, weight, centre)
}

// objective also leaves the scores in z.
func (f *fitter) objective(theta, weight, centre []float64) float64 {
	var sum float64
	f.scores(theta)
	for i, z := range f.z {
		sum += f.loss.value(z, f.y[i])
	}
	for k, w := range weight {
		d := theta[k] - centre[k]
		sum += w * d * d
	}
	return sum
}

func (f *fitter) scores(theta []float64) {
	z := mat.NewVecDense(len(f.z), f.z)
	z.MulVec(f.x, mat.NewVecDense(len(theta), theta))
}

// differentiate fills gradient and Hessian at theta, whose scores are in z.
func (f *fitter) differentiate(theta, weight, centre []float64) {
	gradient := f.gradient.RawVector().Data
	for k, w := range weight {
		gradient[k] = 2 * w * (theta[k] - centre[k])
	}
	for i, z := range f.z {
		row := f.x.RawRowView(i)
		floats.AddScaled(gradient, f.loss.slope(z, f.y[i]), row)
		floats.ScaleTo(f.scaled.RawRowView(i), math.Sqrt(f.loss.curvature(z, f.y[i])), row)
	}
	f.hessian.SymOuterK(1, f.scaled.T())
	for k, w := range weight {
		f.hessian.SetSym(k, k, f.hessian.At(k, k)+2*w)
	}
}

// leaveOneOut returns, for each record, its score under the model fitted
// without it, after minimise: exact for the squared loss, one Newton step from
// the full fit for others (approximate leave-one-out).
func (f *fitter) leaveOneOut() []float64 {
	m, p := f.x.Dims()
	solved := mat.NewDense(p, m, nil) // H^-1 x_i in column i
	if f.factor.SolveTo(solved, f.x.T()) != nil {
		return f.z
	}
	out := make([]float64, m)
	for i, z := range f.z {
		var leverage float64 // x_i' H^-1 x_i
		for k, x := range f.x.RawRowView(i) {
			leverage += x * solved.At(k, i)
		}
		out[i] = z + f.loss.slope(z, f.y[i])*leverage/(1-f.loss.curvature(z, f.y[i])*leverage)
	}
	return out
}
