package learner

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// oldest returns the oldest cohort that may still pay, nil if there is none.
func (t *training) oldest() *cohort {
	for i := range t.cohorts {
		if !t.cohorts[i].retired {
			return &t.cohorts[i]
		}
	}
	return nil
}

// refused retires the cohorts that were asked for and not admitted.
func (t *training) refused(asked []privacy.Sum, admitted []privacy.Cohort) {
	for i := range asked {
		for k := range t.cohorts {
			if c := &t.cohorts[k]; c.number == asked[i].Cohort() && !slices.Contains(admitted, c.number) {
				c.retired = true
			}
		}
	}
}

// clippedMean writes the mean over the cohort's slots of the clipped gradients at
// theta: the gradient of a convex function that is no less smooth than the loss of
// records of at most the given norm, see clippedGradient. An empty slot adds nothing,
// nor does a record that no task encodes: longer than that, or with a gradient that
// is not finite. For learners that release a whole vector, where all this is what
// their sensitivity rests on; a plain sum is clipped by privacy.Sum.
func (c *cohort) clippedMean(dst []float64, l loss, theta []float64, clip, norm float64) {
	clear(dst)
	gradient := make([]float64, len(dst))
	for i := range c.slots {
		if c.slots[i].clippedGradient(gradient, l, theta, clip, norm) {
			floats.AddScaled(dst, 1/float64(len(c.slots)), gradient)
		}
	}
}

// clippedGradient writes that of the record's loss at theta and reports whether the
// slot adds anything, see [cohort.clippedMean].
func (s *slot) clippedGradient(dst []float64, l loss, theta []float64, clip, norm float64) bool {
	if s.x == nil || floats.Norm(s.x, 2) > norm*(1+normMargin) {
		return false
	}
	clippedGradient(dst, l, theta, s.x, s.y, clip)
	return finite(dst)
}

// normMargin is for the rounding of an encoded record's norm.
const normMargin = 1e-12

// recordClip is the bound on one record's gradient in whole-vector releases: that
// of the task, or for an unprotected one that of its mechanism.
func (t *Task) recordClip(m privacy.Mechanism) float64 {
	if m.Protected() {
		return t.Clip
	}
	return m.Clip()
}

// releaseScale is what a whole vector is multiplied by for its release: by the
// number of slots, so that its sensitivity, like that of a sum, does not depend
// on that number, and a schedule can be made before the records are there. An
// unprotected vector stays as it is, in the range of its mechanism.
func releaseScale(m privacy.Mechanism, slots int) float64 {
	if m.Protected() {
		return float64(slots)
	}
	return 1
}

// inNorm turns an l2 distance into one in the norm of a law: under the Laplace
// laws the l1 norm, at most sqrt(p) times the other.
func inNorm(law privacy.Noise, distance float64, p int) float64 {
	if law == privacy.Laplace || law == privacy.TruncatedLaplace {
		return distance * math.Sqrt(float64(p)) * (1 + 1e-15)
	}
	return distance
}

// fitsPolicy is an error if the policy is for whole vectors and the learner's
// releases are sums of gradients, or the other way round in a plan, which cannot be
// adapted.
func fitsPolicy(p privacy.Policy, whole bool) error {
	m, ok := p.Next(0)
	vectors := m.Distance() > 0
	if ok && (vectors && !whole || !vectors && whole && p.Terms.Accounting == privacy.CommittedPlan) {
		return errors.New("learner: the policy is for releases of another form than this learner's; make it from Task.Design")
	}
	return nil
}

// covering returns the mechanism for a vector that one record moves by distance,
// in the norm of the law: the planned one as it is if all releases are fixed
// beforehand, else one with exactly that distance. It is false if there is none.
func covering(p privacy.Policy, planned privacy.Mechanism, distance float64, dim int) (privacy.Mechanism, bool) {
	if p.Terms.Accounting != privacy.CommittedPlan {
		m, err := planned.Bounded(distance, dim)
		return m, err == nil
	}
	m, err := planned.Bounded(planned.Distance(), dim)
	return m, err == nil && m == planned && planned.Distance() >= distance
}

// rounding bounds by how much float64 can move apart two vectors x - (a mean of m
// gradients, scaled to a length of at most step), x in the ball of the task: a sum
// of m terms is off by less than m units in the last place of its length, a score
// by less than p + 8 of the radius.
func (t *Task) rounding(m int, step float64) float64 {
	return math.Ldexp(float64(m+8)*step+float64(t.Dimension()+16)*t.Radius, -50)
}

// plannedRounding is the room for that in a schedule, as a share: enough for a
// hundred thousand records.
const plannedRounding = 1e-4
