package node

import (
	"encoding/json"
	"fmt"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/storage"
)

// memory is what a node keeps between runs beside its records and its ledger: the agent's
// state, the witnesses of the models that it has heard, which it can show to their
// authors, and the evidence against authors. It is stored with each release and when a
// run ends. In JSON it is the agent's state with more fields, so that a state stored
// without them can be read.
type memory struct {
	learner.State
	// Network is the network in which witnesses and evidence were signed. In another
	// network, for example that of a later version, they would look forged.
	Network   string                    `json:",omitempty"`
	Witnesses map[string]gossip.Witness `json:",omitempty"` // by the author's peer ID
	Evidence  []gossip.Evidence         `json:",omitempty"` // by the authors' signatures, oldest first
	Audience  listened                  // who listened to the node's releases
}

// encodeMemory returns the stored form of the agent's state, of what gossip must
// remember, and of who listened.
func encodeMemory(s learner.State, network string, g *gossip.Gossip, a *audience) ([]byte, error) {
	return json.Marshal(memory{s, network, g.Witnesses(), g.Evidence(), a.stored()})
}

// readState returns the stored state of the agent, or that of a new agent. A round that
// the ledger knows as used is burned.
func readState(l *storage.Ledger, t *learner.Task) (learner.State, error) {
	state := learner.State{Model: make([]float64, t.Dimension())}
	if text := l.State(); text != nil {
		if err := json.Unmarshal(text, &state); err != nil {
			return state, fmt.Errorf("node: the stored state is damaged: %w", err)
		}
	}
	// A round that was paid for and not committed is burned.
	state.Round = max(state.Round, l.Round())
	return state, nil
}

// readHeard returns the witnesses and the evidence that an earlier run in the same
// network stored.
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

// readListened returns who listened to the releases of earlier runs.
func readListened(l *storage.Ledger) (listened, error) {
	var m memory
	if text := l.State(); text != nil {
		if err := json.Unmarshal(text, &m); err != nil {
			return listened{}, fmt.Errorf("node: the stored state is damaged: %w", err)
		}
	}
	return m.Audience, nil
}
