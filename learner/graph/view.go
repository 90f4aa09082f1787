package graph

import (
	"iter"
	"math/rand/v2"
	"slices"

	"p2pnode/learner"
)

// Entry is a peer as gossip describes it: first or second hand.
type Entry struct {
	Peer learner.ID
	End
	// Age counts the exchanges since the peer itself said this. Entries that are too
	// old are removed, so that those of nodes that left disappear.
	Age uint32
	// Net names the part of the network in which the peer is, or says it is: an opaque
	// name from the driver. "" is the local network and every address without a name.
	Net string
	// Passport is what the driver needs to reach and trust the peer: its addresses and
	// signature. It is opaque here and immutable, and nil in a simulation.
	Passport []byte
}

// Limits bound a view and its messages.
type Limits struct {
	Random   int // peers in the random sample, and places of the sample that no crowd can take
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
// receiver's sample. They come first; the others suit the receiver.
func (l Limits) spread(rule string) int {
	if rule == "random" {
		return max(0, l.Exchange-1)
	}
	return max(0, l.Exchange-1) / 3
}

// View holds the candidates a node knows, in bounded memory. Which peers it asks and
// what it tells them depends only on public ends and on its random source.
//
// It has three layers. The sample is random whatever the similarities are. An exchange
// swaps some of its entries for some of the partner's, so no partner can replace more
// than it was sent; for each exchange that the node begins, one that others begin may
// do so too. The nearest are the most similar of all peers heard of. No peer is in
// both. Under the rule "random" the second layer stays empty. Both layers follow what
// peers say, and a crowd of liars can fill them, but not the third layer, the
// [samplers]. So half of the partners that are not of the nearest come from the
// samplers, and so do the first of the candidates of unknown similarity. A peer of the
// samplers may be in another layer too.
type View struct {
	self    learner.ID
	rule    learner.Graph // the rule by which entries are compared
	limits  Limits
	random  *rand.Rand
	own     End
	sample  []sampled
	nearest []ranked // the most similar first
	certain samplers
	turn    uint32 // number of exchanges begun
	swap    bool   // the next exchange that another node begins may change the sample

	suited []ranked // working memory of offer
}

// sampled is a place in the sample.
type sampled struct {
	Entry
	sent bool // sent in the exchange under way: its place is free for an entry that comes back
}

// ranked is an entry with its weight for some node.
type ranked struct {
	Entry
	weight float64
	asked  bool   // asked for an exchange since both ends last changed
	since  uint32 // the turn since which it is among the nearest
}

// NewView returns an empty view of the node called self. The view owns the random
// source r from now on.
func NewView(self learner.ID, rule learner.Graph, l Limits, r *rand.Rand) *View {
	v := &View{
		self: self, rule: rule, limits: l, random: r,
		sample: make([]sampled, 0, l.Random), nearest: make([]ranked, 0, l.Nearest+1),
		certain: make(samplers, l.Random),
	}
	for i := range v.certain {
		v.certain[i].net, v.certain[i].peer = r.Uint64(), r.Uint64()
	}
	return v
}

// SetOwn tells the view what is now public about the node itself.
func (v *View) SetOwn(e End) {
	v.own = e
	nearest, sample := slices.Clone(v.nearest), slices.Clone(v.sample)
	v.nearest, v.sample = v.nearest[:0], v.sample[:0]
	for _, n := range nearest {
		if !v.rankSince(n.Entry, n.since) {
			v.place(n.Entry)
		}
	}
	for _, s := range sample {
		v.keep(s.Entry, true)
	}
}

// Add takes entries learned in another way than by an exchange: by mDNS, from the DHT,
// from the last run. Later entries of a peer replace earlier ones, but a newer round is
// never replaced by an older one. In a full sample the oldest entry makes room, so that
// the halves of a network that was cut in two find each other again.
func (v *View) Add(entries ...Entry) {
	for _, e := range entries {
		if !v.Hear(e) && e.Peer != v.self && e.Age <= v.limits.MaxAge && len(v.sample) > 0 {
			v.sample[v.oldest(len(v.sample), func(i int) uint32 { return v.sample[i].Age })].Entry = e
		}
	}
}

// Hear takes in what a peer says about itself when it asks or answers. It is like Add,
// but no entry has to make room in the sample, or a peer that asks often would fill it.
// It reports whether the peer is in the view now.
func (v *View) Hear(e Entry) bool {
	if e.Peer == v.self || e.Age > v.limits.MaxAge {
		return false
	}
	v.certain.hear(e, v.turn)
	return v.keep(e, true)
}

// Remove removes a peer that could not be reached.
func (v *View) Remove(id learner.ID) {
	v.sample = slices.DeleteFunc(v.sample, func(s sampled) bool { return s.Peer == id })
	v.nearest = slices.DeleteFunc(v.nearest, func(n ranked) bool { return n.Peer == id })
	v.certain.remove(id)
}

// Partner returns the peer to exchange with next, and what to send it: some random
// entries, then those that suit that peer best. The driver adds the node's own entry.
// ok is false if no peer is known. Each call makes all entries one exchange older.
//
// Two of three partners are from the nearest: the most similar one that has not been
// asked yet. With this, finding the true nearest took half as many exchanges as with a
// random or the oldest one. The third is the oldest entry, so that it is heard from
// again, or found dead, before it is too old.
func (v *View) Partner() (to Entry, offer []Entry, ok bool) {
	v.begin()
	certain := v.held()
	switch {
	case len(v.nearest) > 0 && (len(v.sample)+len(certain) == 0 || v.random.IntN(3) > 0):
		i := v.confidant()
		v.nearest[i].asked = true
		to = v.nearest[i].Entry
	case len(certain) > 0 && (len(v.sample) == 0 || v.random.IntN(2) > 0):
		to = certain[v.oldest(len(certain), func(i int) uint32 { return certain[i].Age })]
	case len(v.sample) > 0:
		to = v.sample[v.oldest(len(v.sample), func(i int) uint32 { return v.sample[i].Age })].Entry
	default:
		return Entry{}, nil, false
	}
	return to, v.offer(to), true
}

// Offer is [View.Partner] for a partner that the caller has chosen.
func (v *View) Offer(to Entry) []Entry {
	v.begin()
	return v.offer(to)
}

// begin counts an exchange that the node begins.
func (v *View) begin() {
	v.turn++
	v.swap = true
	v.grow()
}

// Answer is the other end's side of an exchange: it takes in the own entry and the
// offer of the peer that asked, and returns what to send back. The driver adds the
// node's own entry in front.
func (v *View) Answer(from Entry, offered []Entry) []Entry {
	if from.Peer == v.self {
		return nil
	}
	reply := v.offer(from)
	v.merge(from, offered, v.swap)
	v.swap = v.swap && len(offered) == 0
	return reply
}

// Merge takes in the result of an exchange, with the partner's own entry first. It
// ignores entries beyond Limits.Exchange. It reports whether a peer is now among the
// nearest that was not before: then there may be more to find.
func (v *View) Merge(entries []Entry) (nearer bool) {
	if len(entries) == 0 {
		return false
	}
	before := make(map[learner.ID]bool, len(v.nearest))
	for _, n := range v.nearest {
		before[n.Peer] = true
	}
	v.merge(entries[0], entries[1:], true)
	return slices.ContainsFunc(v.nearest, func(n ranked) bool { return !before[n.Peer] })
}

// merge takes in a partner's own entry and its offer, which starts with the entries
// that may enter the sample, if swap allows it. Entries heard second hand become one
// exchange older, so the entries of a node that left grow older everywhere with each
// round of exchanges.
func (v *View) merge(from Entry, offered []Entry, swap bool) {
	from.Age = 0
	if from.Peer != v.self {
		v.certain.relocate(from)
		v.certain.hear(from, v.turn)
		v.keep(from, swap)
	}
	spread := v.limits.spread(v.rule.Rule)
	for i, e := range offered[:min(len(offered), max(0, v.limits.Exchange-1))] {
		if e.Peer != v.self && e.Age < v.limits.MaxAge {
			e.Age++
			v.certain.hear(e, v.turn)
			v.keep(e, swap && i < spread)
		}
	}
	for i := range v.sample {
		v.sample[i].sent = false
	}
}

// held returns the peers of the samplers, each once.
func (v *View) held() []Entry {
	out := make([]Entry, 0, len(v.certain))
	for i := range v.certain {
		if p := &v.certain[i]; p.held && !slices.ContainsFunc(out, func(e Entry) bool { return e.Peer == p.Peer }) {
			out = append(out, p.Entry)
		}
	}
	return out
}

// others yields the peers that are not among the nearest, each once: the samplers'
// first, then those of the sample. It allocates nothing, as it is often only counted.
func (v *View) others() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range v.certain {
			p := &v.certain[i]
			if p.held && v.certain[:i].first(p.Peer) != 0 && !v.near(p.Peer) && !yield(&p.Entry) {
				return
			}
		}
		for i := range v.sample {
			e := &v.sample[i].Entry
			if (v.certain.first(e.Peer) != 0 || v.near(e.Peer)) && !yield(e) {
				return
			}
		}
	}
}

// near reports whether a peer is among the nearest.
func (v *View) near(id learner.ID) bool {
	for i := range v.nearest {
		if v.nearest[i].Peer == id {
			return true
		}
	}
	return false
}

// Best lists up to n candidates for which fit holds, the most similar first. Those of
// unknown similarity come last, those of the samplers before the others, each group in
// random order. Those that are known not to belong with the node are left out.
func (v *View) Best(n int, fit func(learner.ID) bool) []Entry {
	list := make([]ranked, 0, len(v.nearest)+2*v.limits.Random)
	for _, r := range v.nearest {
		if fit(r.Peer) {
			list = append(list, r)
		}
	}
	if len(list) >= n {
		return entries(list[:n])
	}
	v.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	others := slices.Collect(v.others())
	v.random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	slices.SortStableFunc(others, func(a, b *Entry) int { return v.certain.first(a.Peer) - v.certain.first(b.Peer) })
	for _, e := range others {
		if weight, possible := v.possible(e.End); possible && fit(e.Peer) {
			list = append(list, ranked{Entry: *e, weight: weight})
		}
	}
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
	for e := range v.others() {
		if _, possible := v.possible(e.End); possible && fit(e.Peer) {
			count++
		}
	}
	return count
}

// possible returns the similarity of the node and another, and whether the two may
// belong together.
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
func (v *View) Len() int {
	count := len(v.nearest)
	for range v.others() {
		count++
	}
	return count
}

// Peers lists the peers that the view holds, each once.
func (v *View) Peers() []learner.ID {
	out := make([]learner.ID, 0, v.Len())
	for _, n := range v.nearest {
		out = append(out, n.Peer)
	}
	for e := range v.others() {
		out = append(out, e.Peer)
	}
	return out
}
