package node

import (
	"encoding/json"
	"fmt"

	"p2pnode/gossip"
	"p2pnode/learner"
)

// memory is what a node keeps between runs beside its records and its ledger: the
// agent's state, and what it can show the authors it has heard. It is stored with
// each release and when a run ends. In JSON it is the state with more fields, so
// that what was stored without witnesses can be read.
type memory struct {
	learner.State
	// Network is the one in which the witnesses were signed: in another, that of a
	// later version for example, they would pass for forged ones.
	Network   string                    `json:",omitempty"`
	Witnesses map[string]gossip.Witness `json:",omitempty"` // by the author's peer ID
}

func (l *loop) memory() ([]byte, error) {
	return json.Marshal(memory{l.agent.State(), l.network, l.gossip.Witnesses()})
}

// storedWitnesses are those of an earlier run in the same network.
func (n *Node) storedWitnesses() (map[string]gossip.Witness, error) {
	text := n.ledger.State()
	if text == nil {
		return nil, nil
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("node: the stored state is damaged: %w", err)
	}
	if m.Network != n.network {
		return nil, nil
	}
	return m.Witnesses, nil
}
