package tabular

import (
	"fmt"
	"slices"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// sum lets the nodes make one private sum, with the noise of a committee of four of
// whom one may collude. It measures the models that result: those of the nodes, and
// those that they would have had as newcomers, who added nothing.
func (s setting) sum(nodes []node, seed uint64) (outcome, error) {
	records := make([][]learner.Record, len(nodes))
	var all float64
	for i := range nodes {
		records[i] = nodes[i].train
		all += float64(len(records[i]))
	}
	recipe := learner.Recipe{Kind: s.task.StartRecipe(all), Share: 1}
	summed, err := testnet.PrivateSum{Task: s.task, Recipes: []learner.Recipe{recipe}, Budget: s.budget, Seed: seed}.Learn(records)
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	nothing := make([]float64, s.task.Dimension())
	for i := range nodes {
		known, err := summed.Known(i)
		if err != nil {
			return outcome{}, err
		}
		o.add(s, &nodes[i], learner.FitKnowing(s.task, nodes[i].train, nothing, known))
		m := learner.FitKnowing(s.task, nodes[i].train, nothing, summed.Population.Newcomer())
		o.newcomer.add(s.task.Score(m.Theta, slices.Values(nodes[i].test)))
	}
	return o, nil
}

// Names in the rows of private sums.
const (
	sumSetting      = "private sum, within the budget (a committee of 4, 1 may collude)"
	freeSumSetting  = "sum without noise"
	newcomerSetting = "newcomers, who added nothing to the private sum"
)

// sumRows are the rows of private sums. Each row's note is its verdict.
func (e *csvRun) sumRows(done paper.Done) []paper.Row {
	private, free := e.way(done, part{private: true, sum: true}), e.way(done, part{sum: true})
	if len(private.with.errors) == 0 || len(free.with.errors) == 0 {
		return nil
	}
	list := make([]paper.Row, 0, 3)
	for _, of := range []struct {
		setting  string
		way      way
		model    kind
		promised bool
	}{{sumSetting, private, private.with, true}, {freeSumSetting, free, free.with, false}, {newcomerSetting, private, private.newcomer, true}} {
		row := e.row(of.setting, of.model, of.way.alone)
		if of.promised {
			e.promise(&row)
		}
		gain(&row, of.way.pairsOf(of.model))
		verdict := e.judge(of.way, of.model, free)
		row.Note = joined(verdict.String(), row.Note)
		list = append(list, row)
	}
	return list
}

func joined(verdict, note string) string {
	if note == "" {
		return verdict
	}
	return fmt.Sprintf("%s; %s", verdict, note)
}
