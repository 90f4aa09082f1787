package node

import (
	"context"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// Neighbours lists the neighbours, with what their weights are based on, and the peers
// that this node turns away or that turn it away.
func (n *Node) Neighbours(ctx context.Context) (api.Neighbours, error) {
	g := &n.files.Task.Graph
	out := api.Neighbours{Rule: g.Rule, Degree: g.Degree}
	held, err := n.Standings(ctx)
	if err != nil {
		return out, err
	}
	out.Refused = refused(held)
	out.Neighbours, err = n.Peers(ctx)
	return out, err
}

// whyWeight says what a weight is based on.
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
