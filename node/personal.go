package node

import (
	"context"
	"math"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// Fitted is a personal model and what it knows.
type Fitted struct {
	learner.PersonalModel
	// Records is how many of the stored records it was fitted to or, the held-out
	// ones, set aside from; 0: none, it is what a node without records has.
	Records int
	// Comparison measures it on the held-out records; nil without any, and before the fit
	// has come to its end.
	Comparison *api.Comparison
	At         time.Time // when the fit came to its end; zero before
	// Current says that it knows all that was stored, and heard of the neighbours,
	// before it was asked for.
	Current bool
}

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

// prior is what the neighbours released, as far as it was heard.
func (n *Node) prior() ([]float64, error) {
	state, err := n.state()
	if err != nil {
		return nil, err
	}
	return learner.Prior(state), nil
}

// compare measures a personal model, the lone one and a constant on the held-out
// records; it is nil without any.
func (n *Node) compare(m learner.PersonalModel, rows ownRows) *api.Comparison {
	if rows.held.Len() == 0 {
		return nil
	}
	t, held := n.files.Task, rows.held.All()
	return compared(t.Score(m.Theta, held), t.Score(m.Alone, held), t.ScoreConstant(rows.train.All(), held))
}

func compared(personal, alone, base learner.Score) *api.Comparison {
	c := &api.Comparison{
		Measure: personal.Measure, HeldOut: len(personal.Losses),
		Personal: personal.Error, Alone: alone.Error, Base: base.Error,
		PersonalInterval: personal.Interval(), AloneInterval: alone.Interval(), Gain: personal.Gain(alone),
		Verdict: learner.CannotTell, MajorityOnly: personal.SameClasses(base),
		LogLoss: three(personal.LogLoss, alone.LogLoss, base.LogLoss), AUC: three(personal.AUC, alone.AUC, base.AUC),
	}
	if c.Gain != nil {
		c.Verdict = c.Gain.Word()
	}
	return c
}

// three is nil where there is no such measure.
func three(personal, alone, base float64) *api.Three {
	if math.IsNaN(personal) {
		return nil
	}
	return &api.Three{Personal: personal, Alone: alone, Base: base}
}
