package learner

import "gonum.org/v1/gonum/mat"

// span is an orthonormal basis of a space that holds every record and every block of
// a prior. When the pull toward the prior is the same in all directions, a fit never
// leaves that space: whatever is at right angles to all records only makes the
// penalty larger. With few records and many features it is far smaller than the
// space of all models, and the fit takes time in the cube of its size.
type span struct {
	basis *mat.Dense // p x r, columns are the basis
}

// newSpan returns the span of the records and the prior, or nil when that is no
// smaller than the space of all models or the pull has directions.
func (t *Task) newSpan(records []Record, prior []float64) *span {
	p, k := t.Width(), t.loss().scores()
	r := len(records) + k
	if r >= p || t.Constant > 0 {
		return nil
	}
	columns := mat.NewDense(p, r, nil)
	for i, record := range records {
		columns.SetCol(i, record.X)
	}
	for i := range k {
		columns.SetCol(len(records)+i, block(prior, i, p))
	}
	var qr mat.QR
	qr.Factorize(columns)
	var q mat.Dense
	qr.QTo(&q)
	return &span{basis: q.Slice(0, p, 0, r).(*mat.Dense)}
}

// inside returns the records in the coordinates of the basis.
func (s *span) inside(records []Record) []Record {
	out := make([]Record, len(records))
	for i, r := range records {
		out[i] = r
		out[i].X = s.times(s.basis.T(), r.X)
	}
	return out
}

// model returns a model in the coordinates of the basis, block by block.
func (s *span) model(theta []float64) []float64 { return s.blocks(s.basis.T(), theta) }

// outside is the model of such coordinates.
func (s *span) outside(theta []float64) []float64 { return s.blocks(s.basis, theta) }

func (s *span) blocks(by mat.Matrix, theta []float64) []float64 {
	_, from := by.Dims()
	var out []float64
	for k := range len(theta) / from {
		out = append(out, s.times(by, block(theta, k, from))...)
	}
	return out
}

func (s *span) times(by mat.Matrix, v []float64) []float64 {
	var out mat.VecDense
	out.MulVec(by, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}
