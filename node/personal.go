package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"p2pnode/learner"
)

// personalFit keeps the personal model, which never leaves the device. It is
// fitted when the owner asks, in her own goroutine, so that its running time,
// which depends on the data, never delays a message.
type personalFit struct {
	mu      sync.Mutex
	records []learner.Record // nil: not read yet
	prior   []float64        // that model was fitted around
	model   learner.PersonalModel
}

// forget makes the next fit read the records again.
func (p *personalFit) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records, p.prior = nil, nil
}

// Personal fits the personal model around what the neighbours released so far
// and returns it. It is for the owner only: the models are functions of her
// raw data.
func (n *Node) Personal(ctx context.Context) (learner.PersonalModel, error) {
	m, _, err := n.personal(ctx)
	return m, err
}

func (n *Node) personal(ctx context.Context) (learner.PersonalModel, []learner.Record, error) {
	state, err := n.state(ctx)
	if err != nil {
		return learner.PersonalModel{}, nil, err
	}
	prior := learner.Prior(state)
	p := &n.fit
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.records == nil {
		if p.records, _, err = n.store.Records(); err != nil {
			return learner.PersonalModel{}, nil, fmt.Errorf("node: read the records: %w", err)
		}
		p.prior = nil
	}
	if p.prior == nil || !slices.Equal(p.prior, prior) {
		p.model = learner.FitPersonal(n.files.task, p.records, prior)
		p.prior = prior
	}
	return p.model, p.records, nil
}

// Predict answers for one row of the task's columns, the target left out.
func (n *Node) Predict(ctx context.Context, row map[string]string) (Prediction, error) {
	x, err := n.files.task.EncodeFeatures(func(name string) (string, bool) {
		v, ok := row[name]
		return v, ok
	})
	if err != nil {
		return Prediction{}, err
	}
	for name := range row {
		if !slices.Contains(Columns(n.files.task), name) {
			return Prediction{}, fmt.Errorf("column %q is none of the task's: %v", name, Columns(n.files.task))
		}
	}
	m, err := n.Personal(ctx)
	if err != nil {
		return Prediction{}, err
	}
	t := n.files.task
	return Prediction{Value: t.Predict(m.Theta, x), Alone: t.Predict(m.Alone, x)}, nil
}

// compare measures both models on the held-out records; nil without any.
func (n *Node) compare(ctx context.Context) (*Comparison, error) {
	m, records, err := n.personal(ctx)
	if err != nil {
		return nil, err
	}
	t := n.files.task
	held := slices.DeleteFunc(slices.Clone(records), func(r learner.Record) bool { return !r.Seq.HeldOut() })
	if len(held) == 0 {
		return nil, nil
	}
	measure := "RMSE"
	if t.Loss == "logistic" {
		measure = "error rate"
	}
	return &Comparison{
		Measure:  measure,
		Personal: t.Error(m.Theta, held),
		Alone:    t.Error(m.Alone, held),
		HeldOut:  len(held),
	}, nil
}
