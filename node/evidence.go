package node

import (
	"context"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/node/api"
)

// Evidence lists the proofs that peers signed two different models for one round, oldest
// first.
func (n *Node) Evidence(context.Context) ([]api.Evidence, error) {
	var list []gossip.Evidence
	if s := n.current(); s != nil {
		list = s.gossip.Evidence()
	} else {
		m, err := n.stored()
		if err != nil {
			return nil, err
		}
		list = m.Evidence
	}
	out := make([]api.Evidence, len(list))
	for i, e := range list {
		out[i] = api.Evidence{
			Network: n.network, Author: e.Author.String(), Round: e.First.Round, Since: e.Since,
			First: api.ModelProof{Hash: e.First.Hash, Proof: e.First.Proof}, Second: api.ModelProof{Hash: e.Second.Hash, Proof: e.Second.Proof},
		}
	}
	return out, nil
}

// CheckEvidence returns an error unless the author that the evidence names signed both
// models. It needs no node.
func CheckEvidence(e api.Evidence) error {
	author, err := peer.Decode(e.Author)
	if err != nil {
		return api.WrongRequest(fmt.Errorf("node: the evidence names no peer: %w", err))
	}
	proof := func(p api.ModelProof) gossip.Witness {
		return gossip.Witness{Round: e.Round, Hash: p.Hash, Proof: p.Proof}
	}
	if _, err := gossip.NewEvidence(e.Network, author, proof(e.First), proof(e.Second)); err != nil {
		return api.WrongRequest(err)
	}
	return nil
}

// tellEvidence tells the owner of a proof. A proof against this node itself means that
// another copy of its directory has run: peers that have the proof accept nothing from it
// any more.
func (n *Node) tellEvidence(e gossip.Evidence) {
	event := api.Event{
		Kind: api.EventRefused, Text: "peer turned away for good; p2pnode peers evidence shows the proof", Peer: e.Author.String(),
		Reason: twoModels(e), Round: e.First.Round,
	}
	if e.Author == n.self {
		event.Kind, event.Text = api.EventWarning, "another copy of this directory has run: peers that have the proof take nothing more of this node"
	}
	n.diary.Sparsely(event)
}

// twoModels says what evidence shows.
func twoModels(e gossip.Evidence) string {
	return fmt.Sprintf("it signed two different models for round %d: it lies, or two copies of its directory run", e.First.Round)
}
