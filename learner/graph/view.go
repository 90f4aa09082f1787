package graph

import (
	"math/rand/v2"
	"slices"

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

// LimitsFor are the limits for nodes that want so many neighbours.
func LimitsFor(degree int) Limits {
	return Limits{Random: max(20, 2*degree), Nearest: max(20, 3*degree), Exchange: 16, MaxAge: uint32(max(80, 8*degree))}
}

// spread is how many entries of a message are drawn at random and may enter the
// receiver's sample; they come first, the others suit the receiver.
func (l Limits) spread(rule string) int {
	if rule == "random" {
		return max(0, l.Exchange-1)
	}
	return max(0, l.Exchange-1) / 2
}

// View is the candidates a node knows, in bounded memory. Which peers it asks
// and what it tells them depends on public ends and on its random source only.
//
// It has two layers. The sample is random whatever the similarities are: an
// exchange swaps some of it for some of the partner's, so that no partner can
// replace more than it was sent. The nearest are the most similar of all that
// passed by. Under the rule "random" the second layer stays empty.
type View struct {
	self    learner.ID
	rule    learner.Graph // by which entries are compared
	limits  Limits
	random  *rand.Rand
	own     End
	sample  []sampled
	nearest []ranked // the most similar first
	deep    bool     // the next partner is one of the nearest

	suited []ranked // reused by offer
}

// sampled is a place in the sample.
type sampled struct {
	Entry
	sent bool // in the exchange under way: its place is free for what comes back
}

// ranked is an entry with its weight for some node.
type ranked struct {
	Entry
	weight float64
}

// NewView returns an empty view of the node called self. The source of
// randomness is the view's own from now on.
func NewView(self learner.ID, rule learner.Graph, l Limits, r *rand.Rand) *View {
	if rule.Rule == "learned" {
		rule.Rule = "released" // sparse weights compare nobody who is no neighbour yet
	}
	return &View{self: self, rule: rule, limits: l, random: r}
}

// SetOwn tells the view what is now publicly known of the node itself.
func (v *View) SetOwn(e End) {
	v.own = e
	old := v.nearest
	v.nearest = make([]ranked, 0, cap(old))
	for i := range v.sample {
		v.rank(v.sample[i].Entry)
	}
	for i := range old {
		if !v.rank(old[i].Entry) {
			v.spare(old[i].Entry)
		}
	}
}

// Add takes entries learned otherwise than by an exchange: of mDNS, the DHT, the
// last run. Later entries of a peer replace earlier ones; a newer round is never
// replaced by an older one. In a full sample the oldest entry makes room, so that
// the halves of a network that was cut in two find each other again.
func (v *View) Add(entries ...Entry) {
	for _, e := range entries {
		if !v.sound(e) || v.rank(e) || v.place(e) || len(v.sample) == 0 {
			continue
		}
		v.sample[v.oldest(len(v.sample), func(i int) uint32 { return v.sample[i].Age })].Entry = e
	}
}

// Remove forgets a peer that could not be reached.
func (v *View) Remove(id learner.ID) {
	v.sample = slices.DeleteFunc(v.sample, func(s sampled) bool { return s.Peer == id })
	v.nearest = slices.DeleteFunc(v.nearest, func(n ranked) bool { return n.Peer == id })
}

// Partner is whom to exchange with next, and what to send it: some random
// entries, then those that suit that peer best. The driver adds the node's own. ok
// is false when nobody is known. Ages go up by one at each call.
//
// The oldest entry of the sample and of the nearest are asked in turn: so each is
// heard from again, or found dead, before it is too old.
func (v *View) Partner() (to Entry, offer []Entry, ok bool) {
	v.grow()
	v.deep = !v.deep
	switch {
	case len(v.nearest) > 0 && (v.deep || len(v.sample) == 0):
		to = v.nearest[v.oldest(len(v.nearest), func(i int) uint32 { return v.nearest[i].Age })].Entry
	case len(v.sample) > 0:
		to = v.sample[v.oldest(len(v.sample), func(i int) uint32 { return v.sample[i].Age })].Entry
	default:
		return Entry{}, nil, false
	}
	return to, v.offer(to), true
}

// Answer is the other end's side of an exchange: what to send back to a peer that
// offered its own entry and others, which are taken in. The driver adds the
// node's own entry in front.
func (v *View) Answer(from Entry, offered []Entry) []Entry {
	if from.Peer == v.self {
		return nil
	}
	reply := v.offer(from)
	v.Merge(append([]Entry{from}, offered[:min(len(offered), max(0, v.limits.Exchange-1))]...))
	return reply
}

// Merge takes in what an exchange brought: the partner's own entry first. Entries
// beyond Limits.Exchange are ignored.
func (v *View) Merge(entries []Entry) {
	spread := 1 + v.limits.spread(v.rule.Rule)
	for i, e := range entries[:min(len(entries), v.limits.Exchange)] {
		if v.sound(e) && !v.rank(e) && !v.refresh(e) && i < spread {
			v.place(e)
		}
	}
	for i := range v.sample {
		v.sample[i].sent = false
	}
}

// Best lists up to n candidates for which fit holds, the most similar first; those
// of unknown similarity come last, in random order. Those that are known not to
// belong with the node are left out.
func (v *View) Best(n int, fit func(learner.ID) bool) []Entry {
	list := make([]ranked, 0, len(v.nearest)+len(v.sample))
	for _, r := range v.nearest {
		if fit(r.Peer) {
			list = append(list, r)
		}
	}
	for _, s := range v.sample {
		weight, known := v.weigh(s.End)
		if (weight > 0 || !known) && v.near(s.Peer) < 0 && fit(s.Peer) {
			list = append(list, ranked{s.Entry, weight})
		}
	}
	v.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, heaviest)
	out := make([]Entry, min(n, len(list)))
	for i := range out {
		out[i] = list[i].Entry
	}
	return out
}

// Len is how many peers the view holds.
func (v *View) Len() int {
	n := len(v.nearest)
	for i := range v.sample {
		if v.near(v.sample[i].Peer) < 0 {
			n++
		}
	}
	return n
}
