package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Diffusion holds the constants of the learner "diffusion" (Vlaski and Sayed,
// eq. 3-4, 14-20).
type Diffusion struct {
	// Noise is "iid", "transmit-only" or "graph-homomorphic".
	Noise string `toml:"noise"`
}

func diffusionLearner() descriptor {
	return descriptor{
		name: "diffusion", make: newDiffusion, rounds: true,
		constants:   func(t *Task) any { return t.Diffusion },
		check:       (*checker).diffusion,
		usual:       (*filler).diffusion,
		vectors:     func(t *Task) bool { return t.Diffusion.Noise != "iid" },
		sensitivity: func(t *Task, law privacy.Noise) privacy.CarriedSensitivity { return t.StateSensitivity(law, 0) },
	}
}

func (u *filler) diffusion() {
	fill(u, "diffusion.noise", &u.Diffusion.Noise, "iid")
	u.releases(64)
}

func (c *checker) diffusion(t *Task) {
	c.oneOf("diffusion.noise", t.Diffusion.Noise, "iid", "transmit-only", "graph-homomorphic")
	if t.Diffusion.Noise == "iid" || len(c.faults) > 0 {
		return
	}
	most := 2 / t.loss().smoothness(t.FeatureNorm())
	c.check(t.Rounds.Step <= most, "rounds.step", "must be at most %.4g with diffusion.noise %q: beyond, each step brings two private states further apart, and their sensitivity grows without bound", most, t.Diffusion.Noise)
}

// diffusion is the agent of Task.Learner "diffusion": adapt, then combine
// (Vlaski and Sayed, "Graph-homomorphic perturbations for private decentralized
// learning", 2020, eq. 3-4 and 14-20; the book, chapter 11). Agent k in round i:
//
//	adapt    phi = w - mu grad J_k(w)
//	publish  psi = phi + v, v the privacy noise
//	combine  w   = sum over l != k of a_lk psi_l + a_kk (phi + c v)
//
// with J_k the mean loss on its records plus lambda ||w||^2 and the step mu of
// Rounds.Step; c = 1 is "iid", 0 "transmit-only", -(1-a_kk)/a_kk
// "graph-homomorphic".
//
// With c = 1 the state w is a public function of what was published, so that a
// release is one noisy sum of clipped gradients at w: flat sensitivity. Otherwise
// w is private and psi is released as a whole vector; see privateState.
type diffusion struct {
	rounds
	asking  privacy.Mechanism
	private privateState // unused if the noise is "iid"
}

func newDiffusion(c Config) (Agent, error) {
	d := &diffusion{}
	var err error
	if d.rounds, err = newRounds(c, d); err != nil {
		return nil, err
	}
	d.hood.byNoise = d.iid() // other noise is to cancel, as it does only with the weights that both ends know
	return d, fitsPolicy(c.Policy, !d.iid())
}

func (d *diffusion) iid() bool { return d.task.Diffusion.Noise == "iid" }

// query implements scheme.
func (d *diffusion) query() *Query {
	m, ok := d.policy.Next(d.made)
	if !ok || !d.training.active(d.task) {
		d.private = privateState{}
		return nil
	}
	if !d.iid() {
		return d.wholeQuery(m)
	}
	d.asking = m
	return &Query{Mechanism: m, Sums: d.training.sums(d.task.loss(), m, d.model)}
}

// released implements scheme.
func (d *diffusion) released(a privacy.Answer) ([]float64, float64) {
	if !d.iid() {
		return d.wholeReleased(a)
	}
	m := max(1, a.Slots)
	shrink := 1 - 2*d.task.Rounds.Step*d.task.regularisation(m)
	rate := d.task.Rounds.Step / float64(m)
	psi := make([]float64, len(d.model))
	floats.AddScaled(psi, shrink, d.model)
	floats.AddScaled(psi, -rate, a.Sum)
	return psi, math.Hypot(shrink*d.std, rate*d.asking.NoiseStd())
}

// refused implements scheme. A state that carries nothing costs less, so the scheme may
// ask again.
func (d *diffusion) refused() bool {
	carried := d.private.apart > 0
	d.private = privateState{}
	return carried
}

// combined implements scheme.
func (d *diffusion) combined(m mix) {
	switch d.task.Diffusion.Noise {
	case "transmit-only":
		d.private.combine(m, 0, d.task.Radius)
	case "graph-homomorphic":
		d.private.combine(m, -(1 - m.self), d.task.Radius)
	}
}
