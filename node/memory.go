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

// readMemory returns what an earlier run stored, or the memory of a new node. What was signed in
// another network is not in it.
func readMemory(l *storage.Ledger, t *learner.Task, network string) (memory, error) {
	m := memory{State: learner.State{Model: make([]float64, t.Dimension())}}
	if text := l.State(); text != nil {
		if err := json.Unmarshal(text, &m); err != nil {
			return m, fmt.Errorf("node: the stored state is damaged: %w", err)
		}
	}
	m.Round = max(m.Round, l.Round()) // a round that was paid for and not committed is burned
	if m.Network != network {
		m.Witnesses, m.Evidence = nil, nil
	}
	return m, nil
}
