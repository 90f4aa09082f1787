package learner

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leanFitter minimises what [fitter] does where the Hessian of all K p parameters
// would be too large: beside the records its memory is of the order of m K + p^2 numbers,
// and its work is in pieces of some ten milliseconds at p = 561.
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
// S: only they are not exact. Of more than exactColumns features S itself would be too
// large, see [spectrum].
type leanFitter struct {
	loss  loss
	pause func() bool // called between pieces of the work; false: leave

	parts     []part // the records, in order
	y         []float64
	width     int        // p
	z         *mat.Dense // scores, one row a record, as what follows
	slope     *mat.Dense
	curvature []float64 // of one record, K x K
	mean      []float64 // c_j

	of     []float64 // c_j in S
	weight []float64 // in S; nil: not made
	s      conditioner
}

// conditioner is S.
type conditioner interface {
	// make makes S of the curvatures of the records and the weights, of which p count;
	// fresh says that the curvatures are not those of before. It reports whether it was
	// let.
	make(of, weight []float64, fresh bool) (more bool)
	// reached reports whether float64 does.
	reached() bool
	// solve takes blocks of v to S^-1 times these, in place.
	solve(v *mat.Dense)
	// leverages returns x_j' S^-1 x_j of each record, where float64 reaches.
	leverages() (spread []float64, more bool)
	// excess is by how much the logarithm of the determinant of S exceeds that of the
	// penalty's part of it.
	excess() float64
}

// exactColumns is up to how many features S is a matrix: two of 32 MB.
const exactColumns = 2048

// newLeanFitter wants at least one record.
func newLeanFitter(l loss, train *Rows, pause func() bool) *leanFitter {
	m, p, k := train.Len(), train.width(), l.scores()
	f := &leanFitter{
		loss: l, pause: pause, y: train.labels(), width: p,
		z: mat.NewDense(m, k, nil), slope: mat.NewDense(m, k, nil), curvature: make([]float64, k*k), mean: make([]float64, m),
	}
	f.parts = train.parts(f.z)
	if p <= exactColumns {
		f.s = newSquare(f.parts, m, p, pause)
	} else {
		f.s = newSpectrum(f.parts, m, p, pause)
	}
	return f
}

// times writes the scores of a model to dst, one row a record.
func (f *leanFitter) times(dst *mat.Dense, theta []float64) {
	_, k := dst.Dims()
	for _, part := range f.parts {
		dst.Slice(part.from, part.from+len(part.y), 0, k).(*mat.Dense).Mul(part.x, f.rows(theta).T())
	}
}

// collect writes the sum over the records of a row of v times the features to dst, a block
// for each column.
func (f *leanFitter) collect(dst []float64, v *mat.Dense) {
	clear(dst)
	_, k := v.Dims()
	for _, part := range f.parts {
		rows := v.Slice(part.from, part.from+len(part.y), 0, k).(*mat.Dense)
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, rows.RawMatrix(), part.x.RawMatrix(), 1, f.rows(dst).RawMatrix())
	}
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
	p := f.width
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
	f.times(f.z, theta)
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

// prepare makes S for these weights and, unless it is near enough, for the curvatures of
// now.
func (f *leanFitter) prepare(weight []float64) (more bool) {
	fresh := f.stale()
	if !fresh && f.weight != nil && floats.Equal(f.weight, weight) {
		return true
	}
	of := f.of
	if fresh {
		of = slices.Clone(f.mean)
	}
	f.of, f.weight = nil, nil
	if !f.s.make(of, weight[:f.width], fresh) {
		return false
	}
	f.of, f.weight = of, slices.Clone(weight)
	return true
}

// leaveOneOut returns what that of [fitter] does, with the leverages of S. Without the
// record itself they are a = b / (1 - b c), b = x' S^-1 x, and the scores move by a times
// the slope. It reports whether it was let.
func (f *leanFitter) leaveOneOut(weight []float64) (out []float64, more bool) {
	f.curve()
	if !f.prepare(weight) {
		return nil, false
	}
	_, k := f.z.Dims()
	out = slices.Clone(f.z.RawMatrix().Data)
	if !f.s.reached() {
		return out, true
	}
	spread, more := f.s.leverages()
	for i, b := range spread {
		floats.AddScaled(block(out, i, k), b/(1-b*f.of[i]), f.slope.RawRowView(i))
	}
	return out, more
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
	if f.s.reached() {
		_, k := f.z.Dims()
		e.marginal -= float64(max(1, k-1)) * f.s.excess() / 2
	}
	return e, true
}
