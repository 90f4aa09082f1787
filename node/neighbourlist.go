package node

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// Neighbours lists the neighbours, with what their weights rest on, and the peers that are
// turned away or turn this node away.
func (n *Node) Neighbours(ctx context.Context) (api.Neighbours, error) {
	g := &n.files.Task.Graph
	out := api.Neighbours{Rule: g.Rule, Degree: g.Degree, Refused: n.refused()}
	var err error
	out.Neighbours, err = n.Peers(ctx)
	return out, err
}

// whyWeight says what a weight rests on.
func whyWeight(g *learner.Graph, known bool) string {
	switch {
	case g.Rule == "random":
		return "all neighbours weigh the same, by the task"
	case !known && g.Rule == "released":
		return "the same as for all strangers, until both have released enough to be compared"
	case !known:
		return "the same as for all strangers, until both have said their profile"
	case g.Rule == "released":
		return "how similar both nodes' releases are"
	}
	return "how similar both owners' profiles are"
}

// refused lists who is turned away and by whom, the latest first.
func (n *Node) refused() []api.Refused {
	out := []api.Refused{}
	if s := n.current(); s != nil {
		out = append(out, badSenders(s.gossip)...)
		out = append(out, twoFaced(s.gossip)...)
	}
	if p := n.private.Describe(n.self); p != nil {
		out = append(out, strangers(p)...)
	}
	slices.SortStableFunc(out, func(a, b api.Refused) int { return b.Last.Compare(a.Last) })
	return out
}

const tooManyBad = "it sent too many bad messages"

// badSenders are the peers that sent too many bad messages.
func badSenders(g *gossip.Gossip) (out []api.Refused) {
	for _, r := range g.Refused() {
		until := r.Until
		out = append(out, api.Refused{Peer: r.Peer.String(), Reason: tooManyBad, Times: r.Strikes, Last: r.Since, Until: &until})
	}
	return out
}

// tellRefused tells the owner that a peer is turned away.
func (n *Node) tellRefused(p peer.ID, until time.Time) {
	n.diary.Tell(api.Event{
		Kind: api.EventRefused, Text: "peer turned away until " + until.Format(time.TimeOnly), Peer: p.String(), Reason: tooManyBad,
	})
}

// strangers are the refusals for the lack of membership.
func strangers(p *api.Private) (out []api.Refused) {
	add := func(list []api.Refusal, reason string, byPeer bool) {
		for _, r := range list {
			out = append(out, api.Refused{Peer: r.Peer, Reason: reason, ByPeer: byPeer, Times: r.Times, Last: r.Last})
		}
	}
	add(p.TurnedAway, "it is not on the membership list", false)
	add(p.RefusedBy, "this node is not on the peer's membership list", true)
	return out
}
