package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// proxPenalty replaces y by prox_{g r}(y), r = L1 ||.||_1 + L2 ||.||^2: the
// minimiser of g r(u) + 1/2 ||u - y||^2, which shrinks every coordinate toward
// zero by g L1 and divides what is left by 1 + 2 g L2.
func (t *Task) proxPenalty(y []float64) {
	threshold, scale := t.Rounds.Step*t.KM.L1, 1/(1+2*t.Rounds.Step*t.KM.L2)
	for j, v := range y {
		y[j] = math.Copysign(max(0, math.Abs(v)-threshold)*scale, v)
	}
}

// proxLoss returns prox_{g f}(x) to within proxError: the minimiser of
//
//	f(u) + ||u - x||^2 / 2g,   f the mean clipped loss of the cohort + lambda ||u||^2,
//
// by gradient descent from x. The problem is strongly convex with s = 1/g + 2 lambda
// and smooth with s + L, L the public smoothness of the loss, so that each step of
// 2/(2s + L) reduces the distance from the solution to at most L/(2s + L) of it
// (Nesterov, theorem 2.1.15). The solution is x - g grad f(u), within g (C + 2 lambda
// (radius + g C)) of x. So the number of steps that guarantees the error follows from
// public values only.
func (t *Task) proxLoss(c *cohort, clip float64, x []float64) []float64 {
	strong, smooth := t.proxCurvature(len(c.slots))
	u, gradient := append([]float64(nil), x...), make([]float64, len(x))
	by := t.clipper(clip)
	for range t.proxPasses(len(c.slots), clip) {
		c.clippedMean(gradient, by, u)
		floats.AddScaled(gradient, strong, u)
		floats.AddScaled(gradient, -1/t.Rounds.Step, x)
		floats.AddScaled(u, -2/(2*strong+smooth), gradient)
	}
	return u
}

// proxCurvature returns s and L of proxLoss for m records.
func (t *Task) proxCurvature(m int) (strong, smooth float64) {
	return 1/t.Rounds.Step + 2*t.regularisation(m), t.loss().smoothness(t.FeatureNorm())
}

// proxPasses is how many steps proxLoss takes with m records. It is public.
func (t *Task) proxPasses(m int, clip float64) int {
	reach := t.Rounds.Step * clip
	strong, smooth := t.proxCurvature(m)
	start := t.Rounds.Step * (clip + 2*t.regularisation(m)*(t.Radius+reach))
	return proxSteps(start, proxError(reach, m), smooth/(2*strong+smooth))
}

// proxSteps is how many steps reduce a distance from start to end, if each leaves the
// given share of it.
func proxSteps(start, end, share float64) int {
	if !(share < 1) { // no step is sure to reduce the distance
		return passes(math.Inf(1))
	}
	return passes(math.Ceil(max(0, math.Log(end/start)/math.Log(share))) + 1)
}

// proxError is the guaranteed error of proxLoss in l2 norm, a small share of how far
// one of m records can move it; reach is g C.
func proxError(reach float64, m int) float64 { return 1e-7 * reach / float64(m) }

// proxDistance is how far one of m records can move prox_{g f}(x) in l2: 2 g C/m, see
// km, plus twice the error of the solver, plus rounding. One step of the solver rounds
// like a step of diffusion. All steps together round by at most 1 + g L/2 times as
// much, because each leaves the share L/(2s + L) of the error before it.
func (t *Task) proxDistance(clip float64, m int) float64 {
	reach := t.Rounds.Step * clip
	steps := 1 + t.Rounds.Step*t.loss().smoothness(t.FeatureNorm())
	return 2*reach/float64(m) + 2*proxError(reach, m) + steps*t.rounding(m, reach)
}

// proxSensitivity is the sensitivity that a schedule assumes, for m prox_{g f}(x).
func (t *Task) proxSensitivity(law privacy.Noise) privacy.CarriedSensitivity {
	reach := t.Rounds.Step * t.Clip
	distance := 2*reach*(1+plannedRounding) + 2*proxError(reach, 1)
	return privacy.CarriedSensitivity{Step: inNorm(law, distance, t.Dimension())}
}
