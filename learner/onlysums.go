package learner

import (
	"slices"
	"time"

	"p2pnode/privacy"
)

// sumsLearner is for tasks whose whole budget goes into private sums: its agent sends
// nothing and releases nothing. Personal models come from what the sums say about all
// people.
func sumsLearner() descriptor {
	return descriptor{
		name: "sums", make: newSilent, silent: true,
		check: func(c *checker, t *Task) {
			c.check(len(t.Sums.Recipes) > 0, "sums.recipes", "must say what is summed up, as the learner is \"sums\"")
		},
		usual: func(u *filler) { u.releases(1) },
	}
}

func newSilent(c Config) (Agent, error) {
	a := &silent{State{Model: make([]float64, c.Task.Dimension())}}
	if c.Resume != nil {
		a.state.Round = c.Resume.Round
		copy(a.state.Model, c.Resume.Model)
	}
	return a, nil
}

// silent is the agent of Task.Learner "sums".
type silent struct{ state State }

// Neighbours implements [Agent].
func (s *silent) Neighbours(time.Duration, []Edge) Output { return Output{Next: Never} }

// Records implements [Agent]. Records are added to a sum elsewhere, not by the agent.
func (s *silent) Records([]Record, []Seq) error { return nil }

// Receive implements [Agent]. No agent of this learner sends anything.
func (s *silent) Receive(time.Duration, Message) (Output, error) {
	return Output{Next: Never}, ErrShape
}

// Tick implements [Agent].
func (s *silent) Tick(time.Duration) Output { return Output{Next: Never} }

// Released implements [Agent]. The agent never asks for a release.
func (s *silent) Released(time.Duration, privacy.Answer) Output { return Output{Next: Never} }

// State implements [Agent].
func (s *silent) State() State {
	state := s.state
	state.Model = slices.Clone(state.Model)
	return state
}
