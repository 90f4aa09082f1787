package peering

import (
	"slices"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// Input is one thing that happens to a node. Its content must not change afterwards.
type Input interface {
	// happen lets the node take the input in.
	happen(n *Neighbourhood)
}

// Seen says that a peer of the task was seen. Only its passport is known.
type Seen struct{ Peer graph.Entry }

// Asked is a request of a peer; [Output.Reply] answers it. The driver has checked that
// the peer knows nothing of this node's past that the node does not.
type Asked struct{ Request }

// Answered says that a request of [Output.Calls] is over.
type Answered struct {
	From    learner.ID
	Failed  bool  // no answer came
	Reply   Reply // unless Failed; checked as for [Asked]
	Dialled bool  // the driver made a connection for the request
}

// Connected says that there is a connection to a peer.
type Connected struct{ Peer learner.ID }

// Lost says that a connection to a peer ended. If there is another one, Connected
// follows.
type Lost struct{ Peer learner.ID }

// Declared says which of this node's values are public from now on.
type Declared struct{ End graph.End }

// Members lists the peers that may take part, in place of an earlier list. Before the
// first list everybody may.
type Members struct{ Peers []learner.ID }

// Refused lists the peers that may never take part, in place of an earlier list, because
// they signed two different models for one round.
type Refused struct{ Peers []learner.ID }

// Leave gives up all edges for good; see [Neighbourhood.Departure].
type Leave struct{}

// Tick says that the time of [Output.Next] has come. A tick that comes early does no
// harm.
type Tick struct{}

func (in Seen) happen(n *Neighbourhood) {
	if !n.member(in.Peer.Peer) {
		return
	}
	alone := n.view.Len() == 0
	n.sight(in.Peer)
	if alone && n.view.Len() > 0 {
		n.wake()
	}
}

func (in Asked) happen(n *Neighbourhood) { n.answer(in.Request) }

func (in Answered) happen(n *Neighbourhood) {
	c := n.calls[in.From]
	if c == nil {
		return
	}
	delete(n.calls, in.From)
	if c.Kind == Ask && in.From == n.referral.Peer {
		n.referral = graph.Entry{} // it is asked once
	}
	if in.Dialled {
		n.visits[in.From] = n.now
	}
	n.counted(c, !in.Failed)
	if in.Failed {
		n.failed(in.From)
	} else {
		n.answered(c, in.Reply)
	}
	if _, more := n.farewells[in.From]; more {
		n.wake()
	}
	n.departed()
}

func (in Connected) happen(n *Neighbourhood) {
	l := n.link(in.Peer)
	if l == nil {
		return
	}
	l.connected = true
	if !(l.up && l.met) {
		n.wake()
	}
}

// happen marks the edge for renewal even if the peer returns at once: it may have
// restarted.
func (in Lost) happen(n *Neighbourhood) {
	if l := n.link(in.Peer); l != nil {
		l.connected, l.up = false, false
		n.wake()
	}
}

// happen makes the node look for neighbours again, because others may suit it better
// now. So for a while it exchanges neighbours for better ones. After its last
// declaration its neighbours stand, however many peers come and whatever they claim.
func (in Declared) happen(n *Neighbourhood) {
	n.own = in.End
	if in.End.Vector != nil {
		n.settled = n.now + 2*n.renewEvery
	}
	n.view.SetOwn(in.End)
	n.hurry()
	n.wake()
}

func (in Members) happen(n *Neighbourhood) {
	n.members = set(in.Peers)
	for _, l := range slices.Clone(n.links) {
		if !n.member(l.peer) {
			n.cut(l.peer, "no member of the private network")
		}
	}
}

func (in Refused) happen(n *Neighbourhood) {
	n.refused = set(in.Peers)
	for _, id := range in.Peers {
		n.view.Remove(id)
		delete(n.named, id)
		n.cut(id, "it signed two different models for one round")
	}
}

func (Leave) happen(n *Neighbourhood) { n.depart() }

func (Tick) happen(n *Neighbourhood) { n.look() }

// set returns the list as a set. The set of an empty list is empty, not nil.
func set(list []learner.ID) map[learner.ID]bool {
	m := make(map[learner.ID]bool, len(list))
	for _, id := range list {
		m[id] = true
	}
	return m
}
