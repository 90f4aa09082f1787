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

// batch is how many columns leverage solves for at a time: memory stays within that
// many vectors of the model's length.
const batch = 512

// leverage returns, K x K for each record, x' H^-1 x block by block; nil when
// float64 does not reach.
func (f *fitter) leverage() []float64 {
	factor, _ := f.factor.RawU().(mat.RawTriangular)
	if factor == nil || f.factor.Cond() > mat.ConditionTolerance {
		return nil
	}
	m, _ := f.x.Dims()
	k := len(f.slope)
	out, n := make([]float64, m*k*k), max(1, batch/k)
	for from := 0; from < m; from += n {
		to := min(from+n, m)
		f.addLeverage(out[from*k*k:to*k*k], factor.RawTriangular(), from, to)
	}
	return out
}

// addLeverage adds the leverage of a range of records to dst. With H = U'U these
// are the products of the columns of U'^-1 x, x in one block each.
func (f *fitter) addLeverage(dst []float64, u blas64.Triangular, from, to int) {
	_, p := f.x.Dims()
	k, n := len(f.slope), to-from
	columns := mat.NewDense(k*p, k*n, nil) // all records in the first block, all in the second, ...
	for l := range k {
		columns.Slice(l*p, (l+1)*p, l*n, (l+1)*n).(*mat.Dense).Copy(f.x.Slice(from, to, 0, p).T())
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, u, columns.RawMatrix())
	for row := range k * p {
		values := columns.RawRowView(row)
		for j := range k {
			for l := range k {
				a, b := block(values, j, n), block(values, l, n)
				for i := range a {
					dst[(i*k+j)*k+l] += a[i] * b[i]
				}
			}
		}
	}
}
