package learner

import "math"

func huberLoss() lossKind {
	return lossKind{
		name: "huber", make: func(t *Task) loss { return scalar{huber{t.Threshold}} },
		key: "threshold", constant: func(t *Task) float64 { return t.Threshold },
		check: func(c *checker, t *Task) {
			c.check(t.Threshold >= leastConstant && !math.IsInf(t.Threshold, 0), "threshold", "must be a number of %v or more", leastConstant)
		},
		usual: usualLoss{slope: 1, length: 1},
	}
}

// huber is r^2/2 where the residual r = y - z is at most threshold in size, and beyond
// that the straight line threshold (|r| - threshold/2). The factor 1/2 is the usual one
// of this loss, and makes its curvature at most 1. Every slope is at most threshold, so
// a clip of threshold ||x|| clips nothing.
type huber struct{ threshold float64 }

func (h huber) value(z, y float64) float64 {
	r := math.Abs(y - z)
	if r <= h.threshold {
		return r * r / 2
	}
	return h.threshold * (r - h.threshold/2)
}

func (h huber) slope(z, y float64) float64 {
	return min(max(z-y, -h.threshold), h.threshold)
}

func (h huber) curvature(z, y float64) float64 {
	if math.Abs(y-z) <= h.threshold {
		return 1
	}
	return 0
}

func (huber) smoothness(norm float64) float64 { return norm * norm }

func (h huber) steepness(score, label float64) float64 { return min(h.threshold, score+label) }

// evidence is that of the squared loss, in which large residuals count less.
func (h huber) evidence(sum float64, m int) float64 { return gaussianEvidence(2*sum, m, h.threshold) }
