package node

import (
	"context"

	"p2pnode/learner"
)

// Personal returns the personal model fitted to every stored record, around what
// the neighbours released so far. It waits for the fit. It is for the owner only: the
// models are functions of her raw data.
func (n *Node) Personal(ctx context.Context) (learner.PersonalModel, error) {
	prior, err := n.prior()
	if err != nil {
		return learner.PersonalModel{}, err
	}
	m, err := n.await(ctx, prior)
	return m.PersonalModel, err
}

// Fitted is Personal for who cannot wait: when ctx ends before the model is
// fitted, it returns, without an error, the one before, and the fit goes on. After
// [Node.Delete] that before is dropped, as it knows what was deleted; then, and at
// first, it is what the fit under way has so far, or what a node without records has:
// the task's kappa times what was heard. The slices must not be changed.
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
	return Fitted{PersonalModel: learner.FitPersonal(n.files.Task, nil, prior)}, nil
}

// Trim gives back the memory of what can be read or computed again: the records,
// unless an agent that runs or a fit under way holds them.
func (n *Node) Trim() { n.records.trim() }
