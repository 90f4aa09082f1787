package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// The fit that learner "propagation" releases is the minimiser of
//
//	F(t) = sum_j l_j(t) + m r ||t||^2,   r = Propagation.Ridge,
//
// over the m record slots of a cohort. An empty slot adds nothing, and neither does a
// record that the task does not admit ([cohort.clippedMean]). l_j is the loss with its
// slope limited so that ||grad l_j|| <= C everywhere: the clipped gradient of a convex
// function of one score is still the gradient of a convex function (Song, Steinke,
// Thakkar, Thakurta, "Evading the curse of dimensionality in unconstrained private
// GLMs", 2021), and no less smooth.
//
// What is released is v = 2 m r t, so that its sensitivity does not depend on m. If one
// record is replaced, then at the other data's minimum t' the gradient of F is the
// difference of two records' gradients, at most 2C long. F is 2 m r strongly convex, so
// ||t - t'|| <= 2C/(2 m r), and
//
//	||v - v'|| <= 2C.
//
// That is the argument of Chaudhuri, Monteleoni, Sarwate, "Differentially private
// empirical risk minimization" (2011), lemma 7, for exact minimisers. Here the fit is
// the end of a fixed, public number of gradient steps of size 1/L from 0, with L the
// public smoothness of F/m. Each step reduces the distance of two starting points by
// the factor q = 1 - 2r/L and adds 2C/(m L) for the record (Hardt, Recht, Singer 2016),
// so after k steps
//
//	||v - v'|| <= 2 m r (2C/(m L)) (1 - q^k)/(1 - q) = 2C (1 - q^k):
//
// the bound holds wherever the steps end, whether they have converged or not, and no
// certificate of convergence is needed. It does need exact arithmetic; fitRounding
// allows for float64.

// fitBlock is the number of records that are added up before their sum is added to the
// rest, which keeps the rounding of a long sum small.
const fitBlock = 1024

// fitRounding is the share by which rounding can exceed the bound 2C. Let u be 2^-53
// and k = L/(2r). In one step the mean gradient is off by at most u C (2 k p) from the
// scores and norms, u C (2 fitBlock) from the sums and a few u C besides, and the step
// is off by 2 u ||t||, with ||t|| <= C/(2r). Because the steps contract, these errors
// add up to k times that of one step in t, or m u C (2 k p + 2 k + 2 fitBlock + few) in
// v. For both data sets and m <= 2^20 this is less than 2^-33 (2 k p + 2 k + 2 fitBlock
// + few) of 2C; the result is a few times that.
func (t *Task) fitRounding() float64 {
	k := t.fitSmoothness() / (2 * t.Propagation.Ridge)
	return 0x1p-30 * (k*float64(t.Dimension()) + 2*fitBlock)
}

// fitSensitivity is how far one record moves the released vector, in the norm of
// the noise: l1 for Laplace laws, where sqrt(p) times the l2 distance bounds it.
func (t *Task) fitSensitivity(n privacy.Noise) privacy.CarriedSensitivity {
	return privacy.CarriedSensitivity{Step: inNorm(n, 2*t.Clip*(1+t.fitRounding()), t.Dimension())}
}

// fitSmoothness is L, the smoothness of F/m.
func (t *Task) fitSmoothness() float64 {
	return t.loss().smoothness(t.FeatureNorm()) + 2*t.Propagation.Ridge
}

// fitSteps is the number of gradient steps after which the fit is within
// Propagation.Tolerance of the minimum: ||t|| <= C/(2r) there, and each step reduces
// the distance by the share 2r/L. It is public.
func (t *Task) fitSteps(clip float64) int {
	r := t.Propagation.Ridge
	far := clip / (2 * r)
	return passes(math.Ceil(t.fitSmoothness() / (2 * r) * math.Log(far/t.Propagation.Tolerance)))
}

// passes is a number of passes over the records: 1 at least, and at most 2^31 - 1, which is
// what no number counts as. A valid task takes at most maxPasses with its own clip.
func passes(steps float64) int {
	if !(steps < math.MaxInt32) {
		return math.MaxInt32
	}
	return int(max(steps, 1))
}

// localFit returns v = 2 m r t for the m slots.
func (t *Task) localFit(slots []slot, clip float64) []float64 {
	m, ridge := float64(len(slots)), t.Propagation.Ridge
	theta, gradient := make([]float64, t.Dimension()), make([]float64, t.Dimension())
	block, one := make([]float64, t.Dimension()), make([]float64, t.Dimension())
	by := t.clipper(clip)
	for range t.fitSteps(clip) {
		clear(gradient)
		for some := range slices.Chunk(slots, fitBlock) {
			clear(block)
			for i := range some {
				weight := by.gradient(one, theta, &some[i])
				floats.AddScaled(block, weight, one)
			}
			floats.Add(gradient, block)
		}
		floats.Scale(1/m, gradient)
		floats.AddScaled(gradient, 2*ridge, theta)
		floats.AddScaled(theta, -1/t.fitSmoothness(), gradient)
	}
	floats.Scale(2*m*ridge, theta)
	return theta
}
