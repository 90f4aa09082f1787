package movielens

import (
	"fmt"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper/nodes"
)

// realPeople is how many of the people who learn get a node of their own.
const realPeople = 100

// overNodes is the leak-free task at the largest epsilon, with the releases of a
// quick run, for some of the people.
func (e *experiment) overNodes() nodes.Trial {
	g := guarantee{epsilons[0], paperDelta}
	return nodes.Trial{
		Name: donated.name + ", 100 people, a quarter of the releases", Measure: learner.RMSE, Seed: e.seeds[0], Cost: 300,
		Budget: privacy.Budget{Epsilon: g.epsilon, Delta: g.delta}, LeftOut: fmt.Sprintf("%d are enough to compare", realPeople),
		Data: func() (*testnet.Dataset, error) {
			set, err := e.sets[donated.key(e.seeds[0])]()
			if err != nil {
				return nil, err
			}
			some := *set
			some.Task = donated.tuned(set.Task, g, true)
			some.People, some.LeftOut = nil, len(set.People)-realPeople
			for k := range realPeople {
				some.People = append(some.People, set.People[k*len(set.People)/realPeople])
			}
			return &some, nil
		},
	}
}
