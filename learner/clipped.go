package learner

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// clippedMean writes the mean over the cohort's slots of the clipped gradients at
// theta; see [clipper].
func (c *cohort) clippedMean(dst []float64, by clipper, theta []float64) {
	clear(dst)
	theta = flushed(theta)
	gradient := make([]float64, len(dst))
	for i := range c.slots {
		weight := by.gradient(gradient, theta, &c.slots[i])
		floats.AddScaled(dst, weight/float64(len(c.slots)), gradient)
	}
}

// clipper computes the clipped gradients of records for learners that release a whole
// vector. The sensitivity of those releases rests on this property: each gradient is
// that of a convex function no less smooth than the loss of a record the task admits;
// see clippedGradient. A slot's content is not trusted: a record that the task does not
// admit adds nothing, and neither does a gradient that is not finite. Plain sums do not
// need this: privacy.Sum clips them.
type clipper struct {
	task   *Task
	loss   loss
	clip   float64
	madeUp slot
}

func (t *Task) clipper(clip float64) clipper {
	return clipper{task: t, loss: t.loss(), clip: clip, madeUp: slot{x: madeUp(make([]float64, t.Width())), y: madeUpLabel}}
}

// gradient writes the clipped gradient of the slot's record at theta, and returns its
// weight: 1, or 0 if it must add nothing. An empty slot takes as long as a record.
func (c *clipper) gradient(dst, theta []float64, s *slot) (weight float64) {
	weight = 1
	if s.x == nil {
		s, weight = &c.madeUp, 0
	}
	if !c.task.admitsFeatures(s.x) || c.task.admitLabel(s.y) != nil {
		s, weight = &c.madeUp, 0
	}
	clippedGradient(dst, c.loss, theta, s.x, s.y, c.clip)
	if !finite(dst) {
		clear(dst)
		return 0
	}
	return weight
}

// madeUp writes features of norm 1. An empty slot uses them, so that it takes as long
// as a record; every loss accepts the label madeUpLabel.
func madeUp(x []float64) []float64 {
	each := 1 / math.Sqrt(float64(len(x)))
	for k := range x {
		x[k] = each
	}
	return x
}

const madeUpLabel = 1

// recordClip is the bound on one record's gradient in whole-vector releases: the task's
// clip, or the mechanism's for an unprotected release.
func (t *Task) recordClip(m privacy.Mechanism) float64 {
	if m.Protected() {
		return t.Clip
	}
	return m.Clip()
}

// releaseScale is the factor by which a whole vector is multiplied for its release: the
// number of slots. Its sensitivity then does not depend on that number, as for a sum,
// and a schedule can be made before the records are there. An unprotected vector is not
// scaled, so that it stays in the range of its mechanism.
func releaseScale(m privacy.Mechanism, slots int) float64 {
	if m.Protected() {
		return float64(slots)
	}
	return 1
}

// inNorm converts an l2 distance to the norm of a law: the l1 norm is at most sqrt(p)
// times the l2 norm.
func inNorm(law privacy.Noise, distance float64, p int) float64 {
	if law.L1() {
		return distance * math.Sqrt(float64(p)) * (1 + 1e-15)
	}
	return distance
}

// fitsPolicy returns an error if the policy is for whole vectors and the learner
// releases sums of gradients. The other way round it is an error only for a committed
// plan, which cannot be adapted.
func fitsPolicy(p privacy.Policy, whole bool) error {
	m, ok := p.Next(0)
	vectors := m.Distance() > 0
	if ok && (vectors && !whole || !vectors && whole && p.Terms.Accounting == privacy.CommittedPlan) {
		return errors.New("learner: the policy is for releases of another form than this learner's; make it from Task.Design")
	}
	return nil
}

// covering returns the mechanism for a vector that one record moves by distance, in the
// norm of the law. If all releases are fixed beforehand, it is the planned one
// unchanged; else it is one with exactly that distance. ok is false if there is none.
func covering(p privacy.Policy, planned privacy.Mechanism, distance float64, dim int) (privacy.Mechanism, bool) {
	if p.Terms.Accounting != privacy.CommittedPlan {
		m, err := planned.Bounded(distance, dim)
		return m, err == nil
	}
	m, err := planned.Bounded(planned.Distance(), dim)
	return m, err == nil && m == planned && planned.Distance() >= distance
}

// rounding bounds how far float64 can move apart two vectors x - (a mean of m
// gradients, scaled to a length of at most step), with x in the task's ball: a sum of m
// terms is off by less than m units in the last place of its length, a score by less
// than p + 8 units of the radius.
func (t *Task) rounding(m int, step float64) float64 {
	return math.Ldexp(float64(m+8)*step+float64(t.Dimension()+16)*t.Radius, -50)
}

// plannedRounding is the share that a schedule allows for this rounding. It is enough
// for a hundred thousand records.
const plannedRounding = 1e-4
