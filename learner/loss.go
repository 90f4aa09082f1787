package learner

import "gonum.org/v1/gonum/floats"

// loss is a convex loss of a linear model with K scores z_k = theta_k . x, where theta
// is K blocks theta_k of p parameters, one after the other: l(theta; x, y) = f(z, y). A
// learner needs only f and its first two derivatives in z: the gradient in theta is
// slope x', the Hessian curvature (x) x x'. Only Huber's loss has a factor 1/2, so its
// curvature is at most 1. A loss is a value without state and safe for concurrent use.
type loss interface {
	// scores is K.
	scores() int
	// value is f(z, y).
	value(z []float64, y float64) float64
	// slope writes df/dz, length K. dst may be z.
	slope(dst, z []float64, y float64)
	// curvature writes d2f/dz2, K x K by rows: positive semidefinite.
	curvature(dst, z []float64, y float64)
	// gradient writes the gradient in theta of one record's loss, length K p.
	gradient(dst, theta, x []float64, y float64)
	// smoothness bounds the curvature in theta over all records whose features have at
	// most the given norm.
	smoothness(norm float64) float64
	// steepness bounds the l2 norm of the slope when no score is larger than
	// score and no label larger than label, in absolute value.
	steepness(score, label float64) float64
	// evidence is the log-likelihood, up to a constant, of m records with this sum of
	// losses.
	evidence(sum float64, m int) float64
}

// GradientBound is a public bound on the l2 norm of one record's gradient, for every
// record the task admits and every model in the ball of [Task.Radius]. With this clip
// nothing is ever clipped: it is the clip of unprotected runs. A smaller clip shortens
// the longer gradients; see clippedGradient.
func (t *Task) GradientBound() float64 {
	norm := t.FeatureNorm()
	return t.loss().steepness(norm*t.Radius, t.labelBound()) * norm
}

// scalarLoss is a loss with one score: f and its derivatives; see [loss].
type scalarLoss interface {
	value(z, y float64) float64
	slope(z, y float64) float64
	curvature(z, y float64) float64
	smoothness(norm float64) float64
	steepness(score, label float64) float64
	evidence(sum float64, m int) float64
}

// scalar makes a loss from a scalarLoss: its one score is theta . x.
type scalar struct{ f scalarLoss }

func (s scalar) scores() int                            { return 1 }
func (s scalar) value(z []float64, y float64) float64   { return s.f.value(z[0], y) }
func (s scalar) slope(dst, z []float64, y float64)      { dst[0] = s.f.slope(z[0], y) }
func (s scalar) curvature(dst, z []float64, y float64)  { dst[0] = s.f.curvature(z[0], y) }
func (s scalar) smoothness(norm float64) float64        { return s.f.smoothness(norm) }
func (s scalar) steepness(score, label float64) float64 { return s.f.steepness(score, label) }
func (s scalar) evidence(sum float64, m int) float64    { return s.f.evidence(sum, m) }

func (s scalar) gradient(dst, theta, x []float64, y float64) {
	floats.ScaleTo(dst, s.f.slope(floats.Dot(theta, x), y), x)
}

// clippedGradient writes the gradient of one record's loss, shortened to the clip. With
// one score this flattens f where it is steeper than clip / ||x||: f stays convex and
// no less smooth (Song, Steinke, Thakkar, Thakurta 2021). With more than two classes
// the clipped gradients are in general not the gradients of any function; a caller that
// needs one must choose a clip that shortens nothing.
func clippedGradient(dst []float64, l loss, theta, x []float64, y, clip float64) {
	l.gradient(dst, theta, x, y)
	if norm := floats.Norm(dst, 2); norm > clip {
		floats.Scale(clip/norm, dst)
	}
}

// staysConvex reports whether records' gradients shortened to the clip are gradients of
// a convex function.
func (t *Task) staysConvex(clip float64) bool {
	return t.loss().scores() == 1 || clip >= t.GradientBound()
}

// scoresOf writes the scores of the blocks of theta at x.
func scoresOf(dst, theta, x []float64) {
	for k := range dst {
		dst[k] = floats.Dot(block(theta, k, len(x)), x)
	}
}

// addOuter adds alpha slope x' to dst, a block for each entry of slope.
func addOuter(dst []float64, alpha float64, slope, x []float64) {
	for k, s := range slope {
		floats.AddScaled(block(dst, k, len(x)), alpha*s, x)
	}
}

// block is the k-th block of p parameters.
func block(v []float64, k, p int) []float64 { return v[k*p : (k+1)*p : (k+1)*p] }
