package learner

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leanFitter minimises the same objective as [fitter] where the Hessian of all K p
// parameters would be too large. Beside the records its memory is of the order of m K +
// p^2 numbers, and its work is divided into pieces of some ten milliseconds at p = 561.
//
// A record's curvature C_j, K x K, of the multinomial loss vanishes along the direction
// (1, ..., 1), because probabilities sum to 1. Across that direction it is approximated
// by c_j I, with the same trace. The approximate Hessian is then, in each of the K - 1
// directions of the scores across (1, ..., 1), the same p x p matrix
//
//	S = sum_j c_j x_j x_j' + 2 diag(weight),
//
// which is exact for one score, or two classes. Boehning 1992 ("Multinomial logistic
// regression algorithm") takes the bound c_j = 1/2 instead, which is far off where the
// classes are told apart well. The minimum found is the true one: Newton's equations
// are solved with the true Hessian, by conjugate gradients, and S is only the
// preconditioner. Along (1, ..., 1) the minimum is known, see level, and no step is
// needed. Only the leverages are approximate, because they are those of S. With more
// than exactColumns features S would be too large; see [spectrum].
type leanFitter struct {
	loss  loss
	pause func() bool // called between pieces of the work; false: stop

	parts     []part // the records, in order
	y         []float64
	width     int        // p
	z         *mat.Dense // scores, one row a record, as what follows
	slope     *mat.Dense
	curvature []float64 // K x K, of one record
	mean      []float64 // c_j

	of     []float64 // the c_j that S was made of
	weight []float64 // the weights that S was made of; nil: not made yet
	s      conditioner
}

// conditioner is the preconditioner S.
type conditioner interface {
	// make makes S from the curvatures of the records and the weights of the p
	// features; fresh says that the curvatures have changed since the last call. more
	// is false if pause stopped it.
	make(of, weight []float64, fresh bool) (more bool)
	// reached reports whether S could be computed in float64.
	reached() bool
	// solve multiplies the blocks of v by S^-1, in place.
	solve(v *mat.Dense)
	// leverages returns x_j' S^-1 x_j for each record. S must have been computed; see
	// reached. more is false if pause stopped it.
	leverages() (spread []float64, more bool)
	// excess is the logarithm of the determinant of S, minus that of the penalty's part
	// of S.
	excess() float64
}

// exactColumns is the largest number of features for which S is a matrix: two of them
// take 32 MB each.
const exactColumns = 2048

// newLeanFitter needs at least one record.
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

// times writes the scores of a model to dst, one row for each record.
func (f *leanFitter) times(dst *mat.Dense, theta []float64) {
	_, k := dst.Dims()
	for _, part := range f.parts {
		dst.Slice(part.from, part.from+len(part.y), 0, k).(*mat.Dense).Mul(part.x, f.rows(theta).T())
	}
}

// collect writes X' v to dst, where X has a row of features for each record: a block
// for each column of v.
func (f *leanFitter) collect(dst []float64, v *mat.Dense) {
	clear(dst)
	_, k := v.Dims()
	for _, part := range f.parts {
		rows := v.Slice(part.from, part.from+len(part.y), 0, k).(*mat.Dense)
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, rows.RawMatrix(), part.x.RawMatrix(), 1, f.rows(dst).RawMatrix())
	}
}

// rows returns a vector of K blocks as a matrix with a row for each block.
func (f *leanFitter) rows(theta []float64) *mat.Dense {
	_, k := f.z.Dims()
	return mat.NewDense(k, len(theta)/k, theta)
}

// level shifts theta so that its mean over the classes is that of the centre, as at the
// minimum: adding the same to all blocks changes no probability, so only the penalty
// depends on that mean.
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

// staleness bounds how far the c_j may be, in the mean, from those that S was made
// with. Leverages are then off by less than that, and S is as good a preconditioner.
const staleness = 0.1

// stale reports whether S must be made again. For the squared loss it never must.
func (f *leanFitter) stale() bool {
	return f.of == nil || floats.Distance(f.of, f.mean, 1) > staleness*floats.Sum(f.of)
}

// prepare makes S for these weights. If S is near enough to the present curvatures, it
// only changes the weights. more is false if pause stopped it.
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

// leaveOneOut returns the same as [fitter.leaveOneOut], with the leverages of S.
// Without the record itself they are a = b / (1 - b c), b = x' S^-1 x, and the scores
// move by a times the slope. more is false if pause stopped it.
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

// fit implements [fits]. For three classes and more, the marginal likelihood has the
// determinant of S in each direction across (1, ..., 1).
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
