package peering

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// The pace of the search for neighbours.
const (
	lookSoon    = time.Second      // between looks while there is something to be done
	seekPause   = 10 * time.Second // between two exchanges at most, while neighbours are missing
	retryDelay  = 20 * time.Second // before a peer that declined or failed is asked again
	renewAfter  = 2 * time.Second  // an edge is renewed, at the earliest, after a release that gives it another weight
	meetEvery   = 3 * time.Second  // the same, until the first answer of the run
	deadAfter   = time.Hour        // an edge nobody answers on is given up
	maxFailures = 3                // requests without an answer before a candidate is forgotten
	newWeight   = 0.1              // the relative change of a weight that is worth a renewal
)

// call is a request under way.
type call struct {
	Call
	hoped graph.Link // the edge that may come of it; zero unless it is a new one
}

// look does what is due: it gives up edges, makes requests, and ends connections that
// are needed no more.
func (n *Neighbourhood) look() {
	for _, id := range n.dead() {
		n.cut(id, "unreachable")
	}
	for _, id := range graph.Choose(n.graph, n.own, n.graphLinks(), nil).Drop {
		n.replace(id)
	}
	n.sayFarewells()
	if !n.departure.Begun {
		n.renewals()
		n.seek()
	}
	n.part()
	n.next = n.now + n.rest()
}

// rest is how long the node need not look unless it is woken: a moment while
// neighbours are missing, something has just changed or is under way.
func (n *Neighbourhood) rest() time.Duration {
	if n.pace.pause < n.lookEvery || len(n.calls)+len(n.farewells)+len(n.visits) > 0 || n.missing() {
		return lookSoon
	}
	for _, l := range n.links {
		if l.up && !l.met {
			return lookSoon
		}
	}
	return n.lookEvery
}

// request makes a request. Of each peer there is one at a time.
func (n *Neighbourhood) request(c *call) {
	c.Own = n.entry()
	if c.Kind != Farewell {
		c.Turn = n.turn(c.To.Peer)
	}
	n.calls[c.To.Peer] = c
	n.out.Calls = append(n.out.Calls, c.Call)
}

// sayFarewells tells peers that their edges were given up.
func (n *Neighbourhood) sayFarewells() {
	for _, id := range sortedKeys(n.farewells) {
		if n.calls[id] == nil {
			n.request(&call{Call: Call{graph.Entry{Peer: id}, Request{Kind: Farewell, Turn: n.farewells[id]}}})
			delete(n.farewells, id)
		}
	}
}

// renewals asks for edges again: those whose peer came back, and those that are old or
// whose weight has changed.
func (n *Neighbourhood) renewals() {
	for _, l := range n.links {
		if l.connected {
			l.seen = n.now
		}
		switch {
		case !l.connected:
			l.up = false
		case n.calls[l.peer] != nil: // one that came back meanwhile is asked after that
		case !l.up || n.now-l.asked > n.renewal(l):
			l.up, l.asked = true, n.now
			n.request(&call{Call: Call{graph.Entry{Peer: l.peer}, Request{Kind: Ask}}})
		}
	}
}

// renewal is how old an edge may become before it is renewed.
func (n *Neighbourhood) renewal(l *link) time.Duration {
	switch {
	case !l.met:
		return meetEvery
	case l.doubt:
		return retryDelay
	case n.moved(l):
		return renewAfter
	}
	return n.renewEvery
}

// moved reports whether what this node has published since would give the edge
// another weight: once for each release at most, because the renewal takes it in. An
// edge to a peer of which nothing was known is asked for again too, since that peer may
// have published meanwhile.
func (n *Neighbourhood) moved(l *link) bool {
	if n.own.Round == l.own.Round {
		return false
	}
	if !l.known && n.own.Vector != nil {
		return true
	}
	w := graph.Weight(n.graph, n.own, l.theirs)
	return math.Abs(w-l.weight) > newWeight*l.weight
}

// seek asks candidates for edges, and now and then exchanges entries with one peer.
func (n *Neighbourhood) seek() {
	missing, longest := n.missing(), n.renewEvery
	if missing && !n.knowsEnough() {
		longest = seekPause
	}
	step := n.pace.due(n.now, longest, n.random.Float64())
	if step || missing {
		n.choose()
	}
	if step {
		n.callPartner()
	}
}

// missing reports whether fewer neighbours are there, or being asked, than the task
// wants.
func (n *Neighbourhood) missing() bool {
	there := len(n.hoped())
	for _, l := range n.links {
		if l.up {
			there++
		}
	}
	return there < n.graph.Degree
}

// knowsEnough reports whether to know more peers would not help to find neighbours:
// each exchange takes a connection of its own.
func (n *Neighbourhood) knowsEnough() bool {
	return n.graph.Rule == "random" && n.view.Len() >= 2*n.graph.Degree
}

// hoped are the new edges that are being asked for.
func (n *Neighbourhood) hoped() (out []graph.Link) {
	for _, id := range sortedKeys(n.calls) {
		if c := n.calls[id]; c.hoped.Peer != "" && n.link(id) == nil {
			out = append(out, c.hoped)
		}
	}
	return out
}

// choose asks candidates for an edge, as many at a time as the window has room for.
func (n *Neighbourhood) choose() {
	hoped := n.hoped()
	room := n.window.room(n.now, len(hoped))
	if room == 0 {
		return
	}
	candidates := n.candidates(2 * n.graph.Degree)
	asks := graph.Choose(n.graph, n.own, append(n.graphLinks(), hoped...), candidates).Ask
	for _, id := range asks[:min(room, len(asks))] {
		to := candidates[slices.IndexFunc(candidates, func(e graph.Entry) bool { return e.Peer == id })]
		n.request(&call{
			Call:  Call{to, Request{Kind: Ask}},
			hoped: graph.Link{Peer: id, Weight: graph.Weight(n.graph, n.own, to.End), Known: graph.Known(n.graph, n.own, to.End), Up: true},
		})
	}
}

// dead lists the edges nobody has answered on for long, and when there are more
// edges than allowed those of the peers that have been away longest.
func (n *Neighbourhood) dead() []learner.ID {
	var away []*link
	for _, l := range n.links {
		if !l.up {
			away = append(away, l)
		}
	}
	slices.SortStableFunc(away, func(a, b *link) int { return cmp.Compare(a.seen, b.seen) })
	excess := len(n.links) - graph.Most(n.graph)
	var out []learner.ID
	for i, l := range away {
		if i >= excess && n.now-l.seen <= deadAfter {
			break
		}
		out = append(out, l.peer)
	}
	return out
}

// counted tells the window what came of a request for a new edge.
func (n *Neighbourhood) counted(c *call, answered bool) {
	switch {
	case c.hoped.Peer == "":
	case answered:
		n.window.answered()
	default:
		n.window.failed(n.now, n.random.Float64())
	}
}

// answered takes in the answer to a request.
func (n *Neighbourhood) answered(c *call, reply Reply) {
	id := c.To.Peer
	n.meet(id)
	n.learn(reply.Own, reply.Hidden)
	if known := n.contacts[id]; known != nil {
		known.failures = 0
	}
	switch c.Kind {
	case Exchange:
		n.exchanged(reply)
	case Farewell:
		if c.Turn == FinalTurn {
			n.departure.Told++
		}
	case Ask:
		switch reply.Answer {
		case Accepted:
			n.accepted(c, reply)
		case Later:
			n.later(id)
		default:
			n.contact(id).after = n.now + retryDelay
			n.cut(id, "declined")
		}
	}
}

// later notes that the other end wants to be asked again.
func (n *Neighbourhood) later(id learner.ID) {
	if l := n.link(id); l != nil {
		l.doubt = true
		return
	}
	n.contact(id).after = n.now + retryDelay
}

// failed notes that a request got no answer: what the other end holds of an edge is
// not known then. A candidate that never answers is forgotten; who sees it again names
// it again.
func (n *Neighbourhood) failed(id learner.ID) {
	if l := n.link(id); l != nil {
		l.doubt = true
		return
	}
	c := n.contact(id)
	c.failures++
	c.after = n.now + retryDelay
	if c.failures >= maxFailures || n.view.Len() >= 2*n.graph.Degree {
		n.view.Remove(id)
	}
}

// sortedKeys are the keys of a map in an order of their own: whatever follows from
// them is the same every time.
func sortedKeys[V any](m map[learner.ID]V) []learner.ID {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
