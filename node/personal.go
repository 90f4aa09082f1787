package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"p2pnode/learner"
	"p2pnode/storage"
)

// ownData is what the owner sees and the network never does: her records, and
// the personal model. The model is fitted when she asks, in her own goroutine,
// so that its running time, which depends on the data, never delays a message.
type ownData struct {
	mu      sync.Mutex
	read    bool
	live    []learner.Record
	deleted []learner.Record
	prior   []float64 // that model was fitted around; nil: not fitted
	model   learner.PersonalModel
}

// forget makes the next use read the records again.
func (o *ownData) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read, o.live, o.deleted, o.prior = false, nil, nil, nil
}

// records returns the records, and the deleted ones that keep their slots.
func (o *ownData) records(store *storage.Store) (live, deleted []learner.Record, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err = o.load(store)
	return o.live, o.deleted, err
}

func (o *ownData) load(store *storage.Store) (err error) {
	if !o.read {
		if o.live, o.deleted, err = store.Records(); err != nil {
			return fmt.Errorf("node: read the records: %w", err)
		}
		o.read = true
	}
	return nil
}

// fit returns the personal model of the stored records around the prior.
func (o *ownData) fit(store *storage.Store, t *learner.Task, prior []float64) (learner.PersonalModel, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(store); err != nil {
		return learner.PersonalModel{}, err
	}
	if o.prior == nil || !slices.Equal(o.prior, prior) {
		o.model, o.prior = learner.FitPersonal(t, o.live, prior), prior
	}
	return o.model, nil
}

// Personal fits the personal model around what the neighbours released so far
// and returns it. It is for the owner only: the models are functions of her
// raw data.
func (n *Node) Personal(ctx context.Context) (learner.PersonalModel, error) {
	state, err := n.state(ctx)
	if err != nil {
		return learner.PersonalModel{}, err
	}
	return n.own.fit(n.store, n.files.task, learner.Prior(state))
}

// compare measures both models on the held-out records; nil without any.
func (n *Node) compare(ctx context.Context) (*Comparison, error) {
	m, err := n.Personal(ctx)
	if err != nil {
		return nil, err
	}
	live, _, err := n.own.records(n.store)
	if err != nil {
		return nil, err
	}
	t := n.files.task
	held := slices.DeleteFunc(slices.Clone(live), func(r learner.Record) bool { return !r.Seq.HeldOut() })
	if len(held) == 0 {
		return nil, nil
	}
	measure := "RMSE"
	if t.Classifies() {
		measure = "error rate"
	}
	return &Comparison{
		Measure:  measure,
		Personal: t.Error(m.Theta, held),
		Alone:    t.Error(m.Alone, held),
		HeldOut:  len(held),
	}, nil
}
