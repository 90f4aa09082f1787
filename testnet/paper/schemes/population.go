package schemes

import (
	"math"
	"math/rand/v2"

	"p2pnode/learner"
	"p2pnode/testnet/sim"
)

// The problem of [GraphHomomorphic]: in both classes y = +-1 features are normal
// around y times a mean of norm 1, all coordinates of which are the same; the loss is
// logistic + rho/2 ||w||^2. All agents draw from this law.
const (
	diffusionAgents = 20
	diffusionWidth  = 5
	diffusionRho    = 0.1
	// featureBound is B: longer features, about a third of them, are scaled down to it.
	// With a step of 1 and longer features, a step could move two private states
	// further apart, and nothing would bound the cost of a record.
	featureBound = 2.68
	edgeChance   = 0.3 // of the random graph
)

// drawFeatures writes y x/B of a new record: the loss depends on that alone.
func drawFeatures(random *rand.Rand, x []float64) {
	var squares float64
	for k := range x {
		x[k] = 1/math.Sqrt(diffusionWidth) + random.NormFloat64()
		squares += x[k] * x[k]
	}
	scale := 1 / max(featureBound, math.Sqrt(squares))
	for k := range x {
		x[k] *= scale
	}
}

// optimum is the minimiser of the expected loss, in the paper's units. By symmetry it
// lies along the mean: at c times it the slope of the loss is
//
//	E[-s/(1 + exp(c s))] + rho c,   s = a min(1, B/sqrt(a^2 + r^2)),
//
// a the normal component along the mean and r^2 the chi-squared rest, integrated by
// the rectangle rule, and c found by bisection.
func optimum() []float64 {
	const cells, reach = 200, 8.
	low, high := 0., 10.
	for range 40 {
		c := (low + high) / 2
		var slope, mass float64
		for i := range cells {
			a := 1 + reach*(2*(float64(i)+0.5)/cells-1)
			for j := range cells {
				r := reach * (float64(j) + 0.5) / cells
				density := math.Exp(-(a-1)*(a-1)/2-r*r/2) * r * r * r
				s := a * min(1, featureBound/math.Hypot(a, r))
				slope -= density * s / (1 + math.Exp(c*s))
				mass += density
			}
		}
		if slope/mass+diffusionRho*c < 0 {
			low = c
		} else {
			high = c
		}
	}
	w := make([]float64, diffusionWidth)
	for k := range w {
		w[k] = low / math.Sqrt(diffusionWidth)
	}
	return w
}

// randomGraph joins each pair of agents with the probability edgeChance, drawn again
// until the graph is connected.
func randomGraph(random *rand.Rand) [][]learner.Edge {
	for {
		edges := make([][]learner.Edge, diffusionAgents)
		for i := range edges {
			for j := range i {
				if random.Float64() < edgeChance {
					edges[i] = append(edges[i], learner.Edge{Peer: sim.Name(j), Weight: 1, Live: true})
					edges[j] = append(edges[j], learner.Edge{Peer: sim.Name(i), Weight: 1, Live: true})
				}
			}
		}
		if connected(edges) {
			return edges
		}
	}
}

// connected reports whether messages from agent 0 reach everyone.
func connected(edges [][]learner.Edge) bool {
	seen := make([]bool, len(edges))
	seen[0] = true
	reached := 1
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, e := range edges[queue[0]] {
			if j := sim.Number(e.Peer); !seen[j] {
				seen[j] = true
				reached++
				queue = append(queue, j)
			}
		}
	}
	return reached == len(edges)
}

// selfWeights are the a_kk of the Metropolis rule, with the others' weights divided by
// lazy.
func selfWeights(edges [][]learner.Edge, lazy int) []float64 {
	weights := make([]float64, len(edges))
	for i := range edges {
		weights[i] = 1
		for _, e := range edges[i] {
			weights[i] -= 1 / float64(lazy*(1+max(len(edges[i]), len(edges[sim.Number(e.Peer)]))))
		}
	}
	return weights
}
