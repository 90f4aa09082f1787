package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// privateState is the w of diffusion that nobody but its owner knows. It lives in
// memory only: after a restart, or when another cohort's turn has come, w goes on
// from what is public.
//
// How far can one record move psi = phi + v, GIVEN everything released before?
// Let w and w' be the states of two worlds that differ in one record and have the
// same transcript, at most D apart in l2.
//
//   - A step brings them no further apart: the clipped gradients are those of a
//     convex function with a smoothness of at most L (clippedGradient), lambda
//     ||w||^2 adds 2 lambda, and w - mu grad is nonexpansive for mu <=
//     2/(L + 2 lambda), which the task is checked for. With mu <= 2/(L + 4 lambda)
//     it even contracts by 1 - 2 mu lambda (Nesterov's theorem 2.1.12).
//   - The record itself moves the mean of m gradients by at most 2 C/m.
//   - Given the released psi, v = psi - phi, so w = (a_kk - a_kk c) phi + public
//     things: of the distance the share r = a_kk |1-c| is left, and projecting on
//     the ball takes none away.
//
// Hence D_i = r D_{i-1} + 2 mu C/m for phi: [privacy.CarriedSensitivity], with the
// true r of each round. What is released is m phi; see releaseScale.
//
// With one cohort at a time, what is carried is one cohort's secret only, and it
// pays for every release that has some of it.
type privateState struct {
	w        []float64 // nil: it is the public model
	apart    float64   // D of w, l2
	std      float64   // of the noise in w, per coordinate
	cohort   privacy.Cohort
	phi      []float64 // of this round; nil: nothing was released
	phiApart float64   // D of phi, l2
	phiStd   float64
	noise    []float64 // v of this round
	noiseStd float64
}

// wholeQuery adapts, and asks for the release of phi.
func (d *diffusion) wholeQuery(planned privacy.Mechanism) *Query {
	s, c := &d.private, d.training.oldest()
	if s.w == nil || s.cohort != c.number {
		*s = privateState{w: d.model, std: d.std, cohort: c.number}
	}
	m, q := len(c.slots), d.adapt(c, planned)
	if q == nil && s.apart > 0 {
		// The plan has no release for so much carried: what is private is let go.
		*s = privateState{w: d.model, std: d.std, cohort: c.number}
		q = d.adapt(c, planned)
	}
	if q != nil {
		scaled := make([]float64, len(s.phi))
		floats.ScaleTo(scaled, releaseScale(d.asking, m), s.phi)
		q.Sums = []privacy.Sum{d.asking.NewBounded(c.number, m, scaled)}
	}
	return q
}

// adapt computes phi and chooses its mechanism; nil if there is none.
func (d *diffusion) adapt(c *cohort, planned privacy.Mechanism) *Query {
	s, mu, m := &d.private, d.task.Rounds.Step, len(c.slots)
	clip, lambda := d.task.recordClip(planned), d.task.regularisation(m)
	keep := 1.0
	if mu*(d.task.curvature(m)+2*lambda) <= 2 {
		keep -= 2 * mu * lambda
	}
	s.phiApart = keep*s.apart + 2*mu*clip/float64(m) + d.task.rounding(m, mu*clip)
	distance := inNorm(planned.Noise(), s.phiApart*releaseScale(planned, m), len(s.w))
	var ok bool
	if d.asking, ok = covering(d.policy, planned, distance, len(s.w)); !ok {
		return nil
	}
	s.phi = make([]float64, len(s.w))
	c.clippedMean(s.phi, d.task.loss(), s.w, clip)
	floats.Scale(-mu, s.phi)
	floats.AddScaled(s.phi, 1-2*mu*lambda, s.w)
	s.phiStd = (1 - 2*mu*lambda) * s.std
	return &Query{Mechanism: d.asking}
}

// wholeReleased returns psi, and keeps v.
func (d *diffusion) wholeReleased(a privacy.Answer) ([]float64, float64) {
	s, scale := &d.private, releaseScale(d.asking, a.Slots)
	psi := make([]float64, len(a.Sum))
	floats.ScaleTo(psi, 1/scale, a.Sum)
	s.noise = make([]float64, len(psi))
	floats.SubTo(s.noise, psi, s.phi)
	s.noiseStd = d.asking.NoiseStd() / scale
	return psi, math.Hypot(s.phiStd, s.noiseStd)
}

// combine takes phi and the noise times share = a_kk c into the next w.
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

// stateSensitivity is that of the schedule, for m phi: r is at most 1, so this is
// the graph-homomorphic line of [privacy.CarriedSensitivity] for both schemes.
// Noise on transmissions only carries less, and how much depends on the degrees of
// the day: a filter charges what it was, and its budget lasts longer.
func (t *Task) stateSensitivity(law privacy.Noise) privacy.CarriedSensitivity {
	step := 2 * t.Rounds.Step * t.Clip * (1 + plannedRounding)
	return privacy.CarriedSensitivity{Keep: 1, Step: inNorm(law, step, t.Dimension())}
}
