package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// span is an orthonormal basis of a space that holds every record and every block of
// a prior. When the pull toward the prior is the same in all directions, a fit never
// leaves that space: whatever is at right angles to all records only makes the
// penalty larger. With few records and many features it is far smaller than the
// space of all models, and the fit takes time in the cube of its size. A constant
// with a pull of its own is scaled first, so that its pull is that of the rest.
type span struct {
	basis *mat.Dense // p x r, columns are the basis
	scale []float64  // of a model's coordinates, before the basis; a record's go by the inverse
}

// newSpan returns the span of the records and the prior, or nil when that is not
// much smaller than the space of all models.
func (t *Task) newSpan(train *Rows, prior []float64) *span {
	p, k := t.Width(), t.loss().scores()
	m := train.Len()
	r := m + k
	if r >= p || t.Dimension() > exactParameters && 2*r > p {
		return nil
	}
	s := &span{scale: make([]float64, p)}
	for i := range s.scale {
		s.scale[i] = 1
	}
	if t.Constant > 0 {
		s.scale[p-1] = math.Sqrt(t.Local.EtaConstant / t.Local.Eta)
	}
	columns := mat.NewDense(p, r, nil)
	scaled := make([]float64, p)
	i := 0
	for record := range train.All() {
		columns.SetCol(i, floats.DivTo(scaled, record.X, s.scale))
		i++
	}
	for i := range k {
		columns.SetCol(m+i, floats.MulTo(scaled, block(prior, i, p), s.scale))
	}
	var qr mat.QR
	qr.Factorize(columns)
	var q mat.Dense
	qr.QTo(&q)
	s.basis = q.Slice(0, p, 0, r).(*mat.Dense)
	return s
}

// weight is that of the penalty in the coordinates of the basis.
func (s *span) weight(t *Task) []float64 {
	_, r := s.basis.Dims()
	weight := make([]float64, r*t.loss().scores())
	floats.AddConst(t.Local.Eta, weight)
	return weight
}

// inside returns the records in the coordinates of the basis.
func (s *span) inside(train *Rows) *Rows {
	out := new(Rows)
	scaled := make([]float64, len(s.scale))
	for r := range train.All() {
		r.X = s.times(s.basis.T(), floats.DivTo(scaled, r.X, s.scale))
		out.Add(r)
	}
	return out
}

// model returns a model in the coordinates of the basis, block by block.
func (s *span) model(theta []float64) []float64 {
	var out []float64
	for k := range len(theta) / len(s.scale) {
		scaled := slices.Clone(block(theta, k, len(s.scale)))
		floats.Mul(scaled, s.scale)
		out = append(out, s.times(s.basis.T(), scaled)...)
	}
	return out
}

// outside is the model of such coordinates; of none, none.
func (s *span) outside(theta []float64) []float64 {
	_, r := s.basis.Dims()
	var out []float64
	for k := range len(theta) / r {
		part := s.times(s.basis, block(theta, k, r))
		floats.Div(part, s.scale)
		out = append(out, part...)
	}
	return out
}

func (s *span) times(by mat.Matrix, v []float64) []float64 {
	var out mat.VecDense
	out.MulVec(by, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}
