package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/vector"
)

// A lying neighbour can send any model in the ball, and the mean of all models then
// goes wherever the liar wants. ClippedGossip (He, Karimireddy, Jaggi,
// "Byzantine-robust decentralized learning via ClippedGossip", 2022) moves each
// neighbour's model toward the agent's own one until it is no further away than a
// radius. Their radius depends on how many neighbours lie and how far apart the honest
// ones are, which nobody knows here. This code takes the median distance: while fewer
// than half of the neighbours lie, it is at most the distance of an honest one.

// enoughToJudge is how many neighbours an agent needs before it clips. If three in ten
// of all agents lie and an agent has fewer neighbours than this, half of them may lie
// by chance, and a distant model may be an honest one with other records. Below this
// number the shared step is the paper's, and only the personal fit judges the
// neighbours.
const enoughToJudge = 12

// gossipRadius returns the radius for models at these distances, and reorders them.
// neighbours is the number of all neighbours, heard or not: otherwise the first to
// speak would lead the agent away before the others spoke.
func gossipRadius(distances []float64, neighbours int) float64 {
	if neighbours < enoughToJudge || len(distances) == 0 {
		return math.Inf(1)
	}
	return median(distances)
}

// median returns the lower median of at least one number, and reorders them.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// share returns the part of a weight that a model keeps when it is clipped to the radius
// around a centre, at a distance from it. The rest belongs to the centre.
func share(weight, distance, radius float64) float64 {
	if distance <= radius {
		return weight
	}
	return weight * radius / distance
}

// addClipped adds weight times model to dst, with the model clipped to the radius
// around a centre. distance is that between the model and the centre. It returns the
// part of the weight that belongs to the centre, which it does not add.
func addClipped(dst, model []float64, weight, distance, radius float64) float64 {
	kept := share(weight, distance, radius)
	vector.AddScaled(dst, kept, model)
	return weight - kept
}

// limitPull moves the neighbours' mean toward own, in place, until it is no further away
// than most, and returns the remaining share of the distance. At the minimum of Q
// (Bellet et al. 2018, eq. 2) the mean is mu c |grad L| away. With that value for most,
// an honest network ends at the same minimum, and liars who agree lead a model no
// further than its own records do.
func limitPull(mean, own []float64, most float64) float64 {
	distance := floats.Distance(mean, own, 2)
	if distance <= most {
		return 1
	}
	left := most / distance
	floats.Scale(left, mean)
	floats.AddScaled(mean, 1-left, own)
	return left
}
