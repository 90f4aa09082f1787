package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Predict returns the prediction of the model theta at the encoded features x. For a
// number it is a value in [Min, Max], in the units of the target; if its logarithm is
// learned, that is about what as many records
// lie above as below. For two classes it is
// the probability of +1 or, for a loss without probabilities, +1, -1 or, undecided, 0.
// For more classes it is the number of the most likely one.
func (t *Task) Predict(theta, x []float64) float64 {
	switch k := t.lossKind(); {
	case k.target == classTarget:
		return float64(floats.MaxIdx(t.Probabilities(theta, x)))
	case k.target == signTarget && k.odds:
		return sigmoid(floats.Dot(theta, x))
	case k.target == signTarget:
		return sign(floats.Dot(theta, x))
	}
	g := &t.Target
	return min(max(g.decoded(g.inRange(floats.Dot(theta, x))), g.Min), g.Max)
}

// inRange converts a score to a predicted coded target.
func (g *Target) inRange(z float64) float64 {
	return min(max(z+g.Coded(g.Center), g.Coded(g.Min)), g.Coded(g.Max))
}

// HasProbabilities reports whether the task's loss gives each class a probability.
// Numbers have none, and neither do scores that are not log odds, such as those of the
// hinge loss.
func (t *Task) HasProbabilities() bool { return t.lossKind().odds }

// Probabilities returns the probability of each of Target.Classes under the model
// theta at the encoded features x. It is nil if there are none.
func (t *Task) Probabilities(theta, x []float64) []float64 {
	switch {
	case t.Target.Classes == nil:
		return nil
	case t.lossKind().target == signTarget:
		z := floats.Dot(theta, x)
		return []float64{sigmoid(-z), sigmoid(z)} // 1 minus the other would lose digits near 0
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
