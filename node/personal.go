package node

import (
	"context"

	"p2pnode/learner"
)

// Personal returns the personal model, fitted to every stored record and around what the
// neighbours have released so far. It waits for the fit. It is for the owner only: the
// models are functions of the owner's raw data.
func (n *Node) Personal(ctx context.Context) (Fitted, error) {
	prior, err := n.prior()
	if err != nil {
		return Fitted{}, err
	}
	return n.await(ctx, prior)
}

// Fitted is Personal for a caller that cannot wait. If ctx ends before the model is
// fitted, Fitted returns the previous model without an error, and the fit continues.
// [Node.Delete] drops the previous model, because it knows the deleted records. In that
// case, and before the first fit, Fitted returns what the running fit has so far, or the
// model of a node without records: the task's kappa times what neighbours sent. The
// caller must not change the slices.
func (n *Node) Fitted(ctx context.Context) (Fitted, error) {
	prior, err := n.prior()
	if err != nil {
		return Fitted{}, err
	}
	m, err := n.await(ctx, prior)
	if err == nil || ctx.Err() == nil {
		return m, err
	}
	n.fits.mu.Lock()
	defer n.fits.mu.Unlock()
	if n.fits.newest != nil {
		return n.fits.newest.Fitted, nil
	}
	return n.newcomers(prior)
}

// newcomers returns the model of a node without records.
func (n *Node) newcomers(prior []float64) (Fitted, error) {
	k, err := n.known(new(ownRows))
	if k == nil || err != nil {
		return Fitted{PersonalModel: learner.FitPersonal(n.files.Task, nil, prior)}, err
	}
	return Fitted{PersonalModel: learner.FitKnowing(n.files.Task, nil, prior, k), Known: k}, nil
}

// Trim frees memory that can be filled again: that of the records, unless a running agent
// or fit uses them.
func (n *Node) Trim() { n.records.trim() }
