package sim

import (
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Through returns, for [Config.Wrap], an agent that does what a does and returns what pass makes
// of it.
func Through(a learner.Agent, pass func(learner.Output) learner.Output) learner.Agent {
	return &through{a, pass}
}

type through struct {
	learner.Agent
	pass func(learner.Output) learner.Output
}

// Neighbours implements [learner.Agent].
func (t *through) Neighbours(now time.Duration, edges []learner.Edge) learner.Output {
	return t.pass(t.Agent.Neighbours(now, edges))
}

// Receive implements [learner.Agent].
func (t *through) Receive(now time.Duration, m learner.Message) (learner.Output, error) {
	out, err := t.Agent.Receive(now, m)
	return t.pass(out), err
}

// Tick implements [learner.Agent].
func (t *through) Tick(now time.Duration) learner.Output { return t.pass(t.Agent.Tick(now)) }

// Released implements [learner.Agent].
func (t *through) Released(now time.Duration, a privacy.Answer) learner.Output {
	return t.pass(t.Agent.Released(now, a))
}
