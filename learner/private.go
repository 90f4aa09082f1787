package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// privateState is the w of diffusion, which only its owner knows. It lives in memory
// only: after a restart, or when another cohort's turn has come, w starts again from
// the public model.
//
// How far can one record move psi = phi + v, GIVEN everything released before? Let w
// and w' be the states in two worlds that differ in one record and have the same
// transcript, and let them be at most D apart in l2.
//
//   - The clipped gradients are those of a convex function with a smoothness of at
//     most L (clippedGradient), and lambda ||w||^2 adds 2 lambda: so a step multiplies
//     the distance by at most q = max(|1 - 2 mu lambda|, |1 - mu (L + 2 lambda)|)
//     (Nesterov, theorem 2.1.12), which is at most 1 for mu <= 2/(L + 2 lambda).
//   - The record itself moves the mean of m gradients by at most 2 C/m.
//   - Given the released psi, v = psi - phi, so w = (a_kk - a_kk c) phi + public
//     things: the share r = a_kk |1-c| of the distance is left, and projecting on
//     the ball takes none away.
//
// Hence D_i = q r D_{i-1} + 2 mu C/m for phi: [privacy.CarriedSensitivity], with the
// true q and r of each round. The release is m phi; see releaseScale.
//
// Only one cohort is used at a time, so the state carries the secret of one cohort, and
// that cohort pays for every release that contains some of it.
type privateState struct {
	w        []float64 // nil: the public model
	apart    float64   // D of w, l2
	std      float64   // of the noise in w, per coordinate
	cohort   privacy.Cohort
	phi      []float64 // of this round; nil: no release
	phiApart float64   // D of phi, l2
	phiStd   float64
	scale    float64   // the factor of its release
	noise    []float64 // v of this round
	noiseStd float64
}

// wholeQuery adapts and asks for the release of phi.
func (d *diffusion) wholeQuery(planned privacy.Mechanism) *Query {
	s, c := &d.private, d.training.turn(d.task)
	if s.w == nil || s.cohort != c.number {
		*s = privateState{w: d.model, std: d.std, cohort: c.number}
	}
	q := d.adapt(c, planned)
	if q == nil && s.apart > 0 {
		// The plan has no release for a state that carries this much, so the private
		// state is dropped.
		*s = privateState{w: d.model, std: d.std, cohort: c.number}
		q = d.adapt(c, planned)
	}
	if q != nil {
		scaled := make([]float64, len(s.phi))
		floats.ScaleTo(scaled, s.scale, s.phi)
		q.Sums = []privacy.Sum{d.asking.NewBounded(c.number, len(c.slots), scaled)}
	}
	return q
}

// adapt computes phi and chooses its mechanism; it returns nil if there is none.
func (d *diffusion) adapt(c *cohort, planned privacy.Mechanism) *Query {
	s, mu, m := &d.private, d.task.Rounds.Step, len(c.slots)
	clip, lambda := d.task.recordClip(planned), d.task.regularisation(m)
	s.phiApart = d.task.contraction(m)*s.apart + 2*mu*clip/float64(m) + d.task.rounding(m, mu*clip)
	s.scale = releaseScale(planned, m)
	distance := inNorm(planned.Noise(), s.phiApart*s.scale, len(s.w))
	var ok bool
	if d.asking, ok = covering(d.policy, planned, distance, len(s.w)); !ok {
		return nil
	}
	s.phi = make([]float64, len(s.w))
	c.clippedMean(s.phi, d.task.clipper(clip), s.w)
	floats.Scale(-mu, s.phi)
	floats.AddScaled(s.phi, 1-2*mu*lambda, s.w)
	s.phiStd = (1 - 2*mu*lambda) * s.std
	return &Query{Mechanism: d.asking}
}

// wholeReleased returns psi and keeps v.
func (d *diffusion) wholeReleased(a privacy.Answer) ([]float64, float64) {
	s := &d.private
	psi := make([]float64, len(a.Sum))
	floats.ScaleTo(psi, 1/s.scale, a.Sum)
	s.noise = make([]float64, len(psi))
	floats.SubTo(s.noise, psi, s.phi)
	s.noiseStd = d.asking.NoiseStd() / s.scale
	return psi, math.Hypot(s.phiStd, s.noiseStd)
}

// combine computes the next w from the mix, phi and the noise; share is a_kk c.
func (s *privateState) combine(m mix, share, radius float64) {
	if s.noise == nil {
		*s = privateState{} // nothing was released in this round
		return
	}
	w := m.others
	floats.AddScaled(w, m.self, s.phi)
	floats.AddScaled(w, share, s.noise)
	project(w, radius)
	s.w, s.apart = w, (m.self-share)*s.phiApart*(1+1e-15)
	s.std = math.Hypot(m.std, math.Hypot(m.self*s.phiStd, share*s.noiseStd))
	s.phi, s.noise = nil, nil
}

// StateSensitivity is what a schedule assumes that learner "diffusion" carries with the
// noise "transmit-only" or "graph-homomorphic", for releases of slots records; slots is
// 0 if the number is not known yet. Distances are in the norm of the law.
//
// It is a forecast, and no guarantee depends on it: a filter charges what was really
// carried, and under a plan an agent that carries more drops its private state. The
// forecast of r is 1 for the graph-homomorphic noise. For the other it is twice the own
// weight among neighbours of equal degree, which leaves room for rounds with edges left
// out.
func (t *Task) StateSensitivity(law privacy.Noise, slots int) privacy.CarriedSensitivity {
	keep := 1.0
	if slots > 0 {
		keep = min(1, t.contraction(slots))
	}
	if t.Diffusion.Noise == "transmit-only" {
		keep *= min(1, 2/float64(1+t.Graph.Degree))
	}
	step := 2 * t.Rounds.Step * t.Clip * (1 + plannedRounding)
	return privacy.CarriedSensitivity{Keep: keep, Step: inNorm(law, step, t.Dimension())}
}

// contraction is q for m records, with an allowance for normMargin in the smoothness: q
// changes by at most mu L <= 2 times 2 normMargin.
func (t *Task) contraction(m int) float64 {
	mu := t.Rounds.Step
	return max(math.Abs(1-2*mu*t.regularisation(m)), math.Abs(1-mu*t.curvature(m))) + 5*normMargin
}
