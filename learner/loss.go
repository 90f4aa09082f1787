package learner

import "math"

// loss is a convex loss of a linear model, l(theta; x, y) = f(theta.x, y). All
// that a learner needs of it are f and its first two derivatives in the score
// z = theta.x: the gradient in theta is slope(z, y) x, the Hessian
// curvature(z, y) x x'. There is no factor 1/2 in any convention.
type loss interface {
	value(z, y float64) float64
	slope(z, y float64) float64
	curvature(z, y float64) float64
	// smoothness bounds the curvature in theta over every record whose features
	// have at most the given norm.
	smoothness(norm float64) float64
	// evidence is the log-likelihood, up to a constant, of predicting the
	// scores z where y was seen.
	evidence(z, y []float64) float64
}

// loss returns the task's loss. A valid task has one of the two.
func (t *Task) loss() loss {
	if t.Loss == "logistic" {
		return logistic{}
	}
	return squared{}
}

// squared is (y - z)^2.
type squared struct{}

func (squared) value(z, y float64) float64      { return (y - z) * (y - z) }
func (squared) slope(z, y float64) float64      { return -2 * (y - z) }
func (squared) curvature(_, _ float64) float64  { return 2 }
func (squared) smoothness(norm float64) float64 { return 2 * norm * norm }

// evidence takes the noise to be Gaussian with the variance that fits best.
func (s squared) evidence(z, y []float64) float64 {
	var sum float64
	for i := range z {
		sum += s.value(z[i], y[i])
	}
	m := float64(len(z))
	return -m / 2 * math.Log(sum/m+tinyVariance)
}

// tinyVariance keeps the logarithm of a perfect fit finite.
const tinyVariance = 1e-12

// logistic is log(1 + exp(-y z)) with y = +1 or -1.
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

func (l logistic) evidence(z, y []float64) float64 {
	var sum float64
	for i := range z {
		sum -= l.value(z[i], y[i])
	}
	return sum
}

func sigmoid(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}

// GradientBound is a public bound on the l2 norm of one record's gradient, for
// every record the task admits and every model in the ball of [Task.Radius].
// With this clip nothing is ever clipped: it is the clip of unprotected runs.
func (t *Task) GradientBound() float64 {
	norm := t.FeatureNorm()
	if t.Loss == "logistic" {
		return norm // |slope| <= 1
	}
	target := max(math.Abs(t.Target.Min-t.Target.Center), math.Abs(t.Target.Max-t.Target.Center))
	return 2 * (target + norm*t.Radius) * norm
}
