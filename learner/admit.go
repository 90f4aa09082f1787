package learner

import (
	"errors"
	"fmt"
	"math"
)

// Admit returns an error unless the record could have come from [Task.Encode]: it has
// [Task.Width] finite coordinates with an l2 norm of at most [Task.FeatureNorm], and a
// label that fits the loss. A record that is admitted moves no release further than its
// budget pays for; a two-class label of 1e4, for example, would make the loss 1e8 times
// as curved as its bound says. The error says what is wrong and quotes nothing of the
// record.
func (t *Task) Admit(r *Record) error {
	if err := t.admitForm(r); err != nil {
		return err
	}
	if !t.admitsFeatures(r.X) {
		return fmt.Errorf("its features are longer than %.4g, the most that the task encodes", t.FeatureNorm())
	}
	return nil
}

// admitForm is Admit without the check of the norm. A plain sum of gradients needs no
// more: privacy.Sum clips each gradient, however long the record is.
func (t *Task) admitForm(r *Record) error {
	if err := t.admitShape(r.X); err != nil {
		return err
	}
	return t.admitLabel(r.Y)
}

// admitShape returns an error unless x has as many coordinates as an encoded record, all finite.
func (t *Task) admitShape(x []float64) error {
	switch {
	case len(x) != t.Width():
		return fmt.Errorf("it has %d coordinates, and the task makes %d", len(x), t.Width())
	case !finite(x):
		return errors.New("a coordinate is not a finite number")
	}
	return nil
}

// admitsFeatures reports whether x is no longer than an encoded record.
func (t *Task) admitsFeatures(x []float64) bool {
	return preciseNorm(x) <= t.FeatureNorm()*(1+normMargin)
}

// normMargin allows for the rounding of an encoded record's norm.
const normMargin = 1e-12

// admitLabel returns an error unless [Task.Encode] could have made y from a target.
func (t *Task) admitLabel(y float64) error {
	switch t.lossKind().target {
	case classTarget:
		if !(y >= 0 && y < float64(len(t.Target.Classes)) && y == math.Trunc(y)) {
			return fmt.Errorf("its label is the number of no class; they are 0 to %d", len(t.Target.Classes)-1)
		}
	case signTarget:
		if y != 1 && y != -1 {
			return errors.New("its label is neither 1 nor -1")
		}
	case numberTarget:
		below, above := t.Target.reach()
		if t.Target.Log { // machines round logarithms differently
			below, above = below+normMargin*(below+above), above+normMargin*(below+above)
		}
		if y >= -below && y <= above {
			break
		}
		return fmt.Errorf("its label is outside of what the task makes of its range of targets, %v to %v", t.Target.Min, t.Target.Max)
	}
	return nil
}

// labelBound is the largest |Y| of a task whose target is a number.
func (t *Task) labelBound() float64 {
	below, above := t.Target.reach()
	return max(math.Abs(below), math.Abs(above))
}
