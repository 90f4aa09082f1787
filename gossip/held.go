package gossip

import (
	"github.com/libp2p/go-libp2p/core/peer"
)

// Edges are renewed every minute, also between nodes that have nothing new to send. So
// both ends say which of the other's models they learn from, and that model is not sent
// again. A node begins each run, and each edge, with none, so models that its agent
// heard before it knew the edge, or has forgotten, are sent again.

// holdings returns the round of a peer's newest model that was delivered here, and the
// newest round of this node that the peer says it has; 0: none.
func (g *Gossip) holdings(p peer.ID) (here, there uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.followOf(p); f != nil {
		return f.arrived, f.holds
	}
	return 0, 0
}

// toldHeld notes which of this node's models a peer says it has.
func (g *Gossip) toldHeld(p peer.ID, round uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.followOf(p); f != nil {
		f.holds = round
	}
}

// Missed says that the agent could not use a delivered model of a followed peer, so
// that it is sent again.
func (g *Gossip) Missed(p peer.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.followOf(p); f != nil {
		f.arrived = 0
	}
}

// holds reports whether a peer that says it has this round has the encoded model.
func holds(round uint64, latest []byte) bool {
	if round == 0 || len(latest) == 0 {
		return false
	}
	w, err := WitnessOf(latest)
	return err == nil && w.Round == round
}
