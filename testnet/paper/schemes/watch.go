package schemes

import (
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// watched passes on everything an agent returns.
type watched struct {
	learner.Agent
	said func(learner.Output)
}

func (w *watched) see(out learner.Output) learner.Output {
	w.said(out)
	return out
}

// Neighbours implements [learner.Agent].
func (w *watched) Neighbours(now time.Duration, edges []learner.Edge) learner.Output {
	return w.see(w.Agent.Neighbours(now, edges))
}

// Receive implements [learner.Agent].
func (w *watched) Receive(now time.Duration, m learner.Message) (learner.Output, error) {
	out, err := w.Agent.Receive(now, m)
	return w.see(out), err
}

// Tick implements [learner.Agent].
func (w *watched) Tick(now time.Duration) learner.Output { return w.see(w.Agent.Tick(now)) }

// Released implements [learner.Agent].
func (w *watched) Released(now time.Duration, a privacy.Answer) learner.Output {
	return w.see(w.Agent.Released(now, a))
}

// broadcasts returns an agent whose models are given to keep with their rounds.
func broadcasts(a learner.Agent, keep func(round uint64, model []float64)) learner.Agent {
	return &watched{a, func(out learner.Output) {
		for i := range out.Send {
			if m := &out.Send[i]; m.Kind == learner.KindModel {
				keep(m.Round, m.Real)
			}
		}
	}}
}
