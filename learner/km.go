package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// KM holds the constants of the learner "km" (DP-dKM, algorithm 1, corrected).
type KM struct {
	Operator   string  `toml:"operator"`   // "gradient", "proximal" or "douglas-rachford"
	Relaxation float64 `toml:"relaxation"` // alpha_k in (0, 1], constant
	L1         float64 `toml:"l1"`         // lambda of the l1 norm; proximal and douglas-rachford
	L2         float64 `toml:"l2"`         // elastic net
}

func kmLearner() descriptor {
	return descriptor{
		name: "km", make: newKM, rounds: true,
		constants:   func(t *Task) any { return t.KM },
		check:       (*checker).km,
		usual:       (*filler).km,
		vectors:     func(t *Task) bool { return t.KM.Operator == "douglas-rachford" },
		sensitivity: (*Task).proxSensitivity,
	}
}

func (u *filler) km() {
	fill(u, "km.operator", &u.KM.Operator, "proximal")
	fill(u, "km.relaxation", &u.KM.Relaxation, 1)
	u.releases(64)
}

func (c *checker) km(t *Task) {
	k := t.KM
	c.oneOf("km.operator", k.Operator, "gradient", "proximal", "douglas-rachford")
	c.check(k.Relaxation > 0 && k.Relaxation <= 1, "km.relaxation", "must be above 0 and at most 1")
	c.atLeastZero("km.l1", k.L1)
	c.atLeastZero("km.l2", k.L2)
	if k.Operator == "douglas-rachford" && len(c.faults) == 0 {
		most := t.proxPasses(privacy.MaxSlots, t.Clip)
		c.check(most <= maxPasses, "rounds.step", "is too large for douglas-rachford: a release could take %d passes over the records, more than %d", most, maxPasses)
	}
	c.check(k.Operator != "gradient" || k.L1 == 0 && k.L2 == 0, "km.operator", "gradient takes no km.l1 and km.l2; choose proximal, or lambda for a ridge")
}

// km is the agent of Task.Learner "km": the Krasnosel'skii-Mann iteration over a
// network (DP-dKM, algorithm 1, corrected). Agent m in round k:
//
//	X(m) <- sum over l of w_ml X~(l) + alpha (T(X~(m)) - X~(m)),   publish X~ = X + noise
//
// with Metropolis weights w, times [precision]. T is applied to the PUBLISHED iterate, which is the same
// in two worlds with one transcript, so no secret is carried from round to round; and
// the model returned is the one released. The paper applies T to the private iterate
// and returns the last one without noise.
//
// f is the mean clipped loss on the agent's records plus lambda ||x||^2, r the public
// L1 ||x||_1 + L2 ||x||^2, g the step Rounds.Step:
//
//	gradient          T(x) = x - g grad f(x)
//	proximal          T(x) = prox_{g r}(x - g grad f(x))
//	douglas-rachford  T(x) = 1/2 (x + R_{g r} R_{g f} x),   R = 2 prox - 1
//
// The first two release one noisy sum of clipped gradients, and the prox of r is
// applied to the noisy forward step. Noise outside the prox, as in the paper, would
// protect no better, since a prox is 1-Lipschitz, and would leave every coordinate that
// r sets to zero noisy; inside, the prox shrinks the noise too.
//
// The third releases prox_{g f}(x) as a whole vector, and everything else is public.
// Replacing a record moves it by at most 2 g C/m in l2: at one world's solution u = x -
// g grad f(u), the optimality condition of the other world, that of a 1-strongly convex
// problem, is violated by g times the difference of two records' gradients divided by
// m. Twice the error of the solver is added to this; see proxLoss.
type km struct {
	rounds
	asking privacy.Mechanism
	scale  float64 // the factor of a released vector
}

func newKM(c Config) (Agent, error) {
	k := &km{}
	var err error
	if k.rounds, err = newRounds(c, k); err != nil {
		return nil, err
	}
	k.hood.byNoise = !k.splits()
	return k, fitsPolicy(c.Policy, k.splits())
}

// splits reports whether releases are whole vectors.
func (k *km) splits() bool { return k.task.KM.Operator == "douglas-rachford" }

// State implements [Agent]. The model is the released one.
func (k *km) State() State {
	s := k.rounds.State()
	copy(s.Model, k.published)
	s.NoiseStd = k.publishedStd
	return s
}

// query implements scheme.
func (k *km) query() *Query {
	m, ok := k.policy.Next(k.made)
	if !ok || !k.training.active(k.task) {
		return nil
	}
	k.asking = m
	if !k.splits() {
		return &Query{Mechanism: m, Sums: k.training.sums(k.task.loss(), m, k.published)}
	}
	c := k.training.turn(k.task)
	slots, clip := len(c.slots), k.task.recordClip(m)
	k.scale = releaseScale(m, slots)
	distance := inNorm(m.Noise(), k.task.proxDistance(clip, slots)*k.scale, len(k.published))
	if k.asking, ok = covering(k.policy, m, distance, len(k.published)); !ok {
		return nil
	}
	v := k.task.proxLoss(c, clip, k.published)
	floats.Scale(k.scale, v)
	return &Query{Mechanism: k.asking, Sums: []privacy.Sum{k.asking.NewBounded(c.number, slots, v)}, Passes: k.task.proxPasses(slots, clip)}
}

// released implements scheme: it makes X~ from the mix, the agent's own published
// iterate and the answer.
func (k *km) released(a privacy.Answer) ([]float64, float64) {
	x := k.published
	var moved []float64 // T(x)
	var std float64     // standard deviation of the noise in moved
	if k.splits() {
		moved, std = k.reflected(x, a)
	} else {
		moved, std = k.forward(x, a)
	}
	alpha := k.task.KM.Relaxation
	next := make([]float64, len(x))
	floats.AddTo(next, next, k.model)
	floats.AddScaled(next, alpha, moved)
	floats.AddScaled(next, -alpha, x)
	return next, math.Hypot(k.std, alpha*std)
}

// forward applies the gradient and the proximal operator at x.
func (k *km) forward(x []float64, a privacy.Answer) ([]float64, float64) {
	m := max(1, a.Slots)
	g := k.task.Rounds.Step
	y := make([]float64, len(x))
	floats.AddScaled(y, 1-2*g*k.task.regularisation(m), x)
	floats.AddScaled(y, -g/float64(m), a.Sum)
	k.task.proxPenalty(y) // does nothing for the operator "gradient"
	return y, g / float64(m) * k.asking.NoiseStd()
}

// reflected applies the Douglas-Rachford operator at x, given the released prox_{g
// f}(x). It reflects twice, which at most doubles the noise, and halves the result.
func (k *km) reflected(x []float64, a privacy.Answer) ([]float64, float64) {
	reflected := make([]float64, len(x)) // R_{g f} x
	floats.AddScaled(reflected, 2/k.scale, a.Sum)
	floats.Sub(reflected, x)
	moved := append([]float64(nil), reflected...)
	k.task.proxPenalty(moved)
	floats.Scale(2, moved)
	floats.Sub(moved, reflected) // R_{g r} R_{g f} x
	floats.Add(moved, x)
	floats.Scale(0.5, moved)
	return moved, k.asking.NoiseStd() / k.scale
}

// refused implements scheme.
func (k *km) refused() bool { return false }

// combined implements scheme.
func (k *km) combined(mix) {}
