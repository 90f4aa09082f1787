package testnet

import (
	"context"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// still is a node whose budget is used.
type still struct {
	participant
	status api.Status
}

func (s still) Progress(context.Context) (api.Status, error) { return s.status, nil }

// Rounds in which a node goes along with its neighbours without paying are no releases, so
// no more of these are reported than the budget is for.
func TestRoundsWithoutReleasesAreNotCounted(t *testing.T) {
	f := &fleet{people: &Dataset{People: make([]Person, 2)}, stallTimeout: time.Minute}
	for _, round := range []uint64{64, 68} {
		f.nodes = append(f.nodes, still{status: api.Status{Round: round, Done: true, Privacy: api.BudgetSummary{Releases: 64}}})
	}
	var got Progress
	w := &watch{fleet: f, trial: &Trial{}, report: func(p Progress) { got = p }}
	require.NoError(t, w.learn(t.Context(), t.Context(), &Progress{Nodes: 2, Goal: 64}))
	if got.Releases != 64 || got.Done != 2 {
		t.Errorf("%v of %d releases, %d nodes done", got.Releases, got.Goal, got.Done)
	}
	var elsewhere []*collected
	for _, n := range f.nodes {
		elsewhere = append(elsewhere, &collected{status: n.(still).status})
	}
	if p := progressOf(elsewhere); p.Releases != 64 {
		t.Errorf("%v releases of nodes elsewhere", p.Releases)
	}
}
