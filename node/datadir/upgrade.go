package datadir

import (
	"encoding/json"
	"fmt"

	"p2pnode/learner"
	"p2pnode/storage"
)

// upgrade converts the records of the first release to the present coding, see
// [learner.Task.FromRelease1]. If the row of a record cannot be known from its old
// coordinates, the record is set aside. If the upgrade changes what coordinates mean, the
// agent's state forgets the models that were learned in the old ones. Other nodes forget
// them too, because the task's network is another one. Rounds, budgets, cohorts and
// neighbours stay.
func upgrade(s *storage.Store, t *learner.Task) error {
	r := storage.Recode{State: func(text []byte) ([]byte, error) { return text, nil }}
	if !t.SameAsRelease1() {
		r.Features = t.FromRelease1
		r.State = func(text []byte) ([]byte, error) { return startAgain(t, text) }
	}
	return s.Upgrade(r)
}

// startAgain returns the state of an agent that has forgotten every model and continues
// from the same round.
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
