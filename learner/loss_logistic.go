package learner

import "math"

func logisticLoss() lossKind {
	return lossKind{
		name: "logistic", target: signTarget, odds: true, make: func(*Task) loss { return scalar{logistic{}} },
		usual: usualLoss{slope: 1, length: 4},
	}
}

// logistic is log(1 + exp(-y z)) with y = +1 or -1. Every slope is at most 1, so a clip
// of ||x|| clips nothing.
type logistic struct{}

func (logistic) value(z, y float64) float64 {
	// log1p(exp(-s)) overflows for very negative s.
	s := y * z
	return math.Max(-s, 0) + math.Log1p(math.Exp(-math.Abs(s)))
}

func (logistic) slope(z, y float64) float64 { return -y * sigmoid(-y*z) }

func (logistic) curvature(z, _ float64) float64 {
	p := sigmoid(z)
	return p * (1 - p)
}

func (logistic) smoothness(norm float64) float64 { return norm * norm / 4 }

func (logistic) steepness(_, _ float64) float64 { return 1 }

func (logistic) evidence(sum float64, _ int) float64 { return -sum }

func sigmoid(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}
