package learner

import (
	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/vector"
)

// confidence is c_i = min(1, m / m_ref). Bellet et al. divide by the largest m in the
// network. Here m_ref is a public constant, which no liar can move.
func (t *Task) confidence(m int) float64 {
	return min(1, float64(m)/float64(t.ConfidenceAt))
}

// regularisation is lambda_i = lambda / m of the local objective (eq. 1).
func (t *Task) regularisation(m int) float64 { return t.Lambda / float64(m) }

// curvature is L_i^loc, the smoothness of the local objective, from the public
// bound on the features and never from the data: smoothness + 2 lambda_i.
func (t *Task) curvature(m int) float64 { return t.curvatureOf(t.loss(), m) }

// curvatureOf is curvature for a loss that the caller already has.
func (t *Task) curvatureOf(l loss, m int) float64 {
	return l.smoothness(t.FeatureNorm()) + 2*t.regularisation(m)
}

// mixing is alpha_i = 1 / (1 + mu c_i L_i^loc), the inverse of the block's
// Lipschitz constant L_i divided by D_i.
func mixing(mu, confidence, curvature float64) float64 {
	return 1 / (1 + mu*confidence*curvature)
}

// step is the block step of Bellet et al. 2018, eq. 4 (and 6, when the gradient carries
// noise):
//
//	T_i <- (1 - alpha) T_i + alpha (sum_j (W_ij/D_i) T_j - mu c grad L_i(T_i))
//
// neighbours is the weighted mean of the neighbours' models. The result is written to
// next, which may be own, and returned.
func step(next, own, neighbours, gradient []float64, alpha, mu, confidence float64) []float64 {
	floats.ScaleTo(next, 1-alpha, own)
	vector.AddScaled(next, alpha, neighbours)
	vector.AddScaled(next, -alpha*mu*confidence, gradient)
	return next
}

// project moves v to the nearest point of the l2 ball of the given radius.
func project(v []float64, radius float64) {
	if vector.Dot(v, v) < radius*radius*(1-1e-9) {
		return // well inside the ball: the careful norm below costs more than a step
	}
	if norm := floats.Norm(v, 2); norm > radius {
		floats.Scale(radius/norm, v)
	}
}
