package learner

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Estimate is what a node's releases say about the node's own optimum: a public
// function of the door's answers and of its shared models, as free of the neighbours'
// influence as possible. The similarity graph compares estimates.
//
// Learner "propagation" estimates by its one release, the noisy local fit. Learner
// "personal" has made noisy mean gradients g_t = grad L(T_t) + noise, each at a shared
// model T_t that everybody knows. Newton's step from there, T_t - H^-1 g_t with H the
// curvature of L, is the optimum plus H^-1 noise, whatever the neighbours did to T_t;
// for a quadratic L this is exact. With the public guess H = h, the mean curvature that
// records of full norm can have, h times that step is
//
//	e_t = h T_t - g_t.
//
// The noise in e_t is that of the release alone, since T_t is known exactly, and it is
// independent between releases. So the mean of the e_t, weighted by 1/std_t^2, has the
// noise of one release that spends the whole budget. The neighbours' remaining
// influence is (h - H) T_t. It is small while models are short or clipping flattens the
// loss, and it is the same in all estimates of a network that agrees.
type Estimate struct {
	Round    uint64  // of the newest release included
	Std      float64 // of the privacy noise in each coordinate
	Vector   Vector  // length Task.EstimateDimension; immutable
	Releases int     // number of releases it is the mean of, as far as they have a weight
}

// estimates reports whether the graph is made from the nodes' estimates.
func (g *Graph) estimates() bool { return g.Rule == "released" }

// including returns the mean of this estimate and one more release. Weights are the
// inverse variances; releases without noise all weigh the same, and outweigh all
// others. A nil estimate contains no release.
func (e *Estimate) including(round uint64, vector []float64, std float64) *Estimate {
	vector, std = sketched(vector, std)
	switch {
	case e == nil || e.Std > 0 && std == 0:
		return &Estimate{Round: round, Std: std, Vector: vector, Releases: 1}
	case e.Std == 0 && std > 0:
		return &Estimate{Round: round, Vector: e.Vector, Releases: e.Releases}
	}
	share := 1 / float64(e.Releases+1)
	if std > 0 {
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

// aim is e_t of a release: gradient is the mean gradient, without the regulariser, at
// the shared model.
func (t *Task) aim(model, gradient []float64) []float64 {
	aim := make([]float64, len(model))
	floats.AddScaled(aim, t.meanCurvature(), model)
	floats.AddScaled(aim, -1, gradient)
	return aim
}

// meanCurvature is h. The trace of the mean Hessian is at most smoothness *
// FeatureNorm^2 in each block, and it is spread over as many coordinates as a record
// has.
func (t *Task) meanCurvature() float64 {
	return t.loss().smoothness(t.FeatureNorm()) / float64(t.Width())
}

// resumed returns a copy of a saved estimate, or nil for nil. It returns an error if
// the estimate does not fit the task.
func (e *Estimate) resumed(t *Task) (*Estimate, error) {
	if e == nil || !t.Graph.estimates() {
		return nil, nil
	}
	if len(e.Vector) != t.EstimateDimension() || !finite(e.Vector) || !deviation(e.Std) || e.Releases < 1 {
		return nil, fmt.Errorf("learner: the saved estimate does not fit the task, which compares %d numbers", t.EstimateDimension())
	}
	return e, nil
}

// maxCompared is the most numbers by which two nodes are compared. One exchange carries
// the estimates of seventeen nodes.
const maxCompared = 4096

// EstimateDimension is the length of an estimate: one number for each weight, up to
// 4,096. For wider models the estimate is a sketch.
func (t *Task) EstimateDimension() int { return min(t.Dimension(), maxCompared) }

// sketched returns a vector unchanged, or, if it is longer than maxCompared, its count
// sketch (Charikar, Chen, Farach-Colton 2002) of that length: every coordinate is added
// to the place i mod maxCompared, with a public sign. The sketch is linear, so the
// sketch of a mean is the mean of the sketches. In the mean over the signs, the inner
// product of two sketches is that of the vectors; its standard deviation is the product
// of their lengths divided by 64. Noise that is independent between coordinates stays
// independent.
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

// publicSign is the sign of a coordinate in every sketch: the first bit of output i of
// SplitMix64 with seed 0.
func publicSign(i uint64) float64 { return 1 - 2*float64(splitMix64(0, i)>>63) }
