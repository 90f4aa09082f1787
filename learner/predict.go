package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Predict returns the prediction of the model theta at the encoded features x,
// in the units of the target: a value in [Min, Max] for the squared loss, the
// probability of +1 for the logistic loss.
func (t *Task) Predict(theta, x []float64) float64 {
	z := floats.Dot(theta, x)
	if t.Loss == "logistic" {
		return sigmoid(z)
	}
	return min(max(z+t.Target.Center, t.Target.Min), t.Target.Max)
}

// Error is how badly theta predicts the records: the root mean squared error in
// the units of the target, or one minus the accuracy (an undecided model, with
// probability one half, counts half). It is NaN without records. It is a
// function of raw data: for the owner's eyes only.
func (t *Task) Error(theta []float64, records []Record) float64 {
	var sum float64
	for _, r := range records {
		p := t.Predict(theta, r.X)
		if t.Loss == "logistic" {
			sum += wrong(p, r.Y)
			continue
		}
		d := p - t.Target.Center - r.Y
		sum += d * d
	}
	mean := sum / float64(len(records))
	if t.Loss == "logistic" {
		return mean
	}
	return math.Sqrt(mean)
}

func wrong(p, y float64) float64 {
	switch side := (p - 0.5) * y; {
	case side > 0:
		return 0
	case side < 0:
		return 1
	}
	return 0.5
}
