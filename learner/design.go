package learner

import "p2pnode/privacy"

// Design completes an owner's choice of budget, noise and releases with what the
// task and its learner say: the number of coordinates, the clip and, for learners
// that release whole vectors, how far one record can move them. Its Policy is
// what [Config] takes.
func (t *Task) Design(d privacy.Design) privacy.Design {
	d.Dimension, d.Clip = t.Dimension(), t.Clip
	if d.Noise == privacy.Unprotected {
		d.Clip = t.GradientBound()
		return d
	}
	switch {
	case t.Learner == "propagation":
		d.Carried = t.fitSensitivity(d.Noise)
	case t.Learner == "diffusion" && t.Diffusion.Noise != "iid":
		d.Carried = t.StateSensitivity(d.Noise, 0)
	case t.Learner == "km" && t.KM.Operator == "douglas-rachford":
		d.Carried = t.proxSensitivity(d.Noise)
	}
	return d
}
