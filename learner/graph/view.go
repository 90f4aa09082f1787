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

// LimitsFor are the limits for nodes that want so many neighbours. Measured with
// 6,000 nodes that want 10, a tenth of the messages lost: messages of 8 entries
// take 28 exchanges until 95 % of the true nearest are known, 10 take 24, and 16
// no fewer for half as many bytes again. Half as many nearest take a quarter
// more exchanges, twice as many an eighth less (2,000 nodes); the sample hardly
// matters. An entry of the sample is heard from again after about 60 exchanges at
// the latest, so that what is older than 80 has left.
func LimitsFor(degree int) Limits {
	return Limits{Random: max(20, 2*degree), Nearest: max(20, 3*degree), Exchange: 10, MaxAge: uint32(max(80, 8*degree))}
}

// spread is how many entries of a message are drawn at random and may enter the
// receiver's sample; they come first, the others suit the receiver.
func (l Limits) spread(rule string) int {
	if rule == "random" {
		return max(0, l.Exchange-1)
	}
	return max(0, l.Exchange-1) / 3
}

// View is the candidates a node knows, in bounded memory. Which peers it asks
// and what it tells them depends on public ends and on its random source only.
//
// It has two layers. The sample is random whatever the similarities are: an
// exchange swaps some of it for some of the partner's, so that no partner can
// replace more than it was sent. The nearest are the most similar of all that
// passed by. Nobody is in both. Under the rule "random" the second layer stays
// empty.
type View struct {
	self    learner.ID
	rule    learner.Graph // by which entries are compared
	limits  Limits
	random  *rand.Rand
	own     End
	sample  []sampled
	nearest []ranked // the most similar first

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
	asked  bool // for an exchange, since both ends were as they are
}

// NewView returns an empty view of the node called self. The source of
// randomness is the view's own from now on.
func NewView(self learner.ID, rule learner.Graph, l Limits, r *rand.Rand) *View {
	return &View{
		self: self, rule: rule, limits: l, random: r,
		sample: make([]sampled, 0, l.Random), nearest: make([]ranked, 0, l.Nearest+1),
	}
}

// SetOwn tells the view what is now publicly known of the node itself.
func (v *View) SetOwn(e End) {
	v.own = e
	all := make([]Entry, 0, v.Len())
	for _, n := range v.nearest {
		all = append(all, n.Entry)
	}
	for _, s := range v.sample {
		all = append(all, s.Entry)
	}
	v.nearest, v.sample = v.nearest[:0], v.sample[:0]
	for _, e := range all {
		v.keep(e, true)
	}
}

// Add takes entries learned otherwise than by an exchange: of mDNS, the DHT, the
// last run. Later entries of a peer replace earlier ones; a newer round is never
// replaced by an older one. In a full sample the oldest entry makes room, so that
// the halves of a network that was cut in two find each other again.
func (v *View) Add(entries ...Entry) {
	for _, e := range entries {
		if e.Peer == v.self || e.Age > v.limits.MaxAge || v.keep(e, true) || len(v.sample) == 0 {
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
// Two of three partners are of the nearest: the most similar one that has not been
// asked yet, which took half as many exchanges as a random or the oldest one to find
// the true nearest. Otherwise it is the oldest, which is so heard from again, or
// found dead, before it is too old.
func (v *View) Partner() (to Entry, offer []Entry, ok bool) {
	v.grow()
	switch {
	case len(v.nearest) > 0 && (len(v.sample) == 0 || v.random.IntN(3) > 0):
		i := v.confidant()
		v.nearest[i].asked = true
		to = v.nearest[i].Entry
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
	v.merge(from, offered)
	return reply
}

// Merge takes in what an exchange brought: the partner's own entry first. Entries
// beyond Limits.Exchange are ignored. It reports whether a peer is among the nearest
// now that was not before: then there may be more to find.
func (v *View) Merge(entries []Entry) (nearer bool) {
	if len(entries) == 0 {
		return false
	}
	before := make(map[learner.ID]bool, len(v.nearest))
	for _, n := range v.nearest {
		before[n.Peer] = true
	}
	v.merge(entries[0], entries[1:])
	return slices.ContainsFunc(v.nearest, func(n ranked) bool { return !before[n.Peer] })
}

// merge takes in a partner's own entry and its offer, which starts with what may
// enter the sample. What is heard second hand is one exchange older: so what is
// said of a node that left is older everywhere after each round of exchanges.
func (v *View) merge(from Entry, offered []Entry) {
	from.Age = 0
	if from.Peer != v.self {
		v.keep(from, true)
	}
	spread := v.limits.spread(v.rule.Rule)
	for i, e := range offered[:min(len(offered), max(0, v.limits.Exchange-1))] {
		if e.Peer != v.self && e.Age < v.limits.MaxAge {
			e.Age++
			v.keep(e, i < spread)
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
	if len(list) >= n {
		return entries(list[:n])
	}
	for _, s := range v.sample {
		if weight, possible := v.possible(s.End); possible && fit(s.Peer) {
			list = append(list, ranked{Entry: s.Entry, weight: weight})
		}
	}
	v.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, heaviest)
	return entries(list[:min(n, len(list))])
}

// Count is how many candidates there are for which fit holds.
func (v *View) Count(fit func(learner.ID) bool) (count int) {
	for _, r := range v.nearest {
		if fit(r.Peer) {
			count++
		}
	}
	for _, s := range v.sample {
		if _, possible := v.possible(s.End); possible && fit(s.Peer) {
			count++
		}
	}
	return count
}

// possible is the similarity of the node and another, and whether the two may belong
// together.
func (v *View) possible(e End) (weight float64, possible bool) {
	weight, known := v.weigh(e)
	return weight, weight > 0 || !known
}

func entries(list []ranked) []Entry {
	out := make([]Entry, len(list))
	for i := range list {
		out[i] = list[i].Entry
	}
	return out
}

// Len is how many peers the view holds.
func (v *View) Len() int { return len(v.nearest) + len(v.sample) }
