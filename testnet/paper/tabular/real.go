package tabular

import (
	"fmt"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/paper/nodes"
)

// realRounds is how many rounds real nodes learn, fewer than the simulator's so that
// they take minutes; each waits realDeadline, in seconds, for the slowest neighbour.
const (
	realRounds   = 16
	realDeadline = 20
)

// people turns nodes into the people of a data set that learn the setting's task, in
// few rounds.
func (s setting) people(list []node) *testnet.Dataset {
	t := *s.task
	t.Release.Epsilon, t.Release.Delta, t.Release.Releases = s.budget.Epsilon, s.budget.Delta, realRounds
	t.Rounds.Count, t.Rounds.Seconds = realRounds, realDeadline
	d := &testnet.Dataset{Name: t.Name, Task: &t}
	for _, n := range list {
		d.People = append(d.People, testnet.Person{Name: n.name, Records: n.train, Test: n.test})
	}
	return d
}

// overNodes is one split at the published budget for real nodes.
func (e *schoolRun) overNodes() nodes.Trial {
	return nodes.Trial{
		Name: fmt.Sprintf("the first split, %d rounds", realRounds), Budget: atPublished.budget, Seed: e.seed, Cost: 100, Lone: schoolLone(),
		Measure: learner.MSE, Of: "of (score - 1)/69, mean over schools", Unit: 1. / (mostScore - leastScore),
		Data: func() (*testnet.Dataset, error) {
			list := e.owners.share(trainTenths, e.seed)
			s, err := e.setting(atPublished, list, schoolPace(atPublished.budget).in(realRounds))
			if err != nil {
				return nil, err
			}
			return s.people(list), nil
		},
	}
}

// realNodes is the largest number of a file's nodes that run.
const realNodes = 150

// overNodes is the first fold for real nodes.
func (e *csvRun) overNodes() nodes.Trial {
	return nodes.Trial{
		Name: fmt.Sprintf("the first fold, %d rounds", realRounds), Budget: e.budget, Invalid: e.task == "", Seed: e.seed, Cost: 100,
		Measure: e.coding.measure(), Of: e.of(), Unit: 1,
		LeftOut: fmt.Sprintf("the first %d of a file run, and none with fewer than %d records", realNodes, fewestRecords),
		Data: func() (*testnet.Dataset, error) {
			list := e.owners.fold(0, folds, e.seed)
			all := len(list)
			list = list[:min(realNodes, all)]
			s, err := e.coding.automatic(len(list), meanRecords(list), e.budget, paceWithin(e.budget).in(realRounds))
			if err != nil {
				return nil, err
			}
			d := s.people(list)
			d.LeftOut = all - len(list) + e.owners.leftOut
			return d, nil
		},
	}
}
