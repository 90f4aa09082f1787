package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// fitter minimises, by damped Newton,
//
//	sum_j l(theta; x_j, y_j) + sum_k weight_k (theta_k - centre_k)^2
//
// over the records it was made with. For the squared loss the first step is exact,
// because it solves the normal equations. It keeps its buffers between fits; beside the
// records they hold a few numbers for each record.
type fitter struct {
	loss      loss
	train     *Rows
	parts     []part // in the order of the records
	y         []float64
	z         *mat.Dense // scores at the solution, one row for each record
	slope     []float64  // of one record
	curvature *mat.Dense // in the scores, one row a record of a piece
	scaled    *mat.Dense // scaled features of a piece
	left      []float64  // the result of leaveOneOut; working memory follows
	columns   []float64
	leverages []float64
	hessian   *mat.SymDense // without the weights
	factor    factor        // of the Hessian at the solution
	sound     bool          // float64 holds what is solved with it
	gradient  []float64
	direction []float64
}

// newFitter needs at least one record.
func newFitter(l loss, train *Rows) *fitter {
	m, p, k := train.Len(), train.width(), l.scores()
	most := 0
	for i := range train.pieces {
		most = max(most, len(train.pieces[i].y))
	}
	f := &fitter{
		loss: l, train: train, y: train.labels(),
		z: mat.NewDense(m, k, nil), slope: make([]float64, k), curvature: mat.NewDense(most, k*k, nil),
		scaled: mat.NewDense(most, p, nil), hessian: mat.NewSymDense(k*p, nil), factor: newFactor(k * p),
		gradient: make([]float64, k*p), direction: make([]float64, k*p),
	}
	f.parts = train.parts(f.z)
	return f
}

// part is a piece of the records with their scores.
type part struct {
	x, z *mat.Dense // one row for each record
	y    []float64
	from int // the number of the first record, from 0
}

// parts returns the pieces, each with its rows of z, which has one row for each record.
func (r *Rows) parts(z *mat.Dense) (parts []part) {
	_, k := z.Dims()
	from := 0
	for i := range r.pieces {
		p := &r.pieces[i]
		to := from + len(p.y)
		parts = append(parts, part{p.matrix(), z.Slice(from, to, 0, k).(*mat.Dense), p.y, from})
		from = to
	}
	return parts
}

// newtonSteps bounds the number of steps; from a warm start a handful is enough.
const newtonSteps = 50

// minimise moves theta, the starting point, to the minimum. The weights must be
// positive, so that the minimum is unique.
func (f *fitter) minimise(theta, weight, centre []float64) {
	f.newton(theta, weight, centre)
	f.sound = f.factor.conditioned()
}

func (f *fitter) newton(theta, weight, centre []float64) {
	first := f.objective(theta, weight, centre)
	value := first
	for range newtonSteps {
		f.differentiate(theta, weight, centre)
		f.factor.make(f.hessian, weight, unpaused)
		if !f.factor.ok {
			return // beyond float64: keep the best point so far
		}
		direction := f.direction
		copy(direction, f.gradient)
		f.factor.solve(direction)
		decrement := floats.Dot(direction, f.gradient)
		if decrement <= 1e-9*(min(1, first)+value) {
			// Newton's method squares the error, so this step is the last one, and it
			// is too small for the objective to show that it helps.
			floats.Sub(theta, direction)
			f.scores(theta)
			return
		}
		next := lineSearch(f, theta, direction, weight, centre, value)
		if math.Abs(value-next-decrement/2) <= 1e-9*decrement {
			return // the objective is quadratic, as predicted, so this is the minimum
		}
		if next >= value {
			return // theta has not moved, and the next step would be the same
		}
		value = next
	}
}

// leastStep is the smallest share of a Newton step that is tried. Where the loss is a line
// at all records, only the penalty has a curvature, and the step is too long by the ratio of
// the records to it: for a million equal labels, with leastPull, by 10^15.
const leastStep = 1e-18

// lineSearch halves the Newton step until the objective falls, and returns it.
func lineSearch(f interface {
	objective(theta, weight, centre []float64) float64
}, theta, direction, weight, centre []float64, value float64) float64 {
	start := slices.Clone(theta)
	for scale := 1.0; scale > leastStep; scale /= 2 {
		floats.AddScaledTo(theta, start, -scale, direction)
		if floats.Equal(theta, start) {
			break // nor does a smaller step change a digit
		}
		if next := f.objective(theta, weight, centre); next < value {
			return next
		}
	}
	copy(theta, start)
	return f.objective(theta, weight, centre)
}

// objective also leaves the scores in z.
func (f *fitter) objective(theta, weight, centre []float64) float64 {
	f.scores(theta)
	return penalised(f.loss, f.z, f.y, theta, weight, centre)
}

// penalised is the sum of the records' losses and the penalty. The rows of z are the
// records' scores.
func penalised(l loss, z *mat.Dense, y, theta, weight, centre []float64) float64 {
	sum := total(l, z.RawMatrix().Data, y)
	for k, w := range weight {
		d := theta[k] - centre[k]
		sum += w * d * d
	}
	return sum
}

// total is the sum of the losses of records with the scores z, K for each record.
func total(l loss, z, y []float64) float64 {
	k := l.scores()
	var sum float64
	for i, y := range y {
		sum += l.value(block(z, i, k), y)
	}
	return sum
}

// fit implements [fits].
func (f *fitter) fit(theta, weight, centre []float64, _ func()) (evidence, bool) {
	f.minimise(theta, weight, centre)
	e := evidence{
		leaveOneOut: f.loss.evidence(total(f.loss, f.leaveOneOut(), f.y), len(f.y)),
		marginal:    f.loss.evidence(f.objective(theta, weight, centre), len(f.y)),
	}
	if f.sound {
		e.marginal -= excess(f.factor.logDet(), weight) / 2
	}
	return e, true
}

// excess is the logarithm of the determinant of a Hessian, minus that of its penalty
// alone.
func excess(logDet float64, weight []float64) float64 {
	for _, w := range weight {
		logDet -= math.Log(2 * w)
	}
	return logDet
}

func (f *fitter) scores(theta []float64) {
	for _, part := range f.parts {
		x, z := part.x.RawMatrix(), part.z.RawMatrix()
		for k := range f.slope {
			to := blas64.Vector{N: x.Rows, Inc: z.Stride, Data: z.Data[k:]}
			blas64.Gemv(blas.NoTrans, 1, x, blas64.Vector{N: x.Cols, Inc: 1, Data: block(theta, k, x.Cols)}, 0, to)
		}
	}
}

// differentiate fills gradient and Hessian at theta. z must hold the scores of theta.
func (f *fitter) differentiate(theta, weight, centre []float64) {
	gradient := f.gradient
	for k, w := range weight {
		gradient[k] = 2 * w * (theta[k] - centre[k])
	}
	f.hessian.Zero()
	for _, part := range f.parts {
		for i, y := range part.y {
			z := part.z.RawRowView(i)
			f.loss.slope(f.slope, z, y)
			addOuter(gradient, 1, f.slope, part.x.RawRowView(i))
			f.loss.curvature(f.curvature.RawRowView(i), z, y)
		}
		for k := range f.slope {
			f.addDiagonalBlock(part.x, k)
			for l := k + 1; l < len(f.slope); l++ {
				f.addOffDiagonalBlock(part.x, k, l)
			}
		}
	}
}

// addDiagonalBlock adds a piece's part of the k-th p x p block on the Hessian's
// diagonal. It takes half the work of another block, because the block is a symmetric
// product.
func (f *fitter) addDiagonalBlock(x *mat.Dense, k int) {
	m, p := x.Dims()
	at := k * (len(f.slope) + 1)
	for i := range m {
		floats.ScaleTo(f.scaled.RawRowView(i), math.Sqrt(f.curvature.At(i, at)), x.RawRowView(i))
	}
	scaled := f.scaled.Slice(0, m, 0, p).(*mat.Dense)
	blas64.Syrk(blas.Trans, 1, scaled.RawMatrix(), 1, f.hessian.SliceSym(k*p, (k+1)*p).(*mat.SymDense).RawSymmetric())
}

// addOffDiagonalBlock adds a piece's part of block (k, l), above the diagonal.
func (f *fitter) addOffDiagonalBlock(x *mat.Dense, k, l int) {
	m, p := x.Dims()
	at := k*len(f.slope) + l
	for i := range m {
		floats.ScaleTo(f.scaled.RawRowView(i), f.curvature.At(i, at), x.RawRowView(i))
	}
	h := f.hessian.RawSymmetric()
	to := blas64.General{Rows: p, Cols: p, Stride: h.Stride, Data: h.Data[k*p*h.Stride+l*p:]}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, f.scaled.Slice(0, m, 0, p).(*mat.Dense).RawMatrix(), x.RawMatrix(), 1, to)
}
