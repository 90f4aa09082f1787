package graph

import "p2pnode/learner"

// Link is an edge as its node sees it, for the choice of neighbours.
type Link struct {
	Peer   learner.ID
	Weight float64
	Known  bool // the weight follows from both ends, not from chance
	Up     bool // the other end is reachable now
}

// Choice is what a node should do about its edges now.
type Choice struct {
	Ask  []learner.ID // candidates to ask for an edge, the best first
	Drop []learner.ID // edges to give up once an asked candidate has accepted, the worst first
}

// Choose compares a node's edges with its best candidates. Missing edges are
// asked for; an edge there is replaced only if a candidate's weight exceeds its
// own by the margin of hysteresis, so that the graph settles. A node asks for
// degree edges and holds at most twice as many.
func Choose(g learner.Graph, own End, links []Link, candidates []Entry) Choice { return Choice{} }

// Accept is the other end's decision about a request: whether the edge of this
// weight comes to be, and which edge, if any, makes room for it.
func Accept(g learner.Graph, links []Link, from learner.ID, weight float64) (accepted bool, instead learner.ID) {
	return false, ""
}
