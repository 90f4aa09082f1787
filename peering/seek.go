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
	lookSoon    = time.Second      // between two looks while there is something to do
	seekPause   = 10 * time.Second // the longest time between two exchanges while neighbours are missing
	answerSoon  = 3 * time.Second  // how long an exchange waits for the answer of a peer that is asked for an edge
	retryDelay  = 20 * time.Second // before the node asks a peer again that declined or failed
	renewAfter  = 2 * time.Second  // the earliest renewal of an edge after a release that gives it another weight
	calm        = 5                // times as long as to the first renewal of an edge it is to the next one
	meetEvery   = 3 * time.Second  // between two renewals of an edge until its first answer of the run
	deadAfter   = time.Hour        // how long an edge whose peer is away is kept
	maxFailures = 3                // requests without an answer before a candidate is forgotten
	newWeight   = 0.1              // the relative change of a weight that is worth a renewal
)

// call is a request under way.
type call struct {
	Call
	pending graph.Link // the new edge that it may make; zero if it cannot make one
}

// look does what is due: it gives up edges, makes requests, and ends connections that
// are no longer needed.
func (n *Neighbourhood) look() {
	for _, id := range n.dead() {
		n.cut(id, "unreachable")
	}
	for _, id := range graph.Choose(n.graph, n.own, n.graphLinks(), nil, n.open()).Drop {
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

// rest returns how long the node need not look unless it is woken. The time is short
// while something has just changed or is under way, and while there is somebody to ask
// for a missing neighbour. If there is nobody, the node rests until that may change.
func (n *Neighbourhood) rest() time.Duration {
	n.starved = false
	if n.pace.pause < n.lookEvery || len(n.calls)+len(n.farewells)+len(n.visits) > 0 {
		return lookSoon
	}
	for _, l := range n.links {
		if l.up && !l.met {
			return lookSoon
		}
	}
	switch {
	case !n.missing():
		return n.lookEvery
	case n.Candidates() > 0:
		return lookSoon
	}
	n.starved = true
	until := n.pace.next
	for _, c := range n.contacts {
		if c.retryAt > n.now {
			until = min(until, c.retryAt)
		}
	}
	return min(max(until-n.now, lookSoon), n.lookEvery)
}

// request makes a request. Each peer gets one at a time.
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

// renewals asks again for the edges whose peer came back, that are old, or whose weight
// has changed.
func (n *Neighbourhood) renewals() {
	for _, l := range n.links {
		if l.connected {
			l.seen = n.now
		}
		switch {
		case !l.connected || n.calls[l.peer] != nil: // a peer that came back meanwhile is asked after this request
		case !l.up:
			l.up, l.back = true, n.now
			n.renew(l)
		case n.now-l.asked > n.renewal(l):
			n.renew(l)
		}
	}
}

func (n *Neighbourhood) renew(l *link) {
	l.asked = n.now
	n.request(&call{Call: Call{graph.Entry{Peer: l.peer}, Request{Kind: Ask}}})
}

// renewal returns how long an edge may go without a renewal. What went wrong while the
// two ends were connected is repaired soon; later there is little to repair.
func (n *Neighbourhood) renewal(l *link) time.Duration {
	switch {
	case !l.met:
		return meetEvery
	case l.doubt:
		return retryDelay
	case n.moved(l):
		return renewAfter
	}
	if l.asked-l.back < n.renewEvery {
		return n.renewEvery
	}
	return calm * n.renewEvery
}

// moved reports whether this node's latest release would give the edge another weight.
// It does so at most once for each release, because the renewal takes the release in. An
// edge whose other end was unknown is renewed too: that peer may have published since.
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

// seek asks candidates for edges, and now and then exchanges entries with one peer. A node
// that wants no neighbours does neither. Under the rule "random" every peer is as good a
// partner as another, so the node takes one that it asks for an edge anyway: each peer
// that it is not connected to costs a connection.
func (n *Neighbourhood) seek() {
	if n.graph.Degree == 0 {
		return
	}
	missing, longest := n.missing(), n.renewEvery
	if missing && !n.knowsEnough() {
		longest = seekPause
	}
	if n.knowsEnough() && !missing {
		n.pace.slow(longest)
	}
	step := n.pace.due(n.now, longest, n.random.Float64())
	if step && !n.owing {
		n.owing, n.owingSince = true, n.now
	}
	if step || missing {
		n.choose()
	}
	if n.owing && (n.now-n.owingSince >= answerSoon || !n.anyPartner() || len(n.pendingLinks()) == 0) {
		n.callPartner()
	}
}

// anyPartner reports whether it does not matter with whom the node exchanges entries.
func (n *Neighbourhood) anyPartner() bool { return n.graph.Rule == "random" }

// open reports whether the node exchanges neighbours for better ones.
func (n *Neighbourhood) open() bool { return n.now < n.settled }

// missing reports whether the neighbours that are connected or being asked are fewer
// than the task wants.
func (n *Neighbourhood) missing() bool {
	return graph.Wanting(n.graph, append(n.graphLinks(), n.pendingLinks()...)) > 0
}

// knowsEnough reports whether knowing more peers would not help to find neighbours.
// Then exchanges become rare, because each takes a connection of its own.
func (n *Neighbourhood) knowsEnough() bool {
	return n.anyPartner() && n.view.Len() >= 2*n.graph.Degree
}

// pendingLinks returns the new edges that the node has asked for.
func (n *Neighbourhood) pendingLinks() (out []graph.Link) {
	for _, id := range sortedKeys(n.calls) {
		if c := n.calls[id]; c.pending.Peer != "" && n.link(id) == nil {
			out = append(out, c.pending)
		}
	}
	return out
}

// choose asks candidates for an edge, as many at a time as the window has room for.
func (n *Neighbourhood) choose() {
	pending := n.pendingLinks()
	room := n.window.room(n.now, len(pending))
	if room == 0 {
		return
	}
	candidates := n.candidates(2 * n.graph.Degree)
	asks := graph.Choose(n.graph, n.own, append(n.graphLinks(), pending...), candidates, n.open()).Ask
	for _, id := range asks[:min(room, len(asks))] {
		to := candidates[slices.IndexFunc(candidates, func(e graph.Entry) bool { return e.Peer == id })]
		n.request(&call{
			Call:    Call{to, Request{Kind: Ask}},
			pending: graph.Link{Peer: id, Weight: graph.Weight(n.graph, n.own, to.End), Known: graph.Known(n.graph, n.own, to.End), Up: true},
		})
	}
}

// dead lists the edges whose peer has been away for too long. When there are more edges
// than allowed, it adds the peers that have been away longest.
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
		if i < excess || n.now-l.seen > deadAfter {
			out = append(out, l.peer)
		}
	}
	return out
}

// counted tells the window whether a request for a new edge was answered.
func (n *Neighbourhood) counted(c *call, answered bool) {
	switch {
	case c.pending.Peer == "":
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
		if c.Turn == finalTurn {
			n.departure.Told++
		}
	case Ask:
		switch reply.Answer {
		case Accepted:
			n.accepted(c, reply)
		case Later:
			n.later(id)
		default:
			n.declined(id, reply)
		}
		if n.owing && n.anyPartner() && c.pending.Peer != "" {
			n.owing = false
			n.exchangeWith(c.To, n.view.Offer(c.To))
		}
	}
}

// declined notes that a peer refused an edge. If it named another that looks for
// neighbours, the node asks that one.
func (n *Neighbourhood) declined(id learner.ID, reply Reply) {
	n.contact(id).retryAt = n.now + retryDelay
	n.cut(id, "declined")
	if len(reply.Known) > 0 && reply.Known[0].Peer != n.self {
		n.referral = reply.Known[0]
		n.wake()
	}
}

// later notes that the other end wants to be asked again.
func (n *Neighbourhood) later(id learner.ID) {
	if l := n.link(id); l != nil {
		l.doubt = true
		return
	}
	n.contact(id).retryAt = n.now + retryDelay
}

// failed notes that a request got no answer. If there is an edge to the peer, this node
// then does not know whether the other end holds it. A candidate is forgotten until it is
// seen again if it has failed too often, or if enough other candidates are known.
func (n *Neighbourhood) failed(id learner.ID) {
	if l := n.link(id); l != nil {
		l.doubt = true
		return
	}
	c := n.contact(id)
	c.failures++
	c.retryAt = n.now + retryDelay
	if c.failures >= maxFailures || n.view.Len() >= 2*n.graph.Degree {
		n.view.Remove(id)
	}
}

// sortedKeys returns the keys of a map, sorted, so that every run goes through them in
// the same order.
func sortedKeys[V any](m map[learner.ID]V) []learner.ID {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
