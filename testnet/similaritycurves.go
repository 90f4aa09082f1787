package testnet

import (
	"fmt"
	"math"
	"math/rand/v2"

	"p2pnode/learner"
)

// GraphPoint is the share of edges within groups in one setting, of the graph that
// nodes settle on when everybody knows everybody. The estimates come from learning
// over a random graph, whose neighbours help nobody. A blind graph takes the
// estimates as if they had no noise.
type GraphPoint struct {
	// Sweep says what varies: "epsilon", "records" or "nodes"; or "mixed": epsilon,
	// while people have from 25 to 800 records each, and so noise of many sizes.
	Sweep  string `json:"sweep"`
	Groups int    `json:"groups"` // hidden groups
	Blind  bool   `json:"blind"`
	// Epsilon, Records (that a person learns from; 0: mixed) and Nodes are the setting.
	Epsilon  float64 `json:"epsilon"`
	Records  int     `json:"records"`
	Nodes    int     `json:"nodes"`
	Share    float64 `json:"share"`    // mean over the seeds
	Weighted float64 `json:"weighted"` // by weight
	Seeds    int     `json:"seeds"`
}

// sweep is one network of one setting.
type sweep struct {
	GraphPoint // all but blind and the shares
	seed       uint64
	shares     []graphShare // noise-aware, blind; nil: not run
}

// curveSeeds bounds the networks of each point.
const curveSeeds = 2

// sweeps lists the settings.
func (o GraphOptions) sweeps() []sweep {
	task := learner.Clusters()
	usual := GraphPoint{Epsilon: o.Budget.Epsilon, Records: clusterRecords - clusterRecords/5, Nodes: o.Nodes}
	var settings []GraphPoint
	for _, usual.Groups = range graphGroups {
		for _, epsilon := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10} {
			p := usual
			p.Sweep, p.Epsilon = "epsilon", min(epsilon, task.Release.MaxEpsilon)
			settings = append(settings, p)
		}
		for _, m := range []int{25, 50, 100, 200, 400, 800} {
			p := usual
			p.Sweep, p.Records = "records", m
			settings = append(settings, p)
		}
		for _, n := range []int{100, 200, 400, 1000} {
			p := usual
			p.Sweep, p.Nodes = "nodes", n
			settings = append(settings, p)
		}
		for _, epsilon := range []float64{0.5, 1, 2, 5} {
			p := usual
			p.Sweep, p.Records, p.Epsilon = "mixed", 0, epsilon
			settings = append(settings, p)
		}
	}
	var all []sweep
	for _, p := range settings {
		for k := range min(o.Seeds, curveSeeds) {
			all = append(all, sweep{GraphPoint: p, seed: o.Seed + uint64(k)})
		}
	}
	return all
}

// measure fills in the shares.
func (s *sweep) measure(o GraphOptions) error {
	d, err := s.people()
	if err != nil {
		return err
	}
	budget := o.Budget
	budget.Epsilon = s.Epsilon
	r, err := runOver(d, "random", s.Groups, s.seed, budget)
	if err != nil {
		return fmt.Errorf("testnet: %s of %d groups, seed %d: %w", s.Sweep, s.Groups, s.seed, err)
	}
	for _, blind := range []bool{false, true} {
		edges := settle(d.Task.Graph, endsOf(r.States, blind))
		s.shares = append(s.shares, shareWithin(edges, d))
	}
	return nil
}

// people are those of the setting.
func (s *sweep) people() (*Dataset, error) {
	const least, most = 25, 800
	m := s.Records
	if m == 0 {
		m = most
	}
	d, err := Clusters(s.seed, s.Nodes, s.Groups, m+(m-1)/4) // every fifth of all is held out
	if err != nil || s.Records > 0 {
		return d, err
	}
	r := rand.New(rand.NewPCG(s.seed, 1<<62))
	for i := range d.People {
		p := &d.People[i]
		m := int(math.Round(least * math.Pow(most/least, r.Float64())))
		p.Records, p.rows = p.Records[:m+(m-1)/4], p.rows[:m+(m-1)/4]
	}
	return d, nil
}

// graphPoints sums the sweeps up.
func graphPoints(sweeps []sweep) []GraphPoint {
	var points []GraphPoint
	at := map[GraphPoint]int{}
	for _, s := range sweeps {
		for k, share := range s.shares {
			p := s.GraphPoint
			p.Blind = k == 1
			i, known := at[p]
			if !known {
				i = len(points)
				at[p] = i
				points = append(points, p)
			}
			n := float64(points[i].Seeds)
			points[i].Share = (points[i].Share*n + share.edges) / (n + 1)
			points[i].Weighted = (points[i].Weighted*n + share.weight) / (n + 1)
			points[i].Seeds++
		}
	}
	return points
}
