package learner

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// leanDecrement is the share of the objective below which the gain that a Newton
	// step promises makes it the last step: what is left after it is far less.
	leanDecrement = 1e-6
	// leanResidual is the largest remaining error of Newton's equations at which
	// conjugate gradients stop, in the square of the norm of S^-1.
	leanResidual = 1e-4
	// leanIterations bounds the iterations of conjugate gradients in one step.
	leanIterations = 100
)

// minimise moves theta, the starting point, to the minimum, and calls seen after each
// Newton step. It returns false if pause stopped it.
func (f *leanFitter) minimise(theta, weight, centre []float64, seen func()) bool {
	f.level(theta, centre)
	first := f.objective(theta, weight, centre)
	value := first
	for step := range newtonSteps {
		f.curve()
		if step == 0 && !f.prepare(weight) {
			return false
		}
		if !f.s.reached() {
			return true // not computable in float64: keep the best point so far
		}
		gradient := f.gradient(theta, weight, centre)
		direction, more := f.solve(gradient, weight)
		if !more {
			return false
		}
		decrement := floats.Dot(direction, gradient)
		next := lineSearch(f, theta, direction, weight, centre, value)
		seen()
		if decrement <= leanDecrement*(min(1, first)+value) || next >= value {
			break
		}
		value = next
	}
	return true
}

// gradient is the gradient at theta; curve must have been called.
func (f *leanFitter) gradient(theta, weight, centre []float64) []float64 {
	gradient := make([]float64, len(theta))
	f.collect(gradient, f.slope)
	for k, w := range weight {
		gradient[k] += 2 * w * (theta[k] - centre[k])
	}
	return gradient
}

// solve returns H^-1 b by conjugate gradients, preconditioned by S.
func (f *leanFitter) solve(b, weight []float64) (x []float64, more bool) {
	m, k := f.z.Dims()
	x, scores := make([]float64, len(b)), mat.NewDense(m, k, nil)
	residual, curved := slices.Clone(b), make([]float64, len(b))
	scaled := f.condition(residual)
	direction := slices.Clone(scaled)
	rho := floats.Dot(residual, scaled)
	target := leanResidual * rho
	for range leanIterations {
		f.hessian(curved, direction, weight, scores)
		along := floats.Dot(direction, curved)
		if !(along > 0) {
			break // b is 0
		}
		floats.AddScaled(x, rho/along, direction)
		floats.AddScaled(residual, -rho/along, curved)
		scaled = f.condition(residual)
		next := floats.Dot(residual, scaled)
		if !f.pause() {
			return nil, false
		}
		if next <= target {
			break
		}
		floats.Scale(next/rho, direction)
		floats.Add(direction, scaled)
		rho = next
	}
	return x, true
}

// hessian writes the product of the Hessian and v to dst; scores is working memory.
func (f *leanFitter) hessian(dst, v, weight []float64, scores *mat.Dense) {
	_, k := f.z.Dims()
	turned := make([]float64, k)
	f.times(scores, v)
	for i := range f.y {
		z, c := scores.RawRowView(i), f.curvature
		f.loss.curvature(c, f.z.RawRowView(i), f.y[i])
		for j := range turned {
			turned[j] = floats.Dot(block(c, j, k), z)
		}
		copy(z, turned)
	}
	f.collect(dst, scores)
	for i, w := range weight {
		dst[i] += 2 * w * v[i]
	}
}

// condition returns S^-1 v, block by block.
func (f *leanFitter) condition(v []float64) []float64 {
	out := slices.Clone(v)
	f.s.solve(f.rows(out))
	return out
}
