package peering

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// Config describes the [Neighbourhood] that New makes.
type Config struct {
	Self   learner.ID    // required
	Graph  learner.Graph // required: the task's
	Limits graph.Limits  // of the view; zero: [graph.LimitsFor] the task's degree
	Only   []learner.ID  // who may become a neighbour; nil: anybody
	// Closed means that everybody in the network was let in by a key, so nobody is a
	// stranger.
	Closed  bool
	Servers []learner.ID  // servers of learner polar, one of which is an end of every edge; nil: there are no roles
	Look    time.Duration // required: the time between looks at neighbours that give no cause
	// Renew is how long after its ends were connected a node asks for an edge again, which
	// repairs an edge that only one end knows. While they stay connected it then asks a
	// fifth as often. Renew is also the longest time between two exchanges. Required.
	Renew time.Duration
	// Choices and View are the random sources of the node and of its view. Both are
	// required, and the caller must not use them afterwards.
	Choices, View rand.Source
	Edges         []Edge // of an earlier run; their Met is ignored
}

// Edge is an edge as one of its ends sees it.
type Edge struct {
	Peer    learner.ID
	Weight  float64
	Known   bool // the weight follows from what is known of both ends, not from chance
	Invited bool // the other end asked for it, and this one did not
	// Met says that the other end has told in this run what it holds of this node. Until
	// then, this node cannot know whether it runs from the newest copy of its directory.
	Met   bool
	Since time.Duration // there has been an edge; before 0: in an earlier run
}

// Drop is an edge that was given up.
type Drop struct {
	Peer   learner.ID
	Reason string // for people
}

// Output is what a driver is to do after a step, in the order of the fields.
type Output struct {
	Drops []Drop // edges that ended: follow their peers no more, and forget them
	// Keeps are edges that were agreed on, anew or again: follow their peers, stay
	// connected to them, and remember them. When the input was the request or the answer
	// of such a peer, the message that came along may be heard.
	Keeps []Edge
	// Changed says that [Neighbourhood.Edges] has changed.
	Changed bool
	Reply   *Reply       // the answer to [Asked]
	Calls   []Call       // requests to make at once; each ends with [Answered]
	Parts   []learner.ID // connections that were made for a request and are needed no more
	Alone   bool         // no peer is known: give it peers to start from, as [Seen]
	Next    time.Duration
}

// Neighbourhood is the state machine of one node. It is not safe for concurrent use.
type Neighbourhood struct {
	self        learner.ID
	graph       learner.Graph
	lookEvery   time.Duration
	renewEvery  time.Duration
	only        map[learner.ID]bool // nil: anybody may become a neighbour
	servers     map[learner.ID]bool // nil: there are no roles
	closed      bool
	members     map[learner.ID]bool // nil: everybody is a member
	refused     map[learner.ID]bool // members that may not take part
	random      *rand.Rand
	view        *graph.View                // the peers it knows
	named       map[learner.ID]graph.Entry // named peers, kept beside the view
	contacts    contacts
	links       []*link                      // sorted by peer
	calls       map[learner.ID]*call         // requests under way
	farewells   map[learner.ID]uint64        // peers still to be told that the edge ended, with the turn of the edge
	visits      map[learner.ID]time.Duration // connections made for a request, and since when it is over
	seeker      graph.Entry                  // the peer that was last refused for want of a place
	referral    graph.Entry                  // a peer that was named instead of an edge
	pace        pace
	owing       bool // an exchange is due, and waits for the answer to a request for an edge
	owingSince  time.Duration
	window      window
	own         graph.End     // what is public about this node
	settled     time.Duration // until then neighbours are exchanged for better ones
	starved     bool          // it lacks neighbours, and rests for want of somebody to ask
	departure   Departure
	edgeChanges uint64
	next        time.Duration // time of its next look

	// The time of the step under way.
	now time.Duration
	out Output
}

// New makes a node that knows only the neighbours of its earlier run. Its first tick is
// due at once.
func New(c Config) *Neighbourhood {
	if c.Limits == (graph.Limits{}) {
		c.Limits = graph.LimitsFor(c.Graph.Degree)
	}
	n := &Neighbourhood{
		self: c.Self, graph: c.Graph, closed: c.Closed, lookEvery: c.Look, renewEvery: c.Renew,
		random:    rand.New(c.Choices),
		view:      graph.NewView(c.Self, c.Graph, c.Limits, rand.New(c.View)),
		named:     make(map[learner.ID]graph.Entry),
		contacts:  make(contacts),
		calls:     make(map[learner.ID]*call),
		farewells: make(map[learner.ID]uint64),
		visits:    make(map[learner.ID]time.Duration),
	}
	if c.Only != nil {
		n.only = set(c.Only)
	}
	if c.Servers != nil {
		n.servers = set(c.Servers)
	}
	for _, e := range c.Edges {
		n.add(&link{
			peer: e.Peer, terms: terms{weight: e.Weight, known: e.Known}, since: e.Since, invited: e.Invited,
			renewed: longAgo, asked: longAgo,
		})
	}
	return n
}

// Step takes in one input and returns what the driver is to do. now is the time of the
// driver's clock, which begins at 0 and never goes back. The caller must not change the
// output.
func (n *Neighbourhood) Step(now time.Duration, in Input) Output {
	n.now, n.out = now, Output{}
	in.happen(n)
	if n.starved && n.Candidates() > 0 {
		n.starved, n.next = false, min(n.next, n.now+lookSoon)
	}
	out := n.out
	n.out, out.Next = Output{}, n.next
	return out
}

// Edges returns the node's edges, sorted by peer.
func (n *Neighbourhood) Edges() []Edge {
	out := make([]Edge, len(n.links))
	for i, l := range n.links {
		out[i] = l.edge()
	}
	return out
}

// Edge returns the edge to a peer.
func (n *Neighbourhood) Edge(id learner.ID) (e Edge, found bool) {
	l := n.link(id)
	if l == nil {
		return Edge{}, false
	}
	return l.edge(), true
}

// Turnover returns how many edges have been added or removed so far.
func (n *Neighbourhood) Turnover() uint64 { return n.edgeChanges }

// Candidates returns how many peers the node could ask for an edge now.
func (n *Neighbourhood) Candidates() int {
	count := 0
	for id := range n.named {
		if n.askable(id) {
			count++
		}
	}
	return count + n.view.Count(func(id learner.ID) bool { return !n.isNamed(id) && n.askable(id) })
}

// Known lists the peers that the node knows.
func (n *Neighbourhood) Known() []learner.ID {
	out := n.view.Peers()
	for _, id := range sortedKeys(n.named) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Enough reports whether the search for peers can slow down.
func (n *Neighbourhood) Enough() bool {
	for id := range n.only {
		if _, known := n.named[id]; !known {
			return false
		}
	}
	return n.view.Len() >= 2*n.graph.Degree
}

// wake makes the node look at once.
func (n *Neighbourhood) wake() { n.next = n.now }

// longAgo is earlier than every event.
const longAgo = time.Duration(-1 << 62)

// link is an edge both ends agreed on.
type link struct {
	peer learner.ID
	terms
	net       string // where the peer is
	since     time.Duration
	invited   bool
	connected bool
	up        bool // connected when last looked at
	met       bool
	back      time.Duration // connected since, unless up is false
	seen      time.Duration // connected last
	renewed   time.Duration // agreed on again
	asked     time.Duration // this end asked for that
	doubt     bool          // the last request to renew it brought no agreement
}

func (l *link) edge() Edge {
	return Edge{Peer: l.peer, Weight: l.weight, Known: l.known, Invited: l.invited, Met: l.met, Since: l.since}
}

// find returns the position of the edge to a peer.
func (n *Neighbourhood) find(id learner.ID) (int, bool) {
	return slices.BinarySearchFunc(n.links, id, func(l *link, id learner.ID) int { return cmp.Compare(l.peer, id) })
}

// link returns the edge to a peer, or nil if there is none.
func (n *Neighbourhood) link(id learner.ID) *link {
	if i, found := n.find(id); found {
		return n.links[i]
	}
	return nil
}

// add enters an edge. It replaces an edge to the same peer.
func (n *Neighbourhood) add(l *link) {
	i, found := n.find(l.peer)
	if found {
		n.links[i] = l
	} else {
		n.links = slices.Insert(n.links, i, l)
	}
}

// graphLinks returns the edges as package graph takes them.
func (n *Neighbourhood) graphLinks() []graph.Link {
	out := make([]graph.Link, len(n.links))
	for i, l := range n.links {
		out[i] = graph.Link{
			Peer: l.peer, Weight: l.weight, Known: l.known, Up: l.up, Theirs: l.invited,
			Stranger: n.stranger(l.peer), Net: l.net, Age: n.now - l.since,
		}
	}
	return out
}
