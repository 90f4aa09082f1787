package linear

import (
	"context"
	"fmt"
	"math/rand/v2"

	"p2pnode/privacy"
	"p2pnode/testnet/paper"
)

// seeded is the random source of agent i of a seed, for one purpose.
func seeded(seed uint64, i int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, purpose<<32+uint64(i)))
}

// sizes say how much to compute.
type sizes struct {
	dimensions []int // for the accuracy by dimension
	large      []int // those with a thousand people as well
	warm       []int // those with the private warm start
	agents     int
	figure1    int // features of figures 1 and 2(a)
	rounds     int // updates per agent in figure 1
	seeds      []uint64
}

func sizesOf(o paper.Options) sizes {
	s := sizes{
		dimensions: []int{2, 5, 10, 20, 25, 50, 75, 100}, large: []int{20, 100}, warm: []int{5, 20, 100},
		agents: 100, figure1: 100, rounds: 100,
	}
	if o.Quick {
		s = sizes{dimensions: []int{5, 20}, warm: []int{5, 20}, agents: 100, figure1: 20, rounds: 30}
	}
	seeds := o.Seeds
	switch {
	case seeds == 0 && o.Quick:
		seeds = 1
	case seeds == 0:
		seeds = 5
	}
	for k := range seeds {
		s.seeds = append(s.seeds, o.Seed+uint64(k))
	}
	return s
}

// people is how many of a thousand people are measured.
const people = 100

// cells are the cells of the experiment. A key contains everything that the cell's
// numbers depend on.
func (s sizes) cells() []paper.Cell {
	var list []paper.Cell
	add := func(cost float64, run func() (paper.Numbers, error), key string, args ...any) {
		list = append(list, paper.Cell{
			Key: fmt.Sprintf(key, args...), Cost: cost,
			Run: func(context.Context) (paper.Numbers, error) { return run() },
		})
	}
	for _, seed := range s.seeds {
		add(12, func() (paper.Numbers, error) { return figure1(seed, s.agents, s.figure1, s.rounds) }, figure1Key, seed)
		add(12, func() (paper.Numbers, error) { return tradeOff(seed, s.agents, s.figure1) }, tradeOffKey, seed)
		add(2, func() (paper.Numbers, error) { return allocations(seed, s.agents) }, allocationsKey, seed)
		for _, p := range s.dimensions {
			add(1, func() (paper.Numbers, error) { return readings(draw(seed, s.agents, p)) }, readingsKey, p, seed)
			add(0.5, func() (paper.Numbers, error) { return notPrivate(draw(seed, s.agents, p)) }, togetherKey, p, seed)
			cost := 0.3 + 5e-6*float64(p*p*p)
			add(cost/3, func() (paper.Numbers, error) { return lone(draw(seed, s.agents, p), s.agents) }, loneKey, s.agents, p, seed)
			for _, eps := range epsilons {
				add(cost, func() (paper.Numbers, error) { return silent(draw(seed, s.agents, p), gaussian(eps), s.agents) }, silentKey, s.agents, p, eps, seed)
			}
			add(cost, func() (paper.Numbers, error) {
				return silent(draw(seed, s.agents, p), within(epsilons[0], strict), s.agents)
			}, strictKey, s.agents, p, epsilons[0], seed)
			add(cost, func() (paper.Numbers, error) { return bySum(draw(seed, s.agents, p), s.agents) }, sumKey, s.agents, p, seed)
		}
		for _, p := range s.warm {
			add(1, func() (paper.Numbers, error) { return warmStart(draw(seed, s.agents, p)), nil }, warmKey, p, seed)
		}
		for _, p := range s.large {
			cost := 2 * (0.3 + 5e-6*float64(p*p*p))
			add(cost/3, func() (paper.Numbers, error) { return lone(draw(seed, 1000, p), people) }, loneKey, 1000, p, seed)
			add(cost, func() (paper.Numbers, error) { return bySum(draw(seed, 1000, p), people) }, sumKey, 1000, p, seed)
			for _, eps := range epsilons {
				add(cost, func() (paper.Numbers, error) { return silent(draw(seed, 1000, p), gaussian(eps), people) }, silentKey, 1000, p, eps, seed)
			}
		}
	}
	return list
}

// The keys of cells.
const (
	figure1Key     = "figure 1, seed %d"
	tradeOffKey    = "figure 2(a), seed %d"
	allocationsKey = "allocations, seed %d"
	readingsKey    = "readings, p %d, seed %d"
	togetherKey    = "together, p %d, seed %d"
	warmKey        = "warm start, p %d, seed %d"
	loneKey        = "alone, n %d, p %d, seed %d"
	strictKey      = "silent, n %d, p %d, eps %v, delta 1e-6, seed %d"
	silentKey      = "silent, n %d, p %d, eps %v, seed %d"
	sumKey         = "private sum, n %d, p %d, seed %d"
)

// epsilons of the paper's figure 2; its warm start takes .05 of each.
var epsilons = []float64{1.05, 0.55, 0.15}

// Names of what a cell of readings measures, each everyone's accuracy.
const (
	target   = "target"
	local    = "local"
	together = "cd"
	fig      = "fig %v" // the best number of updates
	longFig  = "long fig %v"
	literal  = "literal %v"
	pure     = "laplace %v"
	shared   = "gaussian %v"
	records  = "records"
	hidden   = "local dp"
)

// readings measures everything that does not fit personal models afterwards.
func readings(d *problem) (paper.Numbers, error) {
	out := paper.Numbers{}
	targets := make([][]float64, len(d.people))
	for i := range d.people {
		targets[i] = d.people[i].target
		out[records] = append(out[records], float64(len(d.people[i].train.x)))
	}
	out[target], out[local] = d.accuracies(targets), d.accuracies(d.alone())
	h := d.localDP(1)
	out[hidden] = d.accuracies(reading{mu: literalMu}.descend(h, 20, d.seed))
	for k, eps := range epsilons {
		seed := d.seed<<8 + uint64(k)
		out[name(fig, eps)] = d.accuracies(figReading(eps, figUpdates).descend(d, figUpdates, seed))
		out[name(longFig, eps)] = d.accuracies(figReading(eps, longFigUpdates).descend(d, longFigUpdates, seed))
		out[name(literal, eps)] = d.accuracies(literalReading(eps, 1).descend(d, 1, seed))
		l := d.product(pureSetting, 1)
		states, err := l.learn(byTheorem1(eps), seed)
		if err != nil {
			return nil, err
		}
		out[name(pure, eps)] = d.accuracies(modelsOf(states))
		g := d.product(sharedSetting, 2)
		if states, err = g.learn(gaussian(eps), seed); err != nil {
			return nil, err
		}
		out[name(shared, eps)] = d.accuracies(modelsOf(states))
	}
	return out, nil
}

// notPrivate measures everyone after descent without privacy, through the agents.
func notPrivate(d *problem) (paper.Numbers, error) {
	models, err := d.pose(togetherMu(d.p), d.unit(false)).descend(nil, togetherRounds, d.seed, nil)
	if err != nil {
		return nil, err
	}
	return paper.Numbers{together: d.accuracies(models)}, nil
}

// silent measures the personal models of the first few people.
func silent(d *problem, design privacy.Design, people int) (paper.Numbers, error) {
	r := d.product(settingFor(len(d.people), d.p, design.Budget), 2)
	states, err := r.learn(design, d.seed)
	if err != nil {
		return nil, err
	}
	return paper.Numbers{accuracy: d.accuracies(r.finish(states, people))}, nil
}

// accuracy is the name of everyone's accuracy in a cell with only one.
const accuracy = "accuracy"

// lone measures the tuned lone models of the first few people.
func lone(d *problem, people int) (paper.Numbers, error) {
	r := d.product(settingFor(len(d.people), d.p, gaussian(epsilons[0]).Budget), 2)
	r.task.Local.Eta = loneEta
	return paper.Numbers{accuracy: d.accuracies(r.lone(people))}, nil
}
