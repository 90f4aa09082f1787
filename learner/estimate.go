package learner

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Estimate is what a node's releases say of its own optimum: a public function
// of the door's answers and of its shared models, free of the neighbours'
// influence as far as that goes. The similarity graph compares estimates.
//
// Learner "propagation" estimates by its one release, the noisy local fit. Learner
// "personal" has made noisy mean gradients g_t = grad L(T_t) + noise, each at a
// shared model T_t that everybody knows. Newton's step from there,
// T_t - H^-1 g_t with H the curvature of L, is the optimum plus H^-1 noise, whatever
// the neighbours did to T_t: of a quadratic L exactly. With the public guess
// H = h, the mean curvature that records of full norm can have, h times that step is
//
//	e_t = h T_t - g_t.
//
// The noise in e_t is that of the release alone, since T_t is known exactly, and it
// is independent between releases. So their mean, weighted by 1/std_t^2, has the
// noise of the whole budget spent on one release. What remains of the neighbours is
// (h - H) T_t: little while models are short or clipping flattens the loss, and the
// same in all estimates of a network that agrees.
type Estimate struct {
	Round    uint64  // of the release it includes last
	Std      float64 // of the privacy noise in each coordinate
	Vector   Vector  // length Task.EstimateDimension; immutable
	Releases int     // how many it is the mean of
}

// estimates reports whether the graph is made from the nodes' estimates.
func (g *Graph) estimates() bool { return g.Rule == "released" }

// including returns the estimate of this one and one more release. Weights are
// the inverse variances; releases without noise count alike, and outweigh all
// others. A nil estimate is that of no release.
func (e *Estimate) including(round uint64, vector []float64, std float64) *Estimate {
	vector, std = sketched(vector, std)
	if e == nil {
		return &Estimate{Round: round, Std: std, Vector: vector, Releases: 1}
	}
	share := 1 / float64(e.Releases+1)
	if e.Std > 0 || std > 0 {
		ratio := std / math.Hypot(e.Std, std)
		share = 1 - ratio*ratio
	}
	mean := make([]float64, len(vector))
	floats.AddScaled(mean, 1-share, e.Vector)
	floats.AddScaled(mean, share, vector)
	return &Estimate{
		Round: round, Vector: mean, Releases: e.Releases + 1,
		Std: math.Hypot((1-share)*e.Std, share*std),
	}
}

// aim is e_t of a release: of the mean gradient, without the regulariser, at the
// shared model.
func (t *Task) aim(model, gradient []float64) []float64 {
	aim := make([]float64, len(model))
	floats.AddScaled(aim, t.meanCurvature(), model)
	floats.AddScaled(aim, -1, gradient)
	return aim
}

// meanCurvature is h: the trace of the mean Hessian is at most smoothness *
// FeatureNorm^2 in each block, over as many coordinates as a record has.
func (t *Task) meanCurvature() float64 {
	return t.loss().smoothness(t.FeatureNorm()) / float64(t.Width())
}

// resumed returns a copy of a saved estimate, or nil, or an error if it does not
// fit the task.
func (e *Estimate) resumed(t *Task) (*Estimate, error) {
	if e == nil || !t.Graph.estimates() {
		return nil, nil
	}
	if len(e.Vector) != t.EstimateDimension() || !finite(e.Vector) || !(e.Std >= 0) || math.IsInf(e.Std, 0) || e.Releases < 1 {
		return nil, fmt.Errorf("learner: the saved estimate does not fit the task, which compares %d numbers", t.EstimateDimension())
	}
	return e, nil
}

// maxCompared is how many numbers nodes are compared by at most: an exchange carries
// those of seventeen nodes.
const maxCompared = 4096

// EstimateDimension is the length of an estimate: one number for each weight, up to
// 4,096 of them. Of wider models the estimate is a sketch.
func (t *Task) EstimateDimension() int { return min(t.Dimension(), maxCompared) }

// sketched returns a vector as it is, and one that is longer than maxCompared as a count
// sketch (Charikar, Chen, Farach-Colton 2002) of that length: every coordinate is added
// to the place i mod maxCompared, with a public sign. It is linear, so the sketch of a
// mean is the mean of sketches; the inner product of two vectors is that of their
// sketches in the mean over the signs, off by their lengths' product over 64 as a
// standard deviation; and noise that is independent between coordinates stays so.
func sketched(vector []float64, std float64) ([]float64, float64) {
	if len(vector) <= maxCompared {
		return vector, std
	}
	sketch := make([]float64, maxCompared)
	for i, x := range vector {
		sketch[i%maxCompared] += publicSign(uint64(i)) * x
	}
	return sketch, std * math.Sqrt(float64(len(vector))/maxCompared)
}

// publicSign is the sign of a coordinate in every sketch, from the number's SplitMix64
// (Steele, Lea, Flood 2014).
func publicSign(i uint64) float64 {
	z := (i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return 1 - 2*float64((z^z>>31)>>63)
}
