package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// ADMM is the decentralised alternating direction method of multipliers of
// Vanhaesebrouck, Bellet, Tommasi, "Decentralized collaborative learning of
// personalized models over networks" (AISTATS 2017): the gossip baseline of Bellet
// et al. 2018, figure 1. It minimises the same objective Q as learner "personal"
// ([learner.Q]), without privacy, and exists in simulation only.
type ADMM struct {
	Task    *learner.Task // required, valid; its key learner is not looked at
	Records [][]learner.Record
	Edges   [][]learner.Edge // symmetric, between agents with the names of [Name]
	// Start is everybody's model at the beginning, each sent to the neighbours
	// once; nil: zero, which they know.
	Start       [][]float64
	Rho         float64 // the penalty, > 0
	Activations int     // of edges, in all
	Seed        uint64  // which edges
	// Sample, if set, is called after every Every activations with the number of
	// p-vectors sent so far and the models, which it must not change or keep.
	Sample func(vectors int, models [][]float64)
	Every  int
}

// Number of p-vectors that cross an edge at an activation: each end sends its
// estimates of both models, with the dual variable of each folded in.
const admmVectors = 4

// admmSteps is how many gradient steps an agent takes at an activation.
const admmSteps = 10

// Run lets a random agent activate an edge with a random neighbour, again and
// again, and returns the models. An agent without records or without neighbours
// is an error: then Q has no unique minimum.
func (c ADMM) Run() (models [][]float64, err error) {
	g, err := c.start()
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(c.Seed, 7))
	for n := 1; n <= c.Activations; n++ {
		i := r.IntN(len(g.agents))
		k := r.IntN(len(g.agents[i].links))
		g.activate(i, k)
		if c.Sample != nil && c.Every > 0 && n%c.Every == 0 {
			c.Sample(g.vectors, g.models())
		}
	}
	return g.models(), nil
}

// admm is the state of a run.
type admm struct {
	agents  []admmAgent
	rho     float64
	vectors int
}

// admmAgent holds its model t_i, and for each edge its copy of the other's.
type admmAgent struct {
	objective *learner.LocalObjective
	share     float64 // mu D_i c_i, the weight of its objective in Q
	smooth    float64 // of what it minimises, so that 1/smooth is a step that descends
	model     []float64
	links     []admmLink
}

// admmLink is one end's view of an edge (i, j): W_ij, the other end, the copy
// u_ij, and the variables z_ij^i and z_ij^j with this end's duals.
type admmLink struct {
	weight       float64
	peer, back   int // the other agent, and this edge among its links
	copied       []float64
	mine, theirs admmVariable // of t_i, of t_j
}

// admmVariable is a value both ends of an edge must agree on. z is the same
// slice's content at both ends, the dual is each end's own.
type admmVariable struct{ z, dual []float64 }

func (c ADMM) check() error {
	n := len(c.Edges)
	if len(c.Records) != n || c.Start != nil && len(c.Start) != n || !(c.Rho > 0) {
		return errors.New("sim: ADMM needs records, edges and a start for the same agents, and a positive Rho")
	}
	for i, model := range c.Start {
		if p := c.Task.Dimension(); len(model) != p {
			return fmt.Errorf("sim: ADMM: the start of agent %d has %d parameters, the task has %d", i, len(model), p)
		}
	}
	return nil
}

func (c ADMM) start() (*admm, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n, p := len(c.Edges), c.Task.Dimension()
	g := &admm{agents: make([]admmAgent, n), rho: c.Rho}
	index := map[learner.ID]int{}
	for i := range n {
		index[Name(i)] = i
	}
	at := func(i int) []float64 {
		v := make([]float64, p)
		if c.Start != nil {
			copy(v, c.Start[i])
		}
		return v
	}
	for i := range n {
		a := &g.agents[i]
		a.objective, a.model = c.Task.LocalObjective(c.Records[i]), at(i)
		var degree float64
		for _, e := range c.Edges[i] {
			j, known := index[e.Peer]
			if !known {
				return nil, fmt.Errorf("sim: ADMM: %q is no agent", e.Peer)
			}
			degree += e.Weight
			a.smooth += e.Weight/2 + c.Rho
			a.links = append(a.links, admmLink{
				weight: e.Weight, peer: j, copied: at(j),
				mine:   admmVariable{at(i), make([]float64, p)},
				theirs: admmVariable{at(j), make([]float64, p)},
			})
			if c.Start != nil {
				g.vectors++
			}
		}
		a.share = c.Task.Mu * degree * a.objective.Confidence
		a.smooth += a.share * a.objective.Smoothness
		if !(a.share > 0) {
			return nil, fmt.Errorf("sim: ADMM: agent %d has no training record or no neighbour", i)
		}
	}
	return g, g.pair()
}

// pair lets the two ends of each edge find each other.
func (g *admm) pair() error {
	ends := map[[2]int]int{}
	for i := range g.agents {
		for k, l := range g.agents[i].links {
			ends[[2]int{i, l.peer}] = k
		}
	}
	for i := range g.agents {
		for k := range g.agents[i].links {
			l := &g.agents[i].links[k]
			back, found := ends[[2]int{l.peer, i}]
			if !found {
				return fmt.Errorf("sim: ADMM: the edge from agent %d to agent %d has no way back", i, l.peer)
			}
			l.back = back
		}
	}
	return nil
}

// activate is one activation of the k-th edge of agent i: both ends minimise, then
// agree on the edge's two variables.
func (g *admm) activate(i, k int) {
	l := &g.agents[i].links[k]
	far := &g.agents[l.peer]
	back := &far.links[l.back]
	g.minimise(i, admmSteps)
	g.minimise(l.peer, admmSteps)
	g.agree(&l.mine, &back.theirs, g.agents[i].model, back.copied)
	g.agree(&l.theirs, &back.mine, l.copied, far.model)
	g.vectors += admmVectors
}

// minimise takes gradient steps from agent i's model on its part of the augmented
// Lagrangian,
//
//	sum_k W_ik/4 ||t - u_k||^2 + mu D_i c_i L_i(t)
//	  + sum_k [ l_k^i.t + rho/2 ||t - z_k^i||^2 + l_k^k.u_k + rho/2 ||u_k - z_k^k||^2 ],
//
// the copies u_k being at their minimum for each t: u_k = (W_ik/2 t + rho z_k^k -
// l_k^k) / (W_ik/2 + rho).
func (g *admm) minimise(i, steps int) {
	a := &g.agents[i]
	gradient := make([]float64, len(a.model))
	for range steps {
		a.copyNeighbours(g.rho)
		clear(gradient)
		a.objective.AddGradient(gradient, a.share, a.model)
		for k := range a.links {
			l := &a.links[k]
			floats.AddScaled(gradient, l.weight/2+g.rho, a.model)
			floats.AddScaled(gradient, -l.weight/2, l.copied)
			floats.AddScaled(gradient, -g.rho, l.mine.z)
			floats.Add(gradient, l.mine.dual)
		}
		floats.AddScaled(a.model, -1/a.smooth, gradient)
	}
	a.copyNeighbours(g.rho)
}

func (a *admmAgent) copyNeighbours(rho float64) {
	for k := range a.links {
		l := &a.links[k]
		for c := range l.copied {
			l.copied[c] = (l.weight/2*a.model[c] + rho*l.theirs.z[c] - l.theirs.dual[c]) / (l.weight/2 + rho)
		}
	}
}

// agree sets a variable to the minimiser over it, z = 1/2 ((l + l')/rho + v + v')
// for the two ends' duals and estimates, and moves the duals by rho (v - z).
func (g *admm) agree(one, other *admmVariable, v, w []float64) {
	for c := range v {
		z := ((one.dual[c]+other.dual[c])/g.rho + v[c] + w[c]) / 2
		one.z[c], other.z[c] = z, z
		one.dual[c] += g.rho * (v[c] - z)
		other.dual[c] += g.rho * (w[c] - z)
	}
}

func (g *admm) models() [][]float64 {
	models := make([][]float64, len(g.agents))
	for i := range g.agents {
		models[i] = g.agents[i].model
	}
	return models
}
