package graph

import (
	"cmp"
	"slices"
	"time"

	"p2pnode/learner"
)

// hysteresis is the relative margin by which the weight of a candidate must exceed that
// of an edge to replace it. It was measured with 300 nodes in ten groups whose profiles
// lose their noise over twenty releases (gamma 0.2 and 0.5): a margin of 0.1 saves 16 %
// and 33 % of the changes of edges and costs 1 % and 2 % of the edges within groups;
// 0.5 saves 47 % and 69 %, and costs 4 % and 14 %.
const hysteresis = 0.1

// Link is an edge as its node sees it when it chooses neighbours.
type Link struct {
	Peer   learner.ID
	Weight float64
	Known  bool // the weight follows from both ends, not from chance: see [Known]
	Up     bool // the other end is reachable now
	Theirs bool // the other end asked for the edge: this node gives it up only to make room
	// Stranger means that nobody vouches for the peer: anybody may create any number of
	// such peers.
	Stranger bool
	// Net is the part of the network in which the peer is, see [Entry].
	Net string
	Age time.Duration // age of the edge
}

// uninvited reports whether a stranger asked for the edge.
func (l Link) uninvited() bool { return l.Theirs && l.Stranger }

// Choice is what a node should do about its edges now.
type Choice struct {
	Ask  []learner.ID // candidates to ask for an edge, the best first
	Drop []learner.ID // edges to give up now, the worst first
}

// Choose compares a node's edges with its best candidates, none of which may have an
// edge already. Together with [Accept] it makes the graph of the nearest neighbours in
// either direction: a node asks until its most similar nodes, as many as the degree,
// are its neighbours. It gives up edges it asked for once it has enough better ones,
// and keeps those that others asked for, up to twice the degree in all. A candidate
// must exceed the edge that it pushes out by the margin hysteresis; edges of unknown
// similarity are pushed out first. Under the rule "random" a node asks for missing
// edges and gives up none.
//
// Strangers may all belong to one attacker, who claims the greatest similarity. So a
// node gives up edges for better ones only while it is open, which is just after a
// change, and only slowly those that have stood for long.
func Choose(g learner.Graph, own End, links []Link, candidates []Entry, open bool) Choice {
	edges := reachable(links)
	counted := counting(g, edges)
	kept := min(g.Degree, len(counted)) // the best edges, as many as the degree, stay
	missing := g.Degree - kept
	var c Choice
	for _, p := range proposals(g, own, candidates) {
		switch {
		case len(c.Ask) == Most(g):
		case !p.Known && len(counted)+len(c.Ask) >= g.Degree:
		case len(c.Ask) < missing:
			c.Ask = append(c.Ask, p.Peer)
		case kept > 0 && open && p.Known && pushesOut(p, counted[kept-1]) && !stands(g, edges, counted[kept-1]):
			c.Ask = append(c.Ask, p.Peer)
			kept--
		}
	}
	c.Drop = surplus(g, edges, counted, open)
	return c
}

// Wanting is how many more neighbours a node asks for. It counts only neighbours that
// the node wants.
func Wanting(g learner.Graph, links []Link) int {
	return max(0, g.Degree-len(counting(g, reachable(links))))
}

// counting returns the edges that count as neighbours the node wants, from a list with
// the best first. Under the rule "random" the edges that strangers asked for count up
// to half of the degree only: the node chooses the other half itself.
func counting(g learner.Graph, edges []Link) []Link {
	if g.Rule != "random" {
		return edges
	}
	invited := 0
	return slices.DeleteFunc(slices.Clone(edges), func(l Link) bool {
		if l.uninvited() {
			invited++
		}
		return l.uninvited() && invited > (g.Degree+1)/2
	})
}

// Accept is the other end's decision about a request for an edge of this weight:
// whether to accept it, and which edge, if any, makes room for it. Strangers who asked
// hold at most as many places as the node wants neighbours. When those are taken, a
// stranger from another part of the network takes the place of the youngest one from
// the part that holds most; and a more similar one takes the worst place, if the node
// is open.
func Accept(g learner.Graph, links []Link, from Link, open bool) (accepted bool, instead learner.ID) {
	if !(from.Weight > 0) {
		return false, ""
	}
	if slices.ContainsFunc(links, func(l Link) bool { return l.Peer == from.Peer }) {
		return true, ""
	}
	edges, from := reachable(links), from
	from.Theirs, from.Up = true, true
	places := edges // the places that the peer may take once all are full
	full := len(edges) >= Most(g)
	if from.uninvited() {
		places = slices.DeleteFunc(slices.Clone(edges), func(l Link) bool { return !l.uninvited() })
		full = full || len(places) >= g.Degree
	}
	if !full {
		return true, ""
	}
	if len(places) == 0 {
		return false, "" // the node wants no neighbours, or has chosen them all itself
	}
	if crowd := crowding(places, from); crowd != "" {
		return true, crowd
	}
	worst := places[len(places)-1]
	if g.Rule == "random" || !open || stands(g, edges, worst) || !(from.Weight > (1+hysteresis)*worst.Weight) {
		return false, ""
	}
	return true, worst.Peer
}

// Most is how many edges a node has at most: twice as many as it seeks itself, so that
// late nodes find a place.
func Most(g learner.Graph) int { return 2 * g.Degree }

// reachable returns the links that are up, the best first.
func reachable(links []Link) []Link {
	up := slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return !l.Up })
	slices.SortStableFunc(up, better)
	return up
}

// proposals returns the candidates that could be neighbours, as the links that they
// would become, the best first.
func proposals(g learner.Graph, own End, candidates []Entry) []Link {
	out := make([]Link, 0, len(candidates))
	for _, e := range candidates {
		if w := Weight(g, own, e.End); w > 0 {
			out = append(out, Link{Peer: e.Peer, Weight: w, Known: Known(g, own, e.End)})
		}
	}
	slices.SortStableFunc(out, better)
	return out
}

// better orders links, known ones first, then by weight; equals keep their order.
func better(a, b Link) int {
	if a.Known != b.Known {
		if a.Known {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.Weight, a.Weight)
}

// pushesOut reports whether a is enough better than b to replace it.
func pushesOut(a, b Link) bool {
	return a.Known && (!b.Known || a.Weight > (1+hysteresis)*b.Weight)
}

// surplus lists the edges to give up, the worst first: those beyond the most that a
// node holds, those without weight, and, if the node is open, those it asked for that
// enough better ones have pushed out.
func surplus(g learner.Graph, edges, counted []Link, open bool) []learner.ID {
	var drop []learner.ID
	for i, l := range slices.Backward(edges) {
		pushed := open && g.Rule != "random" && len(counted) > g.Degree && !l.Theirs && pushesOut(counted[g.Degree-1], l) && !stands(g, edges, l)
		if i >= Most(g) || !(l.Weight > 0) || pushed {
			drop = append(drop, l.Peer)
		}
	}
	return drop
}

// stands reports whether an edge is too old to be given up for a better one now: half
// as many edges as the node wants have come in the second half of its time. So a crowd
// that comes later takes at most that many, and for the next ones it needs as long
// again as the edges have stood. With half of that limit, people in ten groups find
// each other much worse: .69 of the edges join people of one group instead of .89, and
// .95 if nothing stands.
func stands(g learner.Graph, links []Link, edge Link) bool {
	young := 0
	for _, l := range links {
		if l.Age < edge.Age/2 {
			young++
		}
	}
	return young >= max(1, g.Degree/2)
}

// crowding returns the youngest peer from the part of the network that holds most of
// the places. It returns "" if that is the newcomer's part, or holds fewer than two
// more than the newcomer's part would hold.
func crowding(places []Link, from Link) learner.ID {
	count := make(map[string]int)
	for _, l := range places {
		count[l.Net]++
	}
	var crowd Link
	for _, l := range places {
		if l.Net == "" || count[l.Net] < count[from.Net]+2 {
			continue
		}
		if crowd.Peer == "" || count[l.Net] > count[crowd.Net] || l.Net == crowd.Net && l.Age < crowd.Age {
			crowd = l
		}
	}
	return crowd.Peer
}
