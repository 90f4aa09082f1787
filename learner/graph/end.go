package graph

import "p2pnode/learner"

// End is what is publicly known of one end of an edge.
type End struct {
	// Round is the release that Vector follows from; 0 for a declared profile,
	// and for a node that has released nothing yet.
	Round uint64
	// Vector is the declared profile (rule "profile") or the estimate (rules
	// "released" and "learned"); nil: nothing is known yet. Immutable.
	Vector []float64
	// Std is the standard deviation of the privacy noise in each coordinate of
	// Vector; 0 for a declared profile.
	Std float64
	// Degree is the sum of the weights of the node's edges (rule "learned").
	Degree float64
}

// Weight is W_ij for the two ends of an edge: 0 says that the two do not belong
// together. It is symmetric in a and b to the bit, so that two nodes that
// exchanged their ends agree without saying it. old is the weight the edge has
// had so far; 0: there was no edge.
func Weight(g learner.Graph, a, b End, old float64) float64 {
	if g.Rule != "profile" {
		return 1
	}
	return learner.ProfileWeight(a.Vector, b.Vector, g.Gamma)
}
