package graph

import (
	"math"

	"p2pnode/learner"
)

// learned is the new weight of an edge between two ends under the rule "learned":
// one step of block coordinate descent, the exact one, on the weights' objective of
// Zantedeschi, Bellet and Tommasi 2020, section 3,
//
//	J(w) = sum_{i<j} (z_ij w_ij + w_ij^2) - degree sum_i log(d_i + 1),  w >= 0,
//
// with z_ij = (1 - s_ij) / gamma for the similarity s_ij and d_i the sum of the
// weights at node i. The squares spread the weights, the barrier keeps every node
// in company, and an edge whose z is too large for what its ends have already gets
// exactly 0: the graph is sparse. The factor degree makes a node with that many
// edges give them weights around 1. Their term of the local losses is left out,
// because losses are private.
//
// J is convex, and smooth where w > 0; every step lowers it, and with the edges'
// constraints apart from each other no point but the minimum stands still under
// all steps. A step needs the two ends only: restA and restB are their degrees
// without this edge.
func learned(g learner.Graph, z, restA, restB float64) float64 {
	// The slope of J, z + 2w - degree (1/(restA+1+w) + 1/(restB+1+w)), increases
	// in w and is concave: Newton's steps from below the root rise to it.
	barrier := float64(g.Degree)
	var w float64
	for range newtonSteps {
		a, b := 1/(restA+1+w), 1/(restB+1+w)
		slope := z + 2*w - barrier*(a+b)
		next := w - slope/(2+barrier*(float64(a*a)+float64(b*b)))
		if !(next > w) {
			break
		}
		w = next
	}
	return w
}

// newtonSteps is far more than it takes: the error squares at each step.
const newtonSteps = 100

// rest is the degree of an end without the weight its edge has had so far.
func rest(e End, old float64) float64 {
	if d := e.Degree - old; d > 0 && !math.IsInf(d, 0) {
		return d
	}
	return 0
}
