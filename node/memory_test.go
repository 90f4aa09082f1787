package node

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// Whatever an agent's stored state says, the agent refuses it or goes on.
func FuzzMemory(f *testing.F) {
	task := lineTask()
	state := learner.State{Round: 3, Model: make([]float64, task.Dimension()), Heard: []learner.Heard{{Peer: "other", Round: 7, Model: make([]float64, task.Dimension())}}}
	text, err := json.Marshal(memory{State: state, Network: "net", Audience: listened{Releases: []int64{1, 2}}})
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"Round":18446744073709551615,"Model":[1e308,-1e308,0],"Heard":[{"Peer":"","Model":[]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m memory
		if json.Unmarshal(text, &m) != nil {
			return
		}
		a, err := learner.New(learner.Config{
			Self: "self", Task: task, WakeMean: 1, Schedule: rand.New(rand.NewPCG(1, 2)), Masks: rand.NewPCG(3, 4), Resume: &m.State,
		})
		if err != nil {
			return
		}
		a.Neighbours(0, []learner.Edge{{Peer: "other", Weight: 1, Live: true}})
		a.Tick(time.Hour)
		m.Audience.Listeners = nil
		_ = (&audience{heard: m.Audience}).again(time.Unix(1_800_000_000, 0), 1)
	})
}
