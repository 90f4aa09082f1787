package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Liars among the neighbours say any model of the ball, and the mean of all follows one of
// them wherever it wants. ClippedGossip (He, Karimireddy, Jaggi, "Byzantine-robust
// decentralized learning via ClippedGossip", 2022) moves each neighbour's model toward the
// own one until it is no further away than a radius. Theirs needs to know how many lie and
// how far apart the honest are; here the distances themselves say it: where fewer than half
// of the neighbours lie, the median distance is at most that of an honest one.

// enoughToJudge is how many neighbours it takes: of fewer it is chance whether half of them
// lie where three in ten of all do, and what is far away may be an honest one with other
// records. Then the shared step is the paper's, and the personal fit has to judge alone.
const enoughToJudge = 12

// gossipRadius is the radius for models at these distances, whose order it changes, at an
// agent with so many neighbours, who need not all have been heard: whoever speaks first
// would else lead it away before the others do.
func gossipRadius(distances []float64, neighbours int) float64 {
	if neighbours < enoughToJudge || len(distances) == 0 {
		return math.Inf(1)
	}
	return median(distances)
}

// median is the lower one, of at least one number; it changes their order.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// addClipped adds weight times model to dst, clipped to the radius around a centre, and
// returns what of the weight is the centre's then, which it has not added. distance is
// that of the two.
func addClipped(dst, model []float64, weight, distance, radius float64) float64 {
	if distance <= radius {
		floats.AddScaled(dst, weight, model)
		return 0
	}
	share := weight * radius / distance
	floats.AddScaled(dst, share, model)
	return weight - share
}

// heldBack moves the neighbours' mean toward own, in place, until it is no further away
// than most, and returns the share of the way that is left. At the minimum of Q (Bellet et
// al. 2018, eq. 2) the mean is mu c |grad L| away. So with that for most an honest network
// ends where it did, and liars who agree lead a model no further than its own records do.
func heldBack(mean, own []float64, most float64) float64 {
	distance := floats.Distance(mean, own, 2)
	if distance <= most {
		return 1
	}
	share := most / distance
	floats.Scale(share, mean)
	floats.AddScaled(mean, 1-share, own)
	return share
}
