package learner

import "math"

func squaredLoss() lossKind {
	return lossKind{
		name: "squared", make: func(t *Task) loss { return scalar{squared{t.labelBound()}} },
		usual: usualLoss{slope: 2, length: 1},
	}
}

// squared is (y - z)^2 of labels that are about as long as the unit.
type squared struct{ unit float64 }

func (squared) value(z, y float64) float64             { return (y - z) * (y - z) }
func (squared) slope(z, y float64) float64             { return -2 * (y - z) }
func (squared) curvature(_, _ float64) float64         { return 2 }
func (squared) smoothness(norm float64) float64        { return 2 * norm * norm }
func (squared) steepness(score, label float64) float64 { return 2 * (score + label) }

// evidence takes the noise to be Gaussian with the variance that fits best.
func (s squared) evidence(sum float64, m int) float64 { return gaussianEvidence(sum, m, s.unit) }

// gaussianEvidence is the log-likelihood, up to a constant, of m residuals with
// this sum of squares under the variance that fits best. Labels that are short in any unit
// count in their own.
func gaussianEvidence(squares float64, m int, unit float64) float64 {
	unit = min(1, unit)
	return -float64(m) / 2 * math.Log(squares/float64(m)+tinyVariance*unit*unit)
}

// tinyVariance keeps the logarithm of a perfect fit finite.
const tinyVariance = 1e-12
