package learner

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// factor holds U with S = U'U for a matrix S that may take long to factorise. It works
// in one piece of memory and divides the work into pieces.
type factor struct {
	u    blas64.Triangular
	norm float64   // of S
	work []float64 // 3 for each column
	ok   bool      // S is positive definite in float64
}

func newFactor(n int) factor {
	u := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: n, Data: make([]float64, n*n)}
	return factor{u: u, work: make([]float64, 3*n)}
}

// unpaused is the pause of work that nothing stops.
func unpaused() bool { return true }

// factorBlock is the number of columns that one piece of the work takes.
const factorBlock = 64

// make factorises gram + 2 diag(weight), calling pause between the pieces. more is
// false if pause stopped it. Only the first n weights are used.
func (f *factor) make(gram *mat.SymDense, weight []float64, pause func() bool) (more bool) {
	n, from := f.u.N, gram.RawSymmetric()
	for i := range n {
		copy(f.u.Data[i*n+i:(i+1)*n], from.Data[i*from.Stride+i:i*from.Stride+n])
		f.u.Data[i*n+i] += 2 * weight[i]
	}
	f.norm = lapack64.Lansy(lapack.MaxColumnSum, f.symmetric(), f.work)
	f.ok = false
	for at := 0; at < n; at += factorBlock {
		if !f.step(at, min(factorBlock, n-at)) {
			return pause() // not positive definite in float64
		}
		if !pause() {
			return false
		}
	}
	f.ok = true
	return true
}

func (f *factor) symmetric() blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Upper, N: f.u.N, Stride: f.u.Stride, Data: f.u.Data}
}

// conditioned reports whether float64 holds what is solved with the factor: S is positive
// definite and its condition number, which takes as long as some tens of solutions, small
// enough.
func (f *factor) conditioned() bool {
	return f.ok && 1/lapack64.Pocon(f.symmetric(), f.norm, f.work, make([]int, f.u.N)) <= mat.ConditionTolerance
}

// solve replaces v by S^-1 v.
func (f *factor) solve(v []float64) {
	x := blas64.Vector{N: len(v), Inc: 1, Data: v}
	blas64.Trsv(blas.Trans, f.u, x)
	blas64.Trsv(blas.NoTrans, f.u, x)
}

// step computes the rows of U from at on. The rows above must be done, and their
// products subtracted from the rows below.
func (f *factor) step(at, rows int) (ok bool) {
	stride := f.u.Stride
	corner := blas64.Symmetric{Uplo: blas.Upper, N: rows, Stride: stride, Data: f.u.Data[at*stride+at:]}
	u, ok := lapack64.Potrf(corner)
	left := f.u.N - at - rows
	if !ok || left == 0 {
		return ok
	}
	beside := blas64.General{Rows: rows, Cols: left, Stride: stride, Data: f.u.Data[at*stride+at+rows:]}
	blas64.Trsm(blas.Left, blas.Trans, 1, u, beside)
	below := blas64.Symmetric{Uplo: blas.Upper, N: left, Stride: stride, Data: f.u.Data[(at+rows)*(stride+1):]}
	blas64.Syrk(blas.Trans, -1, beside, 1, below)
	return true
}

// logDet is the logarithm of the determinant of S.
func (f *factor) logDet() (sum float64) {
	for i := range f.u.N {
		sum += 2 * math.Log(f.u.Data[i*(f.u.Stride+1)])
	}
	return sum
}
