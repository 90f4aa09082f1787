package learner

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
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
	z         *mat.Dense // scores at the solution, one row a record
	slope     []float64  // of one record
	curvature *mat.Dense // in the scores, one row a record
	scaled    *mat.Dense
	hessian   *mat.SymDense
	factor    mat.Cholesky // of the Hessian at the solution
	gradient  *mat.VecDense
	direction *mat.VecDense
}

// newFitter wants at least one record.
func newFitter(l loss, records []Record) *fitter {
	m, p, k := len(records), len(records[0].X), l.scores()
	f := &fitter{
		loss: l, x: mat.NewDense(m, p, nil), y: make([]float64, m),
		z: mat.NewDense(m, k, nil), slope: make([]float64, k), curvature: mat.NewDense(m, k*k, nil),
		scaled: mat.NewDense(m, p, nil), hessian: mat.NewSymDense(k*p, nil),
		gradient: mat.NewVecDense(k*p, nil), direction: mat.NewVecDense(k*p, nil),
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
		next := lineSearch(f, theta, direction, weight, centre, value)
		if math.Abs(value-next-decrement/2) <= 1e-9*decrement {
			return // as foretold: the objective is quadratic, this was the minimum
		}
		value = next
	}
}

// lineSearch halves the Newton step until the objective falls, and returns it.
func lineSearch(f interface {
	objective(theta, weight, centre []float64) float64
}, theta, direction, weight, centre []float64, value float64) float64 {
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
	f.scores(theta)
	return penalised(f.loss, f.z, f.y, theta, weight, centre)
}

// penalised is the losses of the records, whose scores are the rows of z, and the penalty.
func penalised(l loss, z *mat.Dense, y, theta, weight, centre []float64) float64 {
	var sum float64
	for i, y := range y {
		sum += l.value(z.RawRowView(i), y)
	}
	for k, w := range weight {
		d := theta[k] - centre[k]
		sum += w * d * d
	}
	return sum
}

func (f *fitter) scores(theta []float64) {
	_, p := f.x.Dims()
	for k := range f.slope {
		var z mat.VecDense
		z.ColViewOf(f.z, k)
		z.MulVec(f.x, mat.NewVecDense(p, block(theta, k, p)))
	}
}

// differentiate fills gradient and Hessian at theta, whose scores are in z.
func (f *fitter) differentiate(theta, weight, centre []float64) {
	gradient := f.gradient.RawVector().Data
	for k, w := range weight {
		gradient[k] = 2 * w * (theta[k] - centre[k])
	}
	for i, y := range f.y {
		z := f.z.RawRowView(i)
		f.loss.slope(f.slope, z, y)
		addOuter(gradient, 1, f.slope, f.x.RawRowView(i))
		f.loss.curvature(f.curvature.RawRowView(i), z, y)
	}
	for k := range f.slope {
		f.diagonalBlock(k)
		for l := k + 1; l < len(f.slope); l++ {
			f.offDiagonalBlock(k, l)
		}
	}
	for k, w := range weight {
		f.hessian.SetSym(k, k, f.hessian.At(k, k)+2*w)
	}
}

// diagonalBlock fills the k-th p x p block on the Hessian's diagonal, with half
// the work of any other: it is the square of a matrix.
func (f *fitter) diagonalBlock(k int) {
	m, p := f.x.Dims()
	at := k * (len(f.slope) + 1)
	for i := range m {
		floats.ScaleTo(f.scaled.RawRowView(i), math.Sqrt(f.curvature.At(i, at)), f.x.RawRowView(i))
	}
	f.hessian.SliceSym(k*p, (k+1)*p).(*mat.SymDense).SymOuterK(1, f.scaled.T())
}

// offDiagonalBlock fills block (k, l), above the diagonal.
func (f *fitter) offDiagonalBlock(k, l int) {
	m, p := f.x.Dims()
	at := k*len(f.slope) + l
	for i := range m {
		floats.ScaleTo(f.scaled.RawRowView(i), f.curvature.At(i, at), f.x.RawRowView(i))
	}
	h := f.hessian.RawSymmetric()
	var part mat.Dense
	part.SetRawMatrix(blas64.General{Rows: p, Cols: p, Stride: h.Stride, Data: h.Data[k*p*h.Stride+l*p:]})
	part.Mul(f.scaled.T(), f.x)
}
