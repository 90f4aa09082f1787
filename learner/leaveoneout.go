package learner

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leaveOneOut returns the scores of each record under the model fitted without it, K
// for each record. minimise must have been called; the result lasts until the next
// call. It is exact for the squared loss; for others it is one Newton step from the
// full fit (approximate leave-one-out).
//
// With C the record's curvature, s its slope and A = x' H^-1 x, block by block, its
// leverage, the scores move by (I - A C)^-1 A s.
func (f *fitter) leaveOneOut() []float64 {
	f.left = append(f.left[:0], f.z.RawMatrix().Data...)
	if !f.sound {
		return f.left
	}
	k := len(f.slope)
	curvature, n := make([]float64, k*k), max(1, batch/k)
	for _, part := range f.parts {
		for from := 0; from < len(part.y); from += n {
			to := min(from+n, len(part.y))
			leverage := f.leverage(part.x, from, to)
			for i := range to - from {
				z, y := part.z.RawRowView(from+i), part.y[from+i]
				f.loss.slope(f.slope, z, y)
				f.loss.curvature(curvature, z, y)
				move(block(f.left, part.from+from+i, k), leverage[i*k*k:(i+1)*k*k], curvature, f.slope)
			}
		}
	}
	return f.left
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

// batch is the number of columns for which leverage solves at a time: its memory stays
// within that many vectors of the model's length.
const batch = 512

// leverage returns x' H^-1 x, block by block, K x K for each record of a range of x.
// The result lasts until the next call. With H = U'U these are the products of the
// columns of U'^-1 x, x in one block each.
func (f *fitter) leverage(x *mat.Dense, from, to int) []float64 {
	_, p := x.Dims()
	k, n := len(f.slope), to-from
	f.columns = zeros(f.columns, k*p*k*n)
	columns := mat.NewDense(k*p, k*n, f.columns) // all records in the first block, all in the second, ...
	for l := range k {
		columns.Slice(l*p, (l+1)*p, l*n, (l+1)*n).(*mat.Dense).Copy(x.Slice(from, to, 0, p).T())
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, f.factor.u, columns.RawMatrix())
	f.leverages = zeros(f.leverages, n*k*k)
	out := f.leverages
	for row := range k * p {
		values := columns.RawRowView(row)
		for j := range k {
			for l := range k {
				a, b := block(values, j, n), block(values, l, n)
				for i := range a {
					out[(i*k+j)*k+l] += a[i] * b[i]
				}
			}
		}
	}
	return out
}

// zeros returns n zeros, in room if that is large enough.
func zeros(room []float64, n int) []float64 {
	room = slices.Grow(room[:0], n)[:n]
	clear(room)
	return room
}
