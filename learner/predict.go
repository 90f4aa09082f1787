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
	return min(max(floats.Dot(theta, x)+t.Target.Center, t.Target.Min), t.Target.Max)
}

// Probabilities returns the probability of each of Target.Classes under the model
// theta at the encoded features x. It is nil for every loss but the multinomial.
func (t *Task) Probabilities(theta, x []float64) []float64 {
	if t.Loss != "multinomial" {
		return nil
	}
	q := make([]float64, len(t.Target.Classes))
	scoresOf(q, theta, x)
	softmax(q, q)
	return q
}

// Error is how badly theta predicts the records: the root mean squared error in
// the units of the target or, when the task classifies, one minus the accuracy (a
// model undecided between k classes has the right one with probability 1/k). It
// is NaN without records. It is a function of raw data: for the owner's eyes only.
func (t *Task) Error(theta []float64, records []Record) float64 {
	var sum float64
	for _, r := range records {
		if t.Classifies() {
			sum += t.wrong(theta, r)
			continue
		}
		d := t.Predict(theta, r.X) - t.Target.Center - r.Y
		sum += d * d
	}
	mean := sum / float64(len(records))
	if t.Classifies() {
		return mean
	}
	return math.Sqrt(mean)
}

// wrong is the probability of predicting another class than the record's.
func (t *Task) wrong(theta []float64, r Record) float64 {
	if t.Loss != "multinomial" {
		return (1 - sign(floats.Dot(theta, r.X))*r.Y) / 2
	}
	z := make([]float64, len(t.Target.Classes))
	scoresOf(z, theta, r.X)
	largest := floats.Max(z)
	if z[int(r.Y)] < largest {
		return 1
	}
	return 1 - 1/float64(floats.Count(func(v float64) bool { return v == largest }, z))
}

// sign is +1, -1 or, at 0, 0.
func sign(z float64) float64 {
	if z == 0 {
		return 0
	}
	return math.Copysign(1, z)
}
