package learner

func hingeLoss() lossKind {
	return lossKind{
		name: "hinge", target: signTarget, make: func(t *Task) loss { return scalar{hinge{t.Smoothing}} },
		key: "smoothing", constant: func(t *Task) float64 { return t.Smoothing },
		check: func(c *checker, t *Task) {
			c.check(t.Smoothing >= leastConstant && t.Smoothing <= 1, "smoothing",
				"must be between %v and 1: the hinge itself has a kink, where no step of a gradient is small enough", leastConstant)
		},
		usual: usualLoss{slope: 1, length: 2},
	}
}

// hinge is max(0, 1 - y z) with y = +1 or -1. Its kink is rounded off by a parabola
// over 1 - h < y z < 1, with h > 0 the smoothing: with the kink the smoothness would
// have no bound, with the parabola the bound is 1/h, and the value is at most h/2
// smaller. Every slope is at most 1, so a clip of ||x|| clips nothing.
type hinge struct{ smoothing float64 }

func (h hinge) value(z, y float64) float64 {
	switch short := 1 - y*z; {
	case short <= 0:
		return 0
	case short < h.smoothing:
		return short * short / (2 * h.smoothing)
	default:
		return short - h.smoothing/2
	}
}

func (h hinge) slope(z, y float64) float64 {
	switch short := 1 - y*z; {
	case short <= 0:
		return 0
	case short < h.smoothing:
		return -y * short / h.smoothing
	default:
		return -y
	}
}

func (h hinge) curvature(z, y float64) float64 {
	if short := 1 - y*z; 0 < short && short < h.smoothing {
		return 1 / h.smoothing
	}
	return 0
}

func (h hinge) smoothness(norm float64) float64 { return norm * norm / h.smoothing }

func (hinge) steepness(_, _ float64) float64 { return 1 }

// evidence takes exp(-loss) as the likelihood. That is correct up to a factor that
// changes little with z.
func (hinge) evidence(sum float64, _ int) float64 { return -sum }
