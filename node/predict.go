package node

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// Predict answers for one row of the task's columns, the target left out.
func (n *Node) Predict(ctx context.Context, row map[string]string) (api.Prediction, error) {
	t := n.files.Task
	for name := range row {
		if !t.Reads(name) {
			return api.Prediction{}, api.WrongRequest(fmt.Errorf("column %q is none of the task's: %v", name, t.Columns()))
		}
	}
	asked, err := t.EncodeFeatures(func(name string) (string, bool) {
		v, ok := row[name]
		return v, ok
	})
	if err != nil {
		return api.Prediction{}, api.WrongRequest(err)
	}
	m, err := n.Personal(ctx)
	if err != nil {
		return api.Prediction{}, err
	}
	return PredictionOf(t, &m, asked), nil
}

// PredictionOf returns what a personal model of the task predicts for a row that
// [learner.Task.EncodeFeatures] has encoded.
func PredictionOf(t *learner.Task, m *Fitted, asked learner.Record) (p api.Prediction) {
	p.Class, p.Value = predict(t, m.Theta, m.Extend(t, asked).X)
	p.AloneClass, p.Alone = predict(t, m.Alone, asked.X)
	var noted learner.Tally
	noted.Add(asked.Cells)
	p.Cells = t.Tally(noted)
	return p
}

// predict returns what a model predicts for x. The class is empty when the task names none.
func predict(t *learner.Task, theta, x []float64) (class string, value float64) {
	q := t.Probabilities(theta, x)
	if q == nil {
		return "", t.Predict(theta, x)
	}
	k := floats.MaxIdx(q)
	return t.Target.Classes[k], q[k]
}
