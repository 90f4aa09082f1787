package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/csvfile"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// Predict predicts the target for one row of the task's columns, which lacks the target.
func (n *Node) Predict(ctx context.Context, row map[string]string) (api.Prediction, error) {
	asked, err := n.encodeAsked(row)
	if err != nil {
		return api.Prediction{}, api.WrongRequest(err)
	}
	m, err := n.Personal(ctx)
	if err != nil {
		return api.Prediction{}, err
	}
	return PredictionOf(n.files.Task, &m, asked), nil
}

// PredictRows predicts for many rows with one model. If a row is wrong, its answer says
// what is wrong.
func (n *Node) PredictRows(ctx context.Context, rows api.Rows) (api.Answers, error) {
	m, err := n.since(ctx, rows.Since)
	if err != nil {
		return api.Answers{}, err
	}
	answers := api.Answers{Fitted: m.At, Answers: make([]api.Answer, len(rows.Rows))}
	for i, row := range rows.Rows {
		asked, err := n.encodeAsked(row)
		if err != nil {
			answers.Answers[i].Error = err.Error()
			continue
		}
		p := PredictionOf(n.files.Task, &m, asked)
		answers.Answers[i].Prediction = &p
	}
	return answers, nil
}

func (n *Node) encodeAsked(row map[string]string) (learner.Record, error) {
	t := n.files.Task
	for name := range row {
		if !t.Reads(name) {
			return learner.Record{}, fmt.Errorf("column %q is none of the task's: %s%s", name, csvfile.Enumerate(t.Columns(), ", "), csvfile.Meant(name, t.Columns()))
		}
	}
	return t.EncodeFeatures(func(name string) (string, bool) {
		v, ok := row[name]
		return v, ok
	})
}

// since returns a model that was fitted at the time then or later, and begins a fit if
// the newest model does not know everything. It waits for that fit if there is no such
// model, or if then is zero.
func (n *Node) since(ctx context.Context, then time.Time) (Fitted, error) {
	if then.IsZero() {
		return n.Personal(ctx)
	}
	hurried, stop := context.WithCancel(ctx)
	stop()
	m, err := n.Fitted(hurried)
	if err == nil && m.At.Before(then) {
		return n.Personal(ctx)
	}
	return m, err
}

// PredictionOf returns what a personal model of the task predicts for a row that
// [learner.Task.EncodeFeatures] encoded.
func PredictionOf(t *learner.Task, m *Fitted, asked learner.Record) (p api.Prediction) {
	x := m.Extend(t, asked).X
	p.Class, p.Value = predict(t, m.Theta, x)
	p.AloneClass, p.Alone = predict(t, m.Alone, asked.X)
	p.Probabilities = probabilities(t, m.Theta, x)
	p.Guess = m.Records == 0 && slices.Equal(m.Theta, m.Alone)
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

// probabilities returns the probability of each class that the task names.
func probabilities(t *learner.Task, theta, x []float64) map[string]float64 {
	q := t.Probabilities(theta, x)
	if q == nil {
		return nil
	}
	named := make(map[string]float64, len(q))
	for k, class := range t.Target.Classes {
		named[class] = q[k]
	}
	return named
}
