package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// Of the people of a siege.
const (
	siegeGroups    = 10
	siegeDimension = 10
	siegeSpread    = 0.5 // of the profiles of a group around its centre, whose coordinates are standard normal
	siegeNoise     = 2   // of one release, in each coordinate
	siegeReleases  = 20
)

// NewSiege returns a siege of honest nodes whose people are in ten groups, by ten times as
// many hostile identities. Nodes want ten neighbours. Under the rule "profile" people differ
// within a group, under "released" they have the same optimum and release it twenty times, with
// noise. They are alone for ten minutes, then attacked for ten.
func NewSiege(rule string, honest int, seed uint64) Siege {
	r := rand.New(rand.NewPCG(seed, 37))
	people := make([][]float64, honest)
	centres := make([][]float64, siegeGroups)
	for g := range centres {
		centres[g] = normal(r, make([]float64, siegeDimension), 1)
	}
	s := Siege{
		Graph: learner.Graph{Rule: rule, Degree: 10}, Honest: honest, Hostile: 10 * honest,
		Ends: func(int, int) graph.End { return graph.End{} }, Wake: 15 * time.Second,
		Form: 10 * time.Minute, Attack: 10 * time.Minute, Recover: 2 * time.Minute,
		Rate: 1, Seed: seed, Every: 30 * time.Second,
	}
	switch rule {
	case "profile":
		s.Graph.Gamma, s.Graph.Profile, s.Releases = 1, siegeDimension, 1
		for i := range people {
			people[i] = normal(r, centres[i%siegeGroups], siegeSpread)
		}
		s.Ends = func(i, _ int) graph.End { return graph.End{Vector: people[i]} }
	case "released":
		s.Graph.Gamma, s.Releases = 0.2, siegeReleases
		for i := range people {
			people[i] = make([]float64, siegeDimension)
		}
		s.Ends = func(i, k int) graph.End { // people[i] is the mean of the releases so far
			mean := make([]float64, siegeDimension)
			for c, x := range normal(r, centres[i%siegeGroups], siegeNoise) {
				mean[c] = people[i][c] + (x-people[i][c])/float64(k)
			}
			people[i] = mean
			return graph.End{Round: uint64(k), Vector: mean, Std: siegeNoise / math.Sqrt(float64(k))}
		}
	}
	return s
}

// normal draws a vector around a mean.
func normal(r *rand.Rand, mean []float64, std float64) []float64 {
	v := make([]float64, len(mean))
	for c := range v {
		v[c] = mean[c] + std*r.NormFloat64()
	}
	return v
}
