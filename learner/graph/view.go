package graph

import (
	"math/rand/v2"

	"p2pnode/learner"
)

// Entry is a peer as gossip describes it: first or second hand.
type Entry struct {
	Peer learner.ID
	End
	// Age counts the exchanges since the peer itself said this; entries too old
	// are forgotten, so that those of nodes that left die out.
	Age uint32
	// Passport is whatever the driver needs to reach and trust the peer: its
	// addresses and signature. Opaque here, immutable; nil in simulation.
	Passport []byte
}

// Limits bound a view and its messages.
type Limits struct {
	Random   int // peers kept as a random sample
	Nearest  int // most similar peers kept beside those
	Exchange int // entries in one message, the sender's own included
	MaxAge   uint32
}

// View is the candidates a node knows, in bounded memory. Which peers it asks
// and what it tells them depends on public ends and on its random source only.
type View struct {
	self   learner.ID
	rule   learner.Graph
	limits Limits
	random *rand.Rand
	own    End
}

// NewView returns an empty view of the node called self. The source of
// randomness is the view's own from now on.
func NewView(self learner.ID, rule learner.Graph, l Limits, r *rand.Rand) *View {
	return &View{self: self, rule: rule, limits: l, random: r}
}

// SetOwn tells the view what is now publicly known of the node itself.
func (v *View) SetOwn(e End) { v.own = e }

// Add takes entries learned otherwise than by an exchange: of mDNS, the DHT, the
// last run. Later entries of a peer replace earlier ones; a newer round is never
// replaced by an older one.
func (v *View) Add(entries ...Entry) {}

// Remove forgets a peer that could not be reached.
func (v *View) Remove(id learner.ID) {}

// Partner is whom to exchange with next, and what to send it: the entries that
// suit that peer best and some random ones. The driver adds the node's own. ok is
// false when nobody is known. Ages go up by one at each call.
func (v *View) Partner() (to Entry, offer []Entry, ok bool) { return Entry{}, nil, false }

// Answer is the other end's side of an exchange: what to send back to a peer that
// offered its own entry and others, which are taken in.
func (v *View) Answer(from Entry, offered []Entry) []Entry { return nil }

// Merge takes in what an exchange brought.
func (v *View) Merge(entries []Entry) {}

// Best lists up to n candidates for which fit holds, the most similar first; those
// of unknown similarity come last, in random order.
func (v *View) Best(n int, fit func(learner.ID) bool) []Entry { return nil }

// Len is how many peers the view holds.
func (v *View) Len() int { return 0 }
