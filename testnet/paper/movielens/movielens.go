// Package movielens runs Table 1 of Bellet et al. 2018 again: the error of learning
// together on MovieLens-100K, with and without privacy. Beside the published numbers
// stand the readings of the paper that come nearest to them, with the privacy they
// really have, the tuned lone model, and what this program's agents reach with
// privacy that holds.
package movielens

import (
	"context"
	"fmt"
	"math"
	"sync"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/paper/nodes"
)

// Experiment is `testnet paper movielens`.
func Experiment() paper.Experiment {
	return paper.Experiment{
		Name:  "movielens",
		Title: "MovieLens-100K: Table 1 of Bellet et al. 2018",
		About: "Table 1 of Bellet, Guerraoui, Taziki and Tommasi, \"Personalized and Private Peer-to-Peer Machine Learning\" (AISTATS 2018): " +
			"943 people predict their own ratings of movies, alone, together, and together with differential privacy. " +
			"Beside the published numbers stand the readings of the paper that come nearest to them, with the privacy they really have, " +
			"a lone model tuned as well as the others, and what agents of this program reach with privacy that holds.",
		Data:     whereToGet,
		Place:    "ml-100k",
		UsesReal: true,
		Plan:     plan,
	}
}

// guarantee is (epsilon, delta) for each rating; epsilon 0: none.
type guarantee struct{ epsilon, delta float64 }

// String is the guarantee as a key and in text.
func (g guarantee) String() string {
	if g.epsilon == 0 {
		return "no privacy"
	}
	return fmt.Sprintf("eps=%g, delta=%.2g", g.epsilon, g.delta)
}

var (
	// paperDelta is the delta of Table 1.
	paperDelta = math.Exp(-5)
	epsilons   = []float64{1, 0.5, 0.1}
)

const smallDelta = 1e-6

// experiment is Table 1 with the options of a run.
type experiment struct {
	data   *dataset
	seeds  []uint64
	quick  bool
	splits []split
	sets   map[string]func() (*testnet.Dataset, error) // by kind and seed; computed once
}

func plan(o paper.Options) (*paper.Plan, error) {
	d, err := read(o.Data)
	if err != nil {
		return nil, err
	}
	n := o.Seeds
	if n == 0 {
		n = fixedSplits
		if o.Quick {
			n = 1
		}
	}
	e := &experiment{data: d, quick: o.Quick, sets: map[string]func() (*testnet.Dataset, error){}}
	for i := range n {
		e.seeds = append(e.seeds, o.Seed+uint64(i))
		e.splits = append(e.splits, splitOf(d, o.Seed+uint64(i)))
	}
	p := &paper.Plan{
		Identity: fmt.Sprintf("seed %d, splits %d, quick %v, u.item %s", o.Seed, n, o.Quick, d.hash),
		Seeds:    n,
		Cells:    e.cells(),
		Report:   e.report,
	}
	nodes.Add(p, o, e.overNodes())
	return p, nil
}

// cells lists the computations; costs are about seconds. The lone models come first:
// they make the features for the others, and every gain is over them.
func (e *experiment) cells() []paper.Cell {
	var cells []paper.Cell
	for i := range e.seeds {
		for _, k := range kinds() {
			e.sets[k.key(e.seeds[i])] = sync.OnceValues(func() (*testnet.Dataset, error) {
				return k.people(e.data, &e.splits[i], e.seeds[i])
			})
			for _, g := range e.guarantees(k) {
				cells = append(cells, paper.Cell{
					Key: e.key(k, g, i), Cost: 12,
					Run: func(ctx context.Context) (paper.Numbers, error) { return e.learn(ctx, k, g, i) },
				})
			}
			cells = append(cells, paper.Cell{
				Key: e.aloneKey(k, i), Cost: 15,
				Run: func(ctx context.Context) (paper.Numbers, error) { return e.alone(ctx, k, i) },
			})
		}
		cells = append(cells, paper.Cell{
			Key: e.sumKey(i), Cost: 20,
			Run: func(context.Context) (paper.Numbers, error) { return e.bySum(i) },
		})
		for _, r := range readings(e.quick) {
			cells = append(cells, paper.Cell{
				Key: e.readingKey(r, i), Cost: 10,
				Run: func(ctx context.Context) (paper.Numbers, error) { return e.readAgain(ctx, r, i) },
			})
		}
	}
	return cells
}

func (k kind) key(seed uint64) string { return fmt.Sprintf("%s, split %d", k.name, seed) }

func (e *experiment) key(k kind, g guarantee, i int) string {
	return k.key(e.seeds[i]) + ", " + g.String()
}

func (e *experiment) aloneKey(k kind, i int) string { return k.key(e.seeds[i]) + ", alone" }

func (e *experiment) readingKey(r reading, i int) string {
	return fmt.Sprintf("%s, split %d", r.name, e.seeds[i])
}

// guarantees lists the guarantees with which a kind is learned; there are none for a
// kind that is only measured alone.
func (e *experiment) guarantees(k kind) []guarantee {
	if k.lone {
		return nil
	}
	list := []guarantee{{}}
	for _, eps := range epsilons {
		list = append(list, guarantee{eps, paperDelta})
	}
	if !e.quick {
		for _, eps := range epsilons {
			list = append(list, guarantee{eps, smallDelta})
		}
	}
	return list
}

// learn lets the people of a split learn together.
func (e *experiment) learn(ctx context.Context, k kind, g guarantee, i int) (paper.Numbers, error) {
	method, budget := testnet.Broadcast, privacy.Budget{Epsilon: g.epsilon, Delta: g.delta}
	if g.epsilon == 0 {
		method, budget = testnet.Open, privacy.Budget{Epsilon: 1, Delta: smallDelta} // the budget is not used
	}
	tune := func(t *learner.Task) *learner.Task { return k.tuned(t, g, e.quick) }
	r, err := e.measure(ctx, k, i, tune, testnet.Config{
		Budget: budget, Methods: []testnet.Method{method}, NoCurve: i > 0 || g != guarantee{1, paperDelta},
	})
	if err != nil {
		return nil, err
	}
	trial := r.Trials(method)[0]
	n := paper.Numbers{"error": trial.Errors}
	for _, p := range trial.Curve {
		n["updates"] = append(n["updates"], p.Releases)
		n["curve"] = append(n["curve"], p.Error)
	}
	return n, nil
}

// alone measures the tuned lone models.
func (e *experiment) alone(ctx context.Context, k kind, i int) (paper.Numbers, error) {
	r, err := e.measure(ctx, k, i, k.tunedAlone, testnet.Config{
		Budget: privacy.Budget{Epsilon: 1, Delta: smallDelta}, Methods: []testnet.Method{},
	})
	if err != nil {
		return nil, err
	}
	n := paper.Numbers{"error": r.Trials(testnet.Alone)[0].Errors}
	set, err := e.sets[k.key(e.seeds[i])]()
	if err != nil {
		return nil, err
	}
	for j := range set.People {
		n["person"] = append(n["person"], number(&set.People[j]))
		n["records"] = append(n["records"], float64(set.People[j].TrainSize()))
	}
	return n, nil
}

// measure runs the simulator on the people of a split.
func (e *experiment) measure(ctx context.Context, k kind, i int, tune func(*learner.Task) *learner.Task, c testnet.Config) (*testnet.Result, error) {
	set, err := e.sets[k.key(e.seeds[i])]()
	if err != nil {
		return nil, err
	}
	tuned := *set
	tuned.Task = tune(set.Task)
	c.Source = func(uint64) (*testnet.Dataset, error) { return &tuned, nil }
	c.Seed, c.Simulate = e.seeds[i], true
	r, err := testnet.Run(ctx, c)
	if err == nil && !r.Complete {
		err = ctx.Err()
	}
	return r, err
}
