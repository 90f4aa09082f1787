package audit

import (
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

const (
	clip = 1
	// With targets of size extreme and scores of at most the radius, a record's
	// gradient, of size 2 |y - score| |x|, exceeds the clip at every model.
	extreme = 4
	radius  = 1
	cohort  = privacy.Cohort(1)
)

// extremeTask is a squared-loss task of dim coordinates whose records' gradients are
// all at the clip.
func extremeTask(dim int) *learner.Task {
	t := learner.Movies()
	t.Name, t.Normalise, t.Constant = "audit", false, 0
	// Validating one feature of dim values takes half the time of dim numbers, and
	// every game makes an agent, which validates its task.
	features := learner.Feature{Name: "x", Kind: "set", Values: make([]string, dim)}
	for i := range dim {
		features.Values[i] = strconv.Itoa(i + 1)
	}
	t.Features = []learner.Feature{features}
	t.Target = learner.Target{Name: "y", Min: -extreme, Max: extreme}
	t.Clip, t.Radius = clip, radius
	return t
}

// canary is the unit vector along which the record in question lies.
type canary []float64

// axisCanary moves one coordinate: the worst case of an l1 clip.
func axisCanary(dim int) canary {
	c := make(canary, dim)
	c[0] = 1
	return c
}

// diagonalCanary moves all coordinates alike: the worst case where an l2 clip
// stands for one in l1.
func diagonalCanary(dim int) canary {
	c := make(canary, dim)
	for j := range c {
		c[j] = 1 / math.Sqrt(float64(dim))
	}
	return c
}

// world is a data set and what the auditor knows about its releases.
type world struct {
	records []learner.Record
	sums    [][]float64 // the sums of clipped gradients, one for each possible batch; all are equally likely
}

// canaries are the tested directions.
func canaries(dim int) []canary { return []canary{axisCanary(dim), diagonalCanary(dim)} }

// newWorld returns the world in which the canary's target is y, with slots records, of
// which a release takes batch. Under sampling the other records are zero, so that their
// sums cannot hide the canary.
func (c canary) newWorld(y float64, slots, batch int, norm func([]float64) float64) world {
	var w world
	gradients := make([][]float64, slots)
	for i := range slots {
		r := learner.Record{Seq: sim.TrainingSeq(i), Cohort: cohort, X: c, Y: y}
		if i > 0 {
			r.X = make([]float64, len(c))
			if batch == slots {
				r.X[i%len(c)] = 1
				r.Y = extreme * float64(2*(i%2)-1)
			}
		}
		w.records = append(w.records, r)
		gradients[i] = clippedGradient(r, norm)
	}
	for _, chosen := range combin.Combinations(slots, batch) {
		sum := make([]float64, len(c))
		for _, i := range chosen {
			floats.Add(sum, gradients[i])
		}
		w.sums = append(w.sums, sum)
	}
	return w
}

// clippedGradient is -2 (y - score) x, shortened to the clip in the given norm,
// as it is for every score up to the radius.
func clippedGradient(r learner.Record, norm func([]float64) float64) []float64 {
	g := make([]float64, len(r.X))
	if n := norm(r.X); n > 0 {
		floats.AddScaled(g, -math.Copysign(clip/n, r.Y), r.X)
	}
	return g
}

// clipNorm is the norm in which a mechanism with this noise clips.
func clipNorm(n privacy.Noise) func([]float64) float64 {
	if n.L1() {
		return l1
	}
	return l2
}

func l1(v []float64) float64 { return floats.Norm(v, 1) }
func l2(v []float64) float64 { return floats.Norm(v, 2) }
