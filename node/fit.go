package node

import (
	"context"
	"math"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// await returns a model that knows every record and this prior or a later one. If ctx
// ends first it returns the error of ctx.
func (n *Node) await(ctx context.Context, prior []float64) (Fitted, error) {
	f := &n.fits
	f.mu.Lock()
	defer f.mu.Unlock()
	begun := f.begun
	for {
		if m := f.newest; m != nil && m.whole && (m.number > begun || m.changes == f.changes && slices.Equal(m.prior, prior)) {
			known := m.Fitted
			known.Current = true
			return known, nil
		}
		if f.closed {
			return Fitted{}, errClosed
		}
		if f.current == nil {
			n.beginFit()
		}
		current := f.current
		f.mu.Unlock()
		select {
		case <-current.done:
		case <-ctx.Done():
		}
		f.mu.Lock()
		if err := ctx.Err(); err != nil {
			return Fitted{}, err
		}
		if current.number > begun && current.err != nil {
			return Fitted{}, current.err
		}
	}
}

// beginFit starts a fit of what is stored and what neighbours sent. The caller holds
// fits.mu.
func (n *Node) beginFit() {
	f := &n.fits
	f.begun++
	ctx, cancel := context.WithCancel(context.Background())
	current := &fit{number: f.begun, cancel: cancel, done: make(chan struct{})}
	f.current = current
	changes, start := f.changes, time.Now()
	go func() {
		err := guarded(func() error { return n.fit(ctx, fitted{number: current.number, changes: changes}) })
		f.mu.Lock()
		defer f.mu.Unlock()
		cancel()
		current.err, f.current = err, nil
		f.note(time.Since(start), err)
		close(current.done)
	}()
}

// fit fits a model step by step, and offers the model that it has after each step.
func (n *Node) fit(ctx context.Context, m fitted) error {
	state, err := n.state()
	if err != nil {
		return err
	}
	rows, err := n.records.all()
	if err != nil {
		return err
	}
	if m.Known, err = n.known(&rows); err != nil {
		return err
	}
	m.prior, m.Records = learner.Prior(state), rows.train.Len()+rows.held.Len()
	prior, noise := learner.PriorFor(n.files.Task, rows.train, state)
	models := learner.PersonalModels(n.files.Task, rows.train, prior, noise)
	if m.Known != nil {
		models = learner.PersonalModelsKnowing(n.files.Task, rows.train, prior, noise, m.Known)
	}
	for model := range models {
		if ctx.Err() != nil {
			return nil
		}
		if m.PersonalModel = model; model.Theta != nil {
			n.fits.offer(ctx, m)
		}
	}
	m.whole, m.At, m.Comparison = true, time.Now(), n.compare(&m.Fitted, rows)
	m.point = pointOf(&m.Fitted, n.ledger.Round())
	n.fits.offer(ctx, m)
	if ctx.Err() == nil {
		n.tellFit(&m.Fitted)
	}
	return nil
}

// tellFit tells the owner that a fit is finished.
func (n *Node) tellFit(m *Fitted) {
	e := api.Event{Kind: api.EventFitted, Text: "personal model fitted", Records: m.Records}
	if m.Comparison != nil {
		e.Verdict, e.ByLogLoss = m.Comparison.Verdict, m.Comparison.ByLogLoss
	}
	n.diary.Gather(e)
	n.fits.told()
}

// prior returns what the neighbours' models, as far as they arrived, say about the
// personal model before any record is looked at. When it changes, a new fit is due.
func (n *Node) prior() ([]float64, error) {
	state, err := n.state()
	if err != nil {
		return nil, err
	}
	return learner.Prior(state), nil
}

// compare measures a personal model, the model from this device alone and a constant on
// the held-out records. It returns nil if there are none.
func (n *Node) compare(m *Fitted, rows ownRows) *api.Comparison {
	if rows.held.Len() == 0 {
		return nil
	}
	t, held := n.files.Task, rows.held.All()
	return compared(m.Score(t, held), t.Score(m.Alone, held), t.ScoreConstant(rows.train.All(), held))
}

func compared(personal, alone, base learner.Score) *api.Comparison {
	found := personal.Against(alone, base)
	return &api.Comparison{
		Measure: personal.Measure, HeldOut: len(personal.Losses),
		Personal: personal.Error, Alone: alone.Error, Base: base.Error,
		PersonalInterval: personal.Interval(), AloneInterval: alone.Interval(), Gain: found.Gain,
		Verdict: found.Word, ByLogLoss: found.ByLogLoss, MajorityOnly: personal.SameClasses(base),
		LogLoss: three(personal.LogLoss, alone.LogLoss, base.LogLoss), LogLossGain: found.LogLossGain,
		AUC: three(personal.AUC, alone.AUC, base.AUC),
	}
}

// three returns the three measures, or nil if there are none.
func three(personal, alone, base float64) *api.Three {
	if math.IsNaN(personal) {
		return nil
	}
	return &api.Three{Personal: personal, Alone: alone, Base: base}
}
