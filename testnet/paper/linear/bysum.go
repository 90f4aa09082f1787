package linear

import (
	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// sumEpsilon is the epsilon of the private sum, at the strict delta.
const sumEpsilon = 1.0

// Names of what a cell of a private sum measures beside accuracy. Accuracy is that of
// people who added to it.
const (
	withoutNoise = "sum without noise"
	newcomers    = "newcomers"
)

// bySum lets everyone add to a private sum of second moments, which needs no graph,
// with the noise of a committee of four of whom one may collude. It measures the
// personal models of the first few people.
func bySum(d *problem, people int) (paper.Numbers, error) {
	r := d.product(settingFor(len(d.people), d.p, gaussian(epsilons[0]).Budget), 2)
	r.task.Local.Eta = loneEta
	sum := testnet.PrivateSum{
		Task: r.task, Recipes: []learner.Recipe{{Kind: "moments", Share: 1}},
		Budget: privacy.Budget{Epsilon: sumEpsilon, Delta: strict}, Seed: d.seed,
	}
	private, err := sum.Learn(r.records)
	if err != nil {
		return nil, err
	}
	sum.Budget = privacy.Budget{}
	free, err := sum.Learn(r.records)
	if err != nil {
		return nil, err
	}
	out := paper.Numbers{}
	for name, known := range map[string]func(int) (*learner.Known, error){
		accuracy:     private.Known,
		withoutNoise: free.Known,
		newcomers:    private.Newcomer,
	} {
		models := make([][]float64, people)
		for i := range models {
			k, err := known(i)
			if err != nil {
				return nil, err
			}
			models[i] = learner.FitKnowing(r.task, r.records[i], make([]float64, r.p), k).Theta
		}
		out[name] = d.accuracies(models)
	}
	return out, nil
}
