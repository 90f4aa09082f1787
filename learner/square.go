package learner

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// square is S as a matrix.
type square struct {
	parts []part
	m     int
	pause func() bool

	some   *mat.Dense    // working memory for a piece of the records
	gram   *mat.SymDense // S without the weights
	weight []float64
	factor factor    // of S
	ok     bool      // float64 holds what is solved with it
	spread []float64 // x_j' S^-1 x_j; nil: not computed for this factor
}

func newSquare(parts []part, m, p int, pause func() bool) *square {
	return &square{parts: parts, m: m, pause: pause, some: mat.NewDense(min(m, pieceRecords), p, nil), gram: mat.NewSymDense(p, nil), factor: newFactor(p)}
}

// pieceRecords is how many records one piece of the work on S takes.
const pieceRecords = 128

// pieces calls do for one group of records after the other, with the number of the
// first record in it. more is false if pause stopped it.
func (s *square) pieces(do func(from int, x *mat.Dense)) (more bool) {
	_, p := s.gram.Dims()
	for _, part := range s.parts {
		for from := 0; from < len(part.y); from += pieceRecords {
			do(part.from+from, part.x.Slice(from, min(from+pieceRecords, len(part.y)), 0, p).(*mat.Dense))
			if !s.pause() {
				return false
			}
		}
	}
	return true
}

// make implements [conditioner].
func (s *square) make(of, weight []float64, fresh bool) (more bool) {
	if fresh && !s.sum(of) {
		return false
	}
	s.weight, s.spread = weight, nil
	more = s.factor.make(s.gram, weight, s.pause)
	s.ok = more && s.factor.conditioned()
	return more
}

// sum computes gram.
func (s *square) sum(of []float64) (more bool) {
	s.gram.Zero()
	return s.pieces(func(from int, x *mat.Dense) {
		n, p := x.Dims()
		for i := range n {
			floats.ScaleTo(s.some.RawRowView(i), math.Sqrt(of[from+i]), x.RawRowView(i))
		}
		some := s.some.Slice(0, n, 0, p).(*mat.Dense).RawMatrix()
		blas64.Syrk(blas.Trans, 1, some, 1, s.gram.RawSymmetric())
	})
}

// reached implements [conditioner].
func (s *square) reached() bool { return s.ok }

// solve implements [conditioner].
func (s *square) solve(v *mat.Dense) {
	blas64.Trsm(blas.Right, blas.NoTrans, 1, s.factor.u, v.RawMatrix())
	blas64.Trsm(blas.Right, blas.Trans, 1, s.factor.u, v.RawMatrix())
}

// leverages implements [conditioner]: x' S^-1 x is the squared length of x' U^-1.
func (s *square) leverages() (spread []float64, more bool) {
	if s.spread != nil {
		return s.spread, true
	}
	spread = make([]float64, s.m)
	more = s.pieces(func(from int, x *mat.Dense) {
		n, p := x.Dims()
		some := s.some.Slice(0, n, 0, p).(*mat.Dense)
		some.Copy(x)
		blas64.Trsm(blas.Right, blas.NoTrans, 1, s.factor.u, some.RawMatrix())
		for i := range n {
			row := some.RawRowView(i)
			spread[from+i] = floats.Dot(row, row)
		}
	})
	if more {
		s.spread = spread
	}
	return spread, more
}

// excess implements [conditioner].
func (s *square) excess() float64 { return excess(s.factor.logDet(), s.weight) }
