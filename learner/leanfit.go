package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leanFitter minimises what [fitter] does where the Hessian of all K p parameters
// would be too large: its memory is of the order of m (p + K) + p^2 numbers, and its work
// is in pieces of some ten milliseconds at p = 561.
//
// A record's curvature C_j, K x K, of the multinomial loss vanishes along 1, as
// probabilities sum to 1. Across it is taken for c_j I, with the same trace. Then the
// Hessian is, in each of the K - 1 directions of the scores across 1, the same p x p
// matrix
//
//	S = sum_j c_j x_j x_j' + 2 diag(weight),
//
// which for one score, or two classes, is exact. Boehning 1992 ("Multinomial logistic
// regression algorithm") takes the bound c_j = 1/2 instead, which is far off where the
// classes are told apart well. The minimum is the true one: Newton's equations are
// solved with the true Hessian, by conjugate gradients, and S only conditions them.
// Along 1 the minimum is known, see level, and nothing moves. Leverages are those of
// S: only they are not exact.
type leanFitter struct {
	loss  loss
	pause func() bool // called between pieces of the work; false: leave

	x         *mat.Dense // one row a record
	y         []float64
	z         *mat.Dense // scores, one row a record, as what follows
	slope     *mat.Dense
	curvature []float64 // of one record, K x K
	mean      []float64 // c_j

	some   *mat.Dense    // room for a piece of the records
	gram   *mat.SymDense // S without the weights, for the c_j in of
	of     []float64
	weight []float64 // in factor
	factor factor    // of S
	spread []float64 // x_j' S^-1 x_j; nil: not worked out for this factor
}

// newLeanFitter wants at least one record.
func newLeanFitter(l loss, train *Rows, pause func() bool) *leanFitter {
	m, p, k := train.Len(), train.width(), l.scores()
	f := &leanFitter{
		loss: l, pause: pause, x: train.matrix(), y: train.labels(),
		z: mat.NewDense(m, k, nil), slope: mat.NewDense(m, k, nil), curvature: make([]float64, k*k),
		mean: make([]float64, m), some: mat.NewDense(min(m, pieceRecords), p, nil),
		gram: mat.NewSymDense(p, nil), factor: newFactor(p),
	}
	return f
}

// rows is a vector of K blocks as a matrix with a row for each.
func (f *leanFitter) rows(theta []float64) *mat.Dense {
	_, k := f.z.Dims()
	return mat.NewDense(k, len(theta)/k, theta)
}

// level moves theta to where the mean over the classes is that of the centre, and at
// the minimum: adding the same to all blocks changes no probability, so only the
// penalty sees it.
func (f *leanFitter) level(theta, centre []float64) {
	_, k := f.z.Dims()
	_, p := f.x.Dims()
	if k == 1 {
		return
	}
	for i := range p {
		var off float64
		for j := range k {
			off += (theta[j*p+i] - centre[j*p+i]) / float64(k)
		}
		for j := range k {
			theta[j*p+i] -= off
		}
	}
}

// objective also leaves the scores in z.
func (f *leanFitter) objective(theta, weight, centre []float64) float64 {
	f.z.Mul(f.x, f.rows(theta).T())
	return penalised(f.loss, f.z, f.y, theta, weight, centre)
}

// curve fills slope and mean at the scores in z.
func (f *leanFitter) curve() {
	_, k := f.z.Dims()
	for i, y := range f.y {
		z, c := f.z.RawRowView(i), f.curvature
		f.loss.slope(f.slope.RawRowView(i), z, y)
		f.loss.curvature(c, z, y)
		var trace float64
		for j := range k {
			trace += c[j*(k+1)]
		}
		f.mean[i] = trace / float64(max(1, k-1))
	}
}

// staleness is how far the c_j may be, in the mean, from those that S was made for:
// leverages are off by less than that, and S conditions as well.
const staleness = 0.1

// stale reports whether S is to be made again. For the squared loss it never is.
func (f *leanFitter) stale() bool {
	return f.of == nil || floats.Distance(f.of, f.mean, 1) > staleness*floats.Sum(f.of)
}

// pieceRecords is how many records a piece of the work on S takes.
const pieceRecords = 128

// prepare makes the factor of S for these weights and, unless it is near enough, for the
// curvatures of now.
func (f *leanFitter) prepare(weight []float64) (more bool) {
	if f.stale() {
		f.of, f.weight = append(f.of[:0], f.mean...), nil
		if !f.sum() {
			return false
		}
	}
	if f.weight != nil && floats.Equal(f.weight, weight) {
		return true
	}
	f.weight, f.spread = nil, nil
	if !f.factor.make(f.gram, weight, f.pause) {
		return false
	}
	f.weight = append(f.weight, weight...)
	return true
}

// sum fills gram, some records at a time.
func (f *leanFitter) sum() bool {
	m, p := f.x.Dims()
	f.gram.Zero()
	for from := 0; from < m; from += pieceRecords {
		n := min(pieceRecords, m-from)
		for i := range n {
			floats.ScaleTo(f.some.RawRowView(i), math.Sqrt(f.of[from+i]), f.x.RawRowView(from+i))
		}
		some := f.some.Slice(0, n, 0, p).(*mat.Dense).RawMatrix()
		blas64.Syrk(blas.Trans, 1, some, 1, f.gram.RawSymmetric())
		if !f.pause() {
			return false
		}
	}
	return true
}

// upper is U with S = U'U; false when float64 does not reach.
func (f *leanFitter) upper() (u blas64.Triangular, ok bool) { return f.factor.u, f.factor.ok }

// leaveOneOut returns what that of [fitter] does, with the leverages of S. Without the
// record itself they are a = b / (1 - b c), b = x' S^-1 x, and the scores move by a times
// the slope. It reports whether it was let.
func (f *leanFitter) leaveOneOut(weight []float64) (out []float64, more bool) {
	f.curve()
	if !f.prepare(weight) || !f.measure() {
		return nil, false
	}
	_, k := f.z.Dims()
	out = slices.Clone(f.z.RawMatrix().Data)
	for i, b := range f.spread {
		floats.AddScaled(block(out, i, k), b/(1-b*f.of[i]), f.slope.RawRowView(i))
	}
	return out, true
}

// fit implements [fits]. Of three classes and more, the marginal likelihood has the
// determinant of S in each direction across 1.
func (f *leanFitter) fit(theta, weight, centre []float64, seen func()) (evidence, bool) {
	if !f.minimise(theta, weight, centre, seen) {
		return evidence{}, false
	}
	scores, more := f.leaveOneOut(weight)
	if !more {
		return evidence{}, false
	}
	e := evidence{
		leaveOneOut: f.loss.evidence(total(f.loss, scores, f.y), len(f.y)),
		marginal:    f.loss.evidence(f.objective(theta, weight, centre), len(f.y)),
	}
	if _, ok := f.upper(); ok {
		_, k := f.z.Dims()
		_, p := f.x.Dims()
		e.marginal -= float64(max(1, k-1)) * excess(f.factor.logDet(), weight[:p]) / 2
	}
	return e, true
}

// measure fills spread, some records at a time, unless it is known, or float64 does not
// reach. x' S^-1 x is the square of x' U^-1.
func (f *leanFitter) measure() bool {
	u, ok := f.upper()
	if !ok || f.spread != nil {
		return true
	}
	m, p := f.x.Dims()
	spread := make([]float64, m)
	for from := 0; from < m; from += pieceRecords {
		n := min(pieceRecords, m-from)
		some := f.some.Slice(0, n, 0, p).(*mat.Dense)
		some.Copy(f.x.Slice(from, from+n, 0, p))
		blas64.Trsm(blas.Right, blas.NoTrans, 1, u, some.RawMatrix())
		for i := range n {
			row := some.RawRowView(i)
			spread[from+i] = floats.Dot(row, row)
		}
		if !f.pause() {
			return false
		}
	}
	f.spread = spread
	return true
}
