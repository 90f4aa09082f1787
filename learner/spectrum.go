package learner

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// spectrum is S where the matrix would be too large: its diagonal, which is the
// preconditioner, and what is known about the eigenvalues of
//
//	M = C^1/2 X X' C^1/2,   S - 2 diag(weight) = X' C X,
//
// which have the same eigenvalues except for zeros. A few steps of Lanczos' method from
// vectors of signs give nodes and shares from which the trace of any function of M can
// be computed (Ubaru, Chen, Saad 2017, "Fast estimation of tr(f(A)) via stochastic
// Lanczos quadrature"). This serves all weights at once, because they are the same for
// all features. So
//
//	log det S - log det 2 diag(weight) = tr log(1 + M/2w),
//	sum_j c_j x_j' S^-1 x_j            = tr M (M + 2w)^-1.
//
// The second is divided among the records as if they were at right angles to each
// other: b_j = |x_j|^2 / (c_j |x_j|^2 + t), with the t at which the sum is right. It is 2w
// if they are, or if no record has any curvature, and never less, because no records of
// these lengths have a larger sum. A constant, whose weight differs, is left out of M.
type spectrum struct {
	parts []part
	m, p  int
	pause func() bool

	of       []float64
	weight   float64   // the weight of the features
	features int       // number of columns with this weight
	square   []float64 // sum_j c_j x_ji^2
	inverse  []float64 // inverse of S's diagonal
	length   []float64 // |x_j|^2
	nodes    []float64 // estimated eigenvalues of M
	shares   []float64 // number of eigenvalues that each node stands for
}

const (
	// probes is the number of vectors of signs from which the traces are estimated, and
	// probeSteps the number of steps taken from each.
	probes     = 4
	probeSteps = 32
)

func newSpectrum(parts []part, m, p int, pause func() bool) *spectrum {
	return &spectrum{parts: parts, m: m, p: p, pause: pause, inverse: make([]float64, p)}
}

// make implements [conditioner].
func (s *spectrum) make(of, weight []float64, fresh bool) (more bool) {
	s.weight = weight[0]
	if fresh {
		s.of, s.features = of, s.p
		if weight[s.p-1] != s.weight {
			s.features--
		}
		s.measure()
		s.nodes, s.shares = nil, nil
		for probe := range probes {
			if !s.lanczos(uint64(probe)) {
				return false
			}
		}
	}
	for i, w := range weight {
		s.inverse[i] = 1 / (s.square[i] + 2*w)
	}
	return s.pause()
}

// measure computes square and length.
func (s *spectrum) measure() {
	s.square, s.length = make([]float64, s.p), make([]float64, s.m)
	for _, part := range s.parts {
		for i := range part.y {
			x, j := part.x.RawRowView(i), part.from+i
			for k, v := range x {
				s.square[k] += s.of[j] * v * v
			}
			s.length[j] = floats.Dot(x[:s.features], x[:s.features])
		}
	}
}

// lanczos adds the nodes of one probe. It orthogonalises fully, because there are few
// steps.
func (s *spectrum) lanczos(probe uint64) (more bool) {
	v := make([]float64, s.m)
	for j := range v {
		v[j] = publicSign(probe<<32|uint64(j)) / math.Sqrt(float64(s.m))
	}
	var basis [][]float64
	var diagonal, beside []float64
	for range min(probeSteps, s.m) {
		basis = append(basis, v)
		next := s.apply(v)
		diagonal = append(diagonal, floats.Dot(next, v))
		for range 2 {
			for _, b := range basis {
				floats.AddScaled(next, -floats.Dot(next, b), b)
			}
		}
		if !s.pause() {
			return false
		}
		norm := floats.Norm(next, 2)
		if norm <= 1e-10*floats.Max(diagonal) {
			break
		}
		beside = append(beside, norm)
		v = floats.ScaleTo(next, 1/norm, next)
	}
	s.quadrature(diagonal, beside)
	return true
}

// quadrature adds the nodes of a tridiagonal matrix.
func (s *spectrum) quadrature(diagonal, beside []float64) {
	n := len(diagonal)
	t := mat.NewSymDense(n, nil)
	for i := range n {
		t.SetSym(i, i, diagonal[i])
		if i+1 < n {
			t.SetSym(i, i+1, beside[i])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(t, true) {
		return
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for i, node := range eigen.Values(nil) {
		first := vectors.At(0, i)
		s.nodes = append(s.nodes, max(0, node))
		s.shares = append(s.shares, first*first*float64(s.m)/probes)
	}
}

// apply returns M v.
func (s *spectrum) apply(v []float64) []float64 {
	scaled, sum, out := make([]float64, s.m), make([]float64, s.features), make([]float64, s.m)
	for j, c := range s.of {
		scaled[j] = math.Sqrt(c) * v[j]
	}
	vector := func(data []float64) blas64.Vector { return blas64.Vector{N: len(data), Inc: 1, Data: data} }
	for _, part := range s.parts {
		x := s.columns(part)
		blas64.Gemv(blas.Trans, 1, x, vector(scaled[part.from:part.from+x.Rows]), 1, vector(sum))
	}
	for _, part := range s.parts {
		x := s.columns(part)
		blas64.Gemv(blas.NoTrans, 1, x, vector(sum), 0, vector(out[part.from:part.from+x.Rows]))
	}
	for j, c := range s.of {
		out[j] *= math.Sqrt(c)
	}
	return out
}

// columns returns the features of a part's records without the constant.
func (s *spectrum) columns(p part) blas64.General {
	x := p.x.RawMatrix()
	x.Cols = s.features
	return x
}

// trace is the trace of f(M), where f(0) must be 0.
func (s *spectrum) trace(f func(float64) float64) (sum float64) {
	for i, node := range s.nodes {
		sum += s.shares[i] * f(node)
	}
	return sum
}

// reached implements [conditioner].
func (s *spectrum) reached() bool { return len(s.nodes) > 0 }

// solve implements [conditioner].
func (s *spectrum) solve(v *mat.Dense) {
	k, _ := v.Dims()
	for i := range k {
		floats.Mul(v.RawRowView(i), s.inverse)
	}
}

// leverages implements [conditioner].
func (s *spectrum) leverages() (spread []float64, more bool) {
	want := s.trace(func(node float64) float64 { return node / (node + 2*s.weight) })
	sum := func(t float64) (sum float64) {
		for j, c := range s.of {
			sum += c * s.length[j] / (c*s.length[j] + t)
		}
		return sum
	}
	low, high := 1., 0x1p60 // in units of twice the weight
	for range 100 {
		if middle := math.Sqrt(low * high); sum(middle*2*s.weight) > want {
			low = middle
		} else {
			high = middle
		}
	}
	spread = make([]float64, s.m)
	for j, c := range s.of {
		spread[j] = s.length[j] / (c*s.length[j] + high*2*s.weight)
	}
	return spread, s.pause()
}

// excess implements [conditioner].
func (s *spectrum) excess() float64 {
	return s.trace(func(node float64) float64 { return math.Log1p(node / (2 * s.weight)) })
}
