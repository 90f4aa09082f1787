package learner

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leaveOneOut returns the scores of each record under the model fitted without
// it, after minimise, K for each record: exact for the squared loss, one Newton
// step from the full fit for others (approximate leave-one-out).
//
// With C the record's curvature, s its slope and A = x' H^-1 x, block by block, its
// leverage, the scores move by (I - A C)^-1 A s.
func (f *fitter) leaveOneOut() []float64 {
	m, _ := f.x.Dims()
	k := len(f.slope)
	out := make([]float64, 0, m*k)
	leverage := f.leverage()
	if leverage == nil {
		return append(out, f.z.RawMatrix().Data...)
	}
	for i, y := range f.y {
		z := f.z.RawRowView(i)
		f.loss.slope(f.slope, z, y)
		f.loss.curvature(f.curvature.RawRowView(i), z, y)
		out = append(out, z...)
		move(out[i*k:], leverage[i*k*k:(i+1)*k*k], f.curvature.RawRowView(i), f.slope)
	}
	return out
}

// move adds (I - A C)^-1 A s to the scores z.
func move(z, a, c, s []float64) {
	k := len(s)
	if k == 1 {
		z[0] += s[0] * a[0] / (1 - c[0]*a[0])
		return
	}
	var left mat.Dense
	var right, step mat.VecDense
	leverage := mat.NewDense(k, k, a)
	left.Mul(leverage, mat.NewDense(k, k, c))
	left.Scale(-1, &left)
	for j := range k {
		left.Set(j, j, 1+left.At(j, j))
	}
	right.MulVec(leverage, mat.NewVecDense(k, s))
	if step.SolveVec(&left, &right) == nil {
		floats.Add(z, step.RawVector().Data)
	}
}

// leverage returns, K x K for each record, x' H^-1 x block by block; nil when
// float64 does not reach. With H = U'U these are the products of the columns of
// U'^-1 x, x in one block each.
func (f *fitter) leverage() []float64 {
	factor, _ := f.factor.RawU().(mat.RawTriangular)
	if factor == nil || f.factor.Cond() > mat.ConditionTolerance {
		return nil
	}
	m, p := f.x.Dims()
	k, u := len(f.slope), factor.RawTriangular()
	columns := make([]*mat.Dense, k)
	for l := range columns {
		columns[l] = mat.NewDense(k*p, m, nil)
		columns[l].Slice(l*p, (l+1)*p, 0, m).(*mat.Dense).Copy(f.x.T())
		blas64.Trsm(blas.Left, blas.Trans, 1, u, columns[l].RawMatrix())
	}
	out := make([]float64, m*k*k)
	for j := range k {
		for l := range k {
			for row := range k * p {
				a, b := columns[j].RawRowView(row), columns[l].RawRowView(row)
				for i := range a {
					out[(i*k+j)*k+l] += a[i] * b[i]
				}
			}
		}
	}
	return out
}
