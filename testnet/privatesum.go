package testnet

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// The committee whose noise is simulated, and how many of its members may collude. The
// others alone draw enough noise.
const (
	committee = 4
	colluding = 1
)

// PrivateSum is what a population learns from private sums.
type PrivateSum struct {
	Task      *learner.Task
	Catalogue *learner.Catalogue // of the task's key; nil if it has none
	Recipes   []learner.Recipe   // the sums to make; their shares are of the budget
	// Budget of each record; the zero value: no noise.
	Budget privacy.Budget
	Seed   uint64 // of the noise
	// Lie changes what a contributor adds. The contributor still subtracts what an
	// honest one would have added. nil: nobody lies.
	Lie func(contributor int, vector []float64)
}

// Summed is the population, and what each contributor added to it.
type Summed struct {
	Population *learner.Population
	// Dimensions are the lengths of the vectors that each contributor added.
	Dimensions []int
	own        [][]learner.Contribution // by recipe, and contributor
}

// Known is what contributor i knows of the population, without the contributor's own
// part.
func (s *Summed) Known(i int) (*learner.Known, error) {
	own := make([]learner.Contribution, len(s.own))
	for k := range s.own {
		own[k] = s.own[k][i]
	}
	return s.Population.Contributor(own...)
}

// Newcomer is what people know who added nothing, in the place of [Summed.Known].
func (s *Summed) Newcomer(int) (*learner.Known, error) { return s.Population.Newcomer(), nil }

// Learn adds up the vectors of contributors with these records, and reads the sums. It
// adds in whole numbers on the grid of the noise, as a committee does, each of whose
// members adds its own part of the noise.
func (p PrivateSum) Learn(records [][]learner.Record) (*Summed, error) {
	return p.LearnMany(len(records), func(i int) []learner.Record { return records[i] }, len(records))
}

// LearnMany is [PrivateSum.Learn] for more contributors than memory holds: of asks for the
// records of one at a time, once for each round, and only what the first kept ones added is
// kept for [Summed.Known].
func (p PrivateSum) LearnMany(contributors int, of func(i int) []learner.Record, kept int) (*Summed, error) {
	noise := privacy.NewSeededNoise(p.Seed)
	out := &Summed{own: make([][]learner.Contribution, len(p.Recipes))}
	var opened []learner.Opened
	for i, r := range p.Recipes {
		s, err := p.Task.Summing(r, p.Catalogue)
		if err != nil {
			return nil, err
		}
		a, err := p.adder(s, noise)
		if err != nil {
			return nil, err
		}
		own := make([]learner.Contribution, contributors)
		read, err := a.open(of, own, kept)
		if err != nil {
			return nil, err
		}
		opened = append(opened, read)
		out.own[i] = own[:kept]
		for range s.Rounds() {
			out.Dimensions = append(out.Dimensions, s.Dimension())
		}
	}
	var err error
	out.Population, err = learner.NewPopulation(opened...)
	return out, err
}

// open makes the sums of a recipe, round by round, and keeps in own what was added: of the
// first kept contributors the vectors if they can be taken out, of all the numbers of slots.
func (a *adder) open(of func(i int) []learner.Record, own []learner.Contribution, kept int) (learner.Opened, error) {
	walk := a.Walk()
	for range a.Rounds() {
		sum := a.round(of, walk.At(), own, kept)
		if err := walk.Take(sum, a.sd, slots(own)); err != nil {
			return learner.Opened{}, err
		}
	}
	opened := learner.Opened{Summing: a.Summing, SD: a.sd, Sum: walk.Model(), Noise: walk.Noise()}
	for i := range own {
		opened.Slots = append(opened.Slots, own[i].Slots)
	}
	return opened, nil
}

// adder adds up the vectors of a round, and noise.
type adder struct {
	*learner.Summing
	protected bool
	mechanism privacy.Mechanism
	noise     *privacy.SeededNoise
	sd        float64
	lie       func(contributor int, vector []float64)
}

// adder computes the noise of all rounds of a recipe.
func (p PrivateSum) adder(s *learner.Summing, noise *privacy.SeededNoise) (*adder, error) {
	a := &adder{Summing: s, noise: noise, lie: p.Lie}
	// Without noise it uses the grid of a guarantee so weak that it means nothing.
	a.protected = p.Budget != privacy.Budget{}
	budget := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	if a.protected {
		budget = p.Budget
	}
	scale, err := s.Scale(budget)
	if err != nil {
		return nil, fmt.Errorf("testnet: private sum: %w", err)
	}
	m, err := privacy.NewGaussian(s.Distance()/2, scale)
	if err == nil {
		a.mechanism, err = m.Bounded(s.Distance(), s.Dimension())
	}
	if err != nil {
		return nil, fmt.Errorf("testnet: private sum: %w", err)
	}
	if a.protected {
		a.sd = a.mechanism.PartStd(committee-colluding) * math.Sqrt(committee)
	}
	return a, nil
}

// most is more units than an honest device adds to a coordinate.
const most = 1 << 52

func slots(of []learner.Contribution) (n int) {
	for i := range of {
		n += of[i].Slots
	}
	return n
}

// round returns the sum of all vectors at a public model, and keeps in own what was
// added, see open.
func (a *adder) round(of func(i int) []learner.Record, at []float64, own []learner.Contribution, kept int) []float64 {
	total := make([]int64, a.Dimension())
	for i := range own {
		own[i] = a.Contribution(of(i), at)
		added := slices.Clone(own[i].Vector)
		if a.lie != nil {
			a.lie(i, added)
		}
		if i < kept && a.Separable() {
			own[i].Vector = reals(a.mechanism.Units(own[i].Vector, most), a.mechanism.Unit())
		} else {
			own[i].Vector = nil
		}
		for j, v := range a.mechanism.Units(added, most) {
			total[j] += v
		}
	}
	if a.protected {
		for range committee {
			for j, v := range a.noise.Part(a.mechanism, committee-colluding) {
				total[j] += v
			}
		}
	}
	return reals(total, a.mechanism.Unit())
}

// reals converts whole numbers of units to real numbers.
func reals(units []int64, unit float64) []float64 {
	v := make([]float64, len(units))
	for i, n := range units {
		v[i] = float64(n)
	}
	floats.Scale(unit, v)
	return v
}
