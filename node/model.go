package node

import (
	"context"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// Model returns the personal model and the coder of the task, for programs that predict
// without a node. It waits for a fit that knows everything. It is for the owner only: the
// weights are a function of the owner's raw data.
func (n *Node) Model(ctx context.Context) (api.Model, error) {
	m, err := n.Personal(ctx)
	if err != nil {
		return api.Model{}, err
	}
	state, err := n.state()
	if err != nil {
		return api.Model{}, err
	}
	t := n.files.Task
	model := api.Model{
		ModelFile: t.ModelFile(m.Theta, m.Known),
		Network:   datadir.NetworkName(t),
		Fitted:    m.At.UTC(), Records: m.Records, Round: state.Round, Heard: len(state.Heard),
	}
	for _, row := range m.Known.MadeRows(t) {
		asked, err := n.encodeAsked(row)
		if err != nil {
			return api.Model{}, err
		}
		p := PredictionOf(t, &m, asked)
		model.Tests = append(model.Tests, api.ModelTest{Row: row, Value: p.Value, Class: p.Class, Probabilities: p.Probabilities})
	}
	return model, nil
}
