package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// span is an orthonormal basis of a space that contains the features of every record
// and those of every block of a prior. The pull toward the prior is the same for all
// features, so a fit never leaves that space: a component at right angles to all
// records would only make the penalty larger. With few records and many features the
// space is far smaller than that of all models, and the time of a fit grows with the
// cube of its size. The constant, whose pull differs, stays a coordinate by itself; and
// where the pulls of features differ, the basis is of features that are scaled so that
// they are the same.
type span struct {
	basis    *mat.Dense // one row for each feature; the columns are the basis
	spreads  []float64  // as in search; nil: 1
	constant int        // number of coordinates after the features: 0 or 1
}

// spanNumbers bounds the numbers in a basis, to 32 MB.
const spanNumbers = 1 << 22

// newSpan returns the span of the records and the prior, or nil if it is not much
// smaller than the space of all models, or is itself too large. It calls pause between
// pieces of the work; more is false if pause stopped it.
func (t *Task) newSpan(train *Rows, prior, spreads []float64, pause func() bool) (s *span, more bool) {
	width, p, k, m := t.Width(), t.featureCount(), t.loss().scores(), train.Len()
	r := m + k
	if r >= p || t.Dimension() > exactParameters && 2*r > p || r*p > spanNumbers {
		return nil, true
	}
	columns := mat.NewDense(p, r, nil)
	i := 0
	for record := range train.All() {
		columns.SetCol(i, record.X[:p])
		i++
	}
	prior = slices.Clone(prior)
	scaleFeatures(prior, width, spreads)
	for i := range k {
		columns.SetCol(m+i, block(prior, i, width)[:p])
	}
	scaleRows(columns, spreads)
	s = &span{constant: width - p, spreads: spreads}
	if s.basis, more = orthonormal(columns, pause); more {
		scaleRows(s.basis, spreads)
	}
	return s, more
}

// coordinates is how many a model of one score has, the constant included.
func (s *span) coordinates() int {
	_, r := s.basis.Dims()
	return r + s.constant
}

// wholeSpan is the space of all models, in coordinates in which all features are pulled alike.
func (t *Task) wholeSpan(spreads []float64) *span {
	p := t.featureCount()
	s := &span{basis: mat.NewDense(p, p, nil), spreads: spreads, constant: t.Width() - p}
	for i := range p {
		s.basis.Set(i, i, 1)
	}
	scaleRows(s.basis, spreads)
	return s
}

// turn turns the basis, and the coordinates with it, to where noise with this covariance in the weights
// of one score is independent, and returns its variances. They are 0 where float64 does not hold the
// basis. What the constant's noise has in common with the others is left out.
func (s *span) turn(noise *mat.SymDense) (variance []float64) {
	p, r := s.basis.Dims()
	variance = make([]float64, s.coordinates())
	into := mat.DenseCopyOf(s.basis)
	for j, spread := range s.spreads {
		floats.Scale(spread, into.RawRowView(j))
	}
	var half, whole, vectors, turned mat.Dense
	half.Mul(into.T(), noise.SliceSym(0, p))
	whole.Mul(&half, into)
	own := mat.NewSymDense(r, nil)
	for i := range r {
		for j := i; j < r; j++ {
			own.SetSym(i, j, whole.At(i, j))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(own, true) {
		return variance
	}
	eigen.Values(variance[:r])
	for i, v := range variance {
		variance[i] = max(0, v) // rounding
	}
	eigen.VectorsTo(&vectors)
	turned.Mul(s.basis, &vectors)
	s.basis = &turned
	if s.constant > 0 {
		variance[r] = alone(noise)
	}
	return variance
}

// alone is the variance of the last number if the others are known.
func alone(noise *mat.SymDense) float64 {
	last := noise.SymmetricDim() - 1
	column := make([]float64, last)
	for i := range column {
		column[i] = noise.At(i, last)
	}
	var factor mat.Cholesky
	var by mat.VecDense
	of := mat.NewVecDense(last, column)
	if !factor.Factorize(noise.SliceSym(0, last)) || factor.SolveVecTo(&by, of) != nil {
		return noise.At(last, last)
	}
	return max(0, noise.At(last, last)-mat.Dot(&by, of))
}

// scaleRows divides each row by the root of its spread.
func scaleRows(of *mat.Dense, spreads []float64) {
	for j, spread := range spreads {
		floats.Scale(1/math.Sqrt(spread), of.RawRowView(j))
	}
}

// orthonormal returns an orthonormal basis of a space that contains the columns, with
// as many vectors as there are columns. It overwrites the columns.
func orthonormal(columns *mat.Dense, pause func() bool) (basis *mat.Dense, more bool) {
	p, r := columns.Dims()
	reflectors, tau := columns.RawMatrix(), make([]float64, r)
	work := make([]float64, 64*max(r, 64)+65*64)
	piece := func(of blas64.General, from, to int) blas64.General {
		of.Data, of.Cols = of.Data[from:], to-from
		return of
	}
	for from := 0; from < r; from += factorBlock {
		to := min(from+factorBlock, r)
		part := piece(reflectors, from, to)
		if from > 0 {
			lapack64.Ormqr(blas.Left, blas.Trans, piece(reflectors, 0, from), tau[:from], part, work, len(work))
		}
		part.Data, part.Rows = part.Data[from*part.Stride:], p-from
		lapack64.Geqrf(part, tau[from:to], work, len(work))
		if !pause() {
			return nil, false
		}
	}
	basis = mat.NewDense(p, r, nil)
	for from := 0; from < r; from += factorBlock {
		to := min(from+factorBlock, r)
		for i := from; i < to; i++ {
			basis.Set(i, i, 1)
		}
		lapack64.Ormqr(blas.Left, blas.NoTrans, reflectors, tau, piece(basis.RawMatrix(), from, to), work, len(work))
		if !pause() {
			return nil, false
		}
	}
	return basis, true
}

// inside returns the records in the coordinates of the basis.
func (s *span) inside(train *Rows) *Rows {
	out := new(Rows)
	for r := range train.All() {
		r.X = s.times(s.basis.T(), r.X)
		out.Add(r)
	}
	return out
}

// model returns a model in the coordinates of the basis, block by block.
func (s *span) model(theta []float64) []float64 {
	p, _ := s.basis.Dims()
	theta = slices.Clone(theta)
	scaleFeatures(theta, p+s.constant, s.spreads)
	return s.blocks(s.basis.T(), theta, p+s.constant)
}

// outside converts a model in these coordinates back; nil stays nil.
func (s *span) outside(theta []float64) []float64 {
	return s.blocks(s.basis, theta, s.coordinates())
}

// blocks multiplies each block of theta, which has the given width, by a matrix.
func (s *span) blocks(by mat.Matrix, theta []float64, width int) []float64 {
	var out []float64
	for k := range len(theta) / width {
		out = append(out, s.times(by, block(theta, k, width))...)
	}
	return out
}

// times multiplies the features of v by a matrix and appends the constant.
func (s *span) times(by mat.Matrix, v []float64) []float64 {
	p := len(v) - s.constant
	var out mat.VecDense
	out.MulVec(by, mat.NewVecDense(p, v[:p]))
	return append(out.RawVector().Data, v[p:]...)
}
