package graph

import (
	"math"

	"p2pnode/learner"
)

// End is what is publicly known of one end of an edge.
type End struct {
	// Round is the release that Vector follows from; 0 for a declared profile,
	// and for a node that has released nothing yet.
	Round uint64
	// Vector is the declared profile (rule "profile") or the estimate (rule
	// "released"); nil: nothing is known yet. Immutable.
	Vector []float64
	// Std is the standard deviation of the privacy noise in each coordinate of
	// Vector; 0 for a declared profile.
	Std float64
}

// Weight is W_ij for the two ends of an edge: 0 says that the two do not belong
// together. It is symmetric in a and b to the bit, so that two nodes that
// exchanged their ends agree without saying it.
//
// Under the rule "released" it is exp((s - 1) / gamma) for a similarity s that
// is not negative, see [similarity]. Where nothing is known of one end, s is 0:
// so strangers have a small weight, exp(-1/gamma), from which the network can
// begin, and who is known to be unlike has none.
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

// rounded gives processors that differ in the last bits of a float64 the same
// weight, but for one in many millions.
func rounded(w float64) float64 { return float64(float32(w)) }
