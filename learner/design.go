package learner

import "p2pnode/privacy"

// Design completes an owner's choice of budget, noise and releases with values of the
// task and its learner: the number of coordinates, the clip and, for learners that
// release whole vectors, how far one record can move them. Its Policy is what [Config]
// needs.
func (t *Task) Design(d privacy.Design) privacy.Design {
	d.Dimension, d.Clip = t.Dimension(), t.Clip
	if d.Noise == privacy.Unprotected {
		d.Clip = t.GradientBound()
	} else if t.releasesVectors() {
		d.Carried = t.learner().sensitivity(t, d.Noise)
	}
	return d
}
