package learner

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// span is an orthonormal basis of a space that holds the features of every record and
// those of every block of a prior. The pull toward the prior is the same for all
// features, so a fit never leaves that space: whatever is at right angles to all
// records only makes the penalty larger. With few records and many features it is far
// smaller than the space of all models, and the fit takes time in the cube of its
// size. The constant, whose pull is its own, stays a coordinate by itself.
type span struct {
	basis    *mat.Dense // one row a feature, columns are the basis
	constant int        // coordinates after the features: 0 or 1
}

// spanNumbers bounds the numbers in a basis: 32 MB.
const spanNumbers = 1 << 22

// newSpan returns the span of the records and the prior, or nil when that is not
// much smaller than the space of all models, or too large itself. It calls pause between pieces of the work,
// and reports whether it was let.
func (t *Task) newSpan(train *Rows, prior []float64, pause func() bool) (s *span, more bool) {
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
	for i := range k {
		columns.SetCol(m+i, block(prior, i, width)[:p])
	}
	s = &span{constant: width - p}
	s.basis, more = orthonormal(columns, pause)
	return s, more
}

// orthonormal returns an orthonormal basis of a space that holds the columns, as many as
// there are, and destroys them.
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
	return s.blocks(s.basis.T(), theta, p+s.constant)
}

// outside is the model of such coordinates; of none, none.
func (s *span) outside(theta []float64) []float64 {
	_, r := s.basis.Dims()
	return s.blocks(s.basis, theta, r+s.constant)
}

// blocks is by times each block of theta, which have the given width.
func (s *span) blocks(by mat.Matrix, theta []float64, width int) []float64 {
	var out []float64
	for k := range len(theta) / width {
		out = append(out, s.times(by, block(theta, k, width))...)
	}
	return out
}

// times is by times the features of v, followed by its constant.
func (s *span) times(by mat.Matrix, v []float64) []float64 {
	p := len(v) - s.constant
	var out mat.VecDense
	out.MulVec(by, mat.NewVecDense(p, v[:p]))
	return append(out.RawVector().Data, v[p:]...)
}
