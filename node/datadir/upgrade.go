package datadir

import (
	"encoding/json"
	"fmt"

	"p2pnode/learner"
	"p2pnode/storage"
)

// upgrade takes the records of the first release over to today's coding, see
// [learner.Task.FromRelease1]; those of which it cannot be told what their rows were are
// set aside. Where that changes what coordinates mean, the models learned in them are
// forgotten, here and, because the task's network is another too, everywhere; rounds,
// budgets, cohorts and neighbours stay.
func upgrade(s *storage.Store, t *learner.Task) error {
	r := storage.Recode{State: func(text []byte) ([]byte, error) { return text, nil }}
	if !t.SameAsRelease1() {
		r.Features = t.FromRelease1
		r.State = func(text []byte) ([]byte, error) { return startAgain(t, text) }
	}
	return s.Upgrade(r)
}

// startAgain is the state of an agent that has forgotten every model, and goes on from
// the same round.
func startAgain(t *learner.Task, text []byte) ([]byte, error) {
	if len(text) == 0 {
		return text, nil
	}
	var before learner.State
	if err := json.Unmarshal(text, &before); err != nil {
		return nil, fmt.Errorf("node: the stored state is damaged: %w", err)
	}
	return json.Marshal(learner.State{Round: before.Round, Model: make([]float64, t.Dimension())})
}
