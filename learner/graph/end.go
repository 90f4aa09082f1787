package graph

import (
	"math"

	"p2pnode/learner"
)

// End is what is public about one end of an edge.
type End struct {
	// Round is the release from which Vector follows; 0 for a declared profile, and for
	// a node that has released nothing yet.
	Round uint64
	// Vector is the declared profile (rule "profile") or the estimate (rule
	// "released"); nil: nothing is known yet. Immutable.
	Vector []float64
	// Std is the standard deviation of the privacy noise in each coordinate of
	// Vector; 0 for a declared profile.
	Std float64
}

// Weight is W_ij for the two ends of an edge: 0 says that the two do not belong
// together. It is symmetric in a and b to the bit, so that two nodes that exchanged
// their ends agree without saying it.
//
// Under the rule "released" it is exp((s - 1) / gamma) for a similarity s that is not
// negative, see [similarity]. If nothing is known of one end, s is 0. So strangers have
// a small weight, exp(-1/gamma), from which the network can begin, and a node known to
// be unlike has none.
func Weight(g learner.Graph, a, b End) float64 {
	switch g.Rule {
	case "profile":
		return learner.ProfileWeight(a.Vector, b.Vector, g.Gamma)
	case "released":
		if s := similarity(a, b); s >= 0 {
			return rounded(math.Exp((s - 1) / g.Gamma))
		}
		return 0
	}
	return 1
}

// rounded makes the weight equal on processors whose float64 results differ in the last
// bits, except in one case of many millions.
func rounded(w float64) float64 { return float64(float32(w)) }
