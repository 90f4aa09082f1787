package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/storage"
)

// lastAsk is an agent that asks for a release at the moment its run is ended.
type lastAsk struct {
	learner.Agent
	ask *learner.Query
	end func()
}

func (a *lastAsk) Neighbours(time.Duration, []learner.Edge) learner.Output {
	return learner.Output{Next: 1}
}

func (a *lastAsk) Tick(time.Duration) learner.Output {
	a.end()
	return learner.Output{Ask: a.ask, Next: learner.Never}
}

// A release that fails as the run ends is told all the same.
func TestFailureAtTheEndIsTold(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s := attachedSession(t, n)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	if err := n.ledger.Retire(9); err != nil { // round 1 is behind
		t.Fatal(err)
	}
	s.loop.agent = &lastAsk{s.loop.agent, query(mechanism(n), 1, 1), end}
	if err := s.loop.run(ctx); !errors.Is(err, storage.ErrRound) {
		t.Errorf("the run ends with %v, want ErrRound", err)
	}
}
