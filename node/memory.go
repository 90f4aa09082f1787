package node

import (
	"encoding/json"
	"fmt"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/storage"
)

// memory is what a node keeps between runs beside its records and its ledger: the agent's
// state, the witnesses that it can show the authors it has heard, and the evidence against
// some. It is stored with each release and when a run ends. In JSON it is the state with more fields, so that a
// state stored without witnesses can be read.
type memory struct {
	learner.State
	// Network is the network in which witnesses and evidence were signed. In another one, for
	// example that of a later version, they would look forged.
	Network   string                    `json:",omitempty"`
	Witnesses map[string]gossip.Witness `json:",omitempty"` // by the author's peer ID
	Evidence  []gossip.Evidence         `json:",omitempty"` // by authors' signatures, the oldest first
	Audience  listened                  // of the node's releases
}

// encodeMemory returns the stored form of a state, of what gossip is to remember, and of who
// listened.
func encodeMemory(s learner.State, network string, g *gossip.Gossip, a *audience) ([]byte, error) {
	return json.Marshal(memory{s, network, g.Witnesses(), g.Evidence(), a.stored()})
}

// readState returns the stored state of the agent, or that of a new agent. A round that the
// ledger knows to be used is burned.
func readState(l *storage.Ledger, t *learner.Task) (learner.State, error) {
	state := learner.State{Model: make([]float64, t.Dimension())}
	if text := l.State(); text != nil {
		if err := json.Unmarshal(text, &state); err != nil {
			return state, fmt.Errorf("node: the stored state is damaged: %w", err)
		}
	}
	// A round that was paid and not committed is burned.
	state.Round = max(state.Round, l.Round())
	return state, nil
}

// readHeard returns the witnesses and the evidence of an earlier run in the same network.
func readHeard(l *storage.Ledger, network string) (map[string]gossip.Witness, []gossip.Evidence, error) {
	text := l.State()
	if text == nil {
		return nil, nil, nil
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, nil, fmt.Errorf("node: the stored state is damaged: %w", err)
	}
	if m.Network != network {
		return nil, nil, nil
	}
	return m.Witnesses, m.Evidence, nil
}

// readListened returns who listened to releases of earlier runs.
func readListened(l *storage.Ledger) (listened, error) {
	var m memory
	if text := l.State(); text != nil {
		if err := json.Unmarshal(text, &m); err != nil {
			return listened{}, fmt.Errorf("node: the stored state is damaged: %w", err)
		}
	}
	return m.Audience, nil
}
