package linear

import (
	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/paper/nodes"
)

// overNodes is the silent fit with 20 features at the largest epsilon, for real nodes.
func (s sizes) overNodes() nodes.Trial {
	const p = 20
	budget := gaussian(epsilons[0]).Budget
	return nodes.Trial{
		Name: "p=20, n=100: Gaussian, with silent fit", Budget: budget, Seed: s.seeds[0], Cost: 100,
		Lone: learner.Local{Eta: loneEta, Kappa: 1}, Measure: learner.Accuracy,
		Data: func() (*testnet.Dataset, error) {
			t := task(p)
			settingFor(100, p, budget).apply(t)
			t.Release.MaxEpsilon, t.Release.MaxDelta = budget.Epsilon, budget.Delta
			return testnet.LinearFor(t, s.seeds[0], 100)
		},
	}
}
