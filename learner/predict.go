package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Predict returns the prediction of the model theta at the encoded features x: a
// value in [Min, Max] in the units of the target for the squared and huber losses;
// the probability of +1 for the logistic loss; +1, -1 or, undecided, 0 for the
// hinge, whose score is no probability; the number of the likeliest class for the
// multinomial loss.
func (t *Task) Predict(theta, x []float64) float64 {
	switch t.Loss {
	case "logistic":
		return sigmoid(floats.Dot(theta, x))
	case "hinge":
		return sign(floats.Dot(theta, x))
	case "multinomial":
		return float64(floats.MaxIdx(t.Probabilities(theta, x)))
	}
	return t.inRange(floats.Dot(theta, x))
}

// inRange is what a score predicts of a number, in the units of the target.
func (t *Task) inRange(z float64) float64 {
	return min(max(z+t.Target.Center, t.Target.Min), t.Target.Max)
}

// Probabilities returns the probability of each of Target.Classes under the model
// theta at the encoded features x. It is nil if there are none.
func (t *Task) Probabilities(theta, x []float64) []float64 {
	switch {
	case t.Target.Classes == nil:
		return nil
	case t.Loss == "logistic":
		p := t.Predict(theta, x)
		return []float64{1 - p, p}
	}
	q := make([]float64, len(t.Target.Classes))
	scoresOf(q, theta, x)
	softmax(q, q)
	return q
}

// sign is +1, -1 or, at 0, 0.
func sign(z float64) float64 {
	if z == 0 {
		return 0
	}
	return math.Copysign(1, z)
}
