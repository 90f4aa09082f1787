package graph

import (
	"cmp"
	"slices"

	"p2pnode/learner"
)

// Known reports whether the weight of two ends follows from what is known of
// both, not from chance.
func Known(g learner.Graph, a, b End) bool {
	return g.Rule != "random" && a.Vector != nil && b.Vector != nil
}

// weigh returns the similarity of the node and another, or 0 if it is not known.
func (v *View) weigh(e End) (weight float64, known bool) {
	if !Known(v.rule, v.own, e) {
		return 0, false
	}
	return Weight(v.rule, v.own, e), true
}

// heaviest orders by weight, the largest first.
func heaviest(a, b ranked) int { return cmp.Compare(b.weight, a.weight) }

// update lets e replace what was known of the same peer, unless it says less: an older
// round, or no vector where there was one. Only an entry with a vector is signed, so it
// replaces one without, however young that one claims to be.
func (old *Entry) update(e Entry) {
	age := min(old.Age, e.Age)
	more := e.Vector != nil && old.Vector == nil
	less := e.Vector == nil && old.Vector != nil || e.Round < old.Round
	if !less && (more || e.Round > old.Round || e.Age <= old.Age) {
		*old = e
	}
	old.Age = age
}

// keep puts an entry in its place: where its peer is already, among the nearest if it
// belongs there, or else in the sample, if sample allows it. It reports whether the
// peer is in the view now.
func (v *View) keep(e Entry, sample bool) bool {
	if i := slices.IndexFunc(v.nearest, func(n ranked) bool { return n.Peer == e.Peer }); i >= 0 {
		old := v.nearest[i]
		v.nearest[i].update(e)
		if e = v.nearest[i].Entry; sameEnd(old.End, e.End) {
			return true
		}
		v.nearest = slices.Delete(v.nearest, i, i+1)
		return v.rankSince(e, old.since) || v.place(e)
	}
	if i := slices.IndexFunc(v.sample, func(s sampled) bool { return s.Peer == e.Peer }); i >= 0 {
		v.sample[i].update(e)
		if v.rank(v.sample[i].Entry) {
			v.sample = slices.Delete(v.sample, i, i+1)
		}
		return true
	}
	return v.rank(e) || sample && v.place(e)
}

// sameEnd reports whether two ends give the same weights.
func sameEnd(a, b End) bool {
	return a.Round == b.Round && a.Std == b.Std && slices.Equal(a.Vector, b.Vector)
}

// rank puts an entry that is in neither layer among the nearest if it belongs there,
// and reports whether it does. The entry that falls out may take free room in the
// sample, so in a small network everybody stays known.
func (v *View) rank(e Entry) bool { return v.rankSince(e, v.turn) }

func (v *View) rankSince(e Entry, since uint32) bool {
	weight, _ := v.weigh(e.End)
	if !(weight > 0) {
		return false
	}
	r := ranked{Entry: e, weight: weight, since: since}
	at := position(v.nearest, weight)
	if at == v.limits.Nearest || len(v.nearest) == v.limits.Nearest && !v.yields() {
		return false
	}
	v.nearest = slices.Insert(v.nearest, at, r)
	if last := len(v.nearest) - 1; last == v.limits.Nearest {
		out := v.nearest[last].Entry
		v.nearest = v.nearest[:last]
		if len(v.sample) < v.limits.Random {
			v.place(out)
		}
	}
	return true
}

// yields reports whether the last of the nearest may fall out; see [samplers.change].
// Here the limit is half of the places, because many peers pass through them before the
// most similar are found.
func (v *View) yields() bool {
	if len(v.nearest) == 0 {
		return false
	}
	stood := v.turn - v.nearest[len(v.nearest)-1].since
	young := 0
	for i := range v.nearest {
		if v.turn-v.nearest[i].since < (stood+1)/2 {
			young++
		}
	}
	return young < max(1, v.limits.Nearest/2)
}

// position is where a weight belongs in a list ordered by weight, after its equals.
func position(list []ranked, weight float64) int {
	i := len(list)
	for i > 0 && list[i-1].weight < weight {
		i--
	}
	return i
}

// place adds an entry that is in neither layer to the sample, if there is room or the
// place of an entry that was sent away. It reports whether it could.
func (v *View) place(e Entry) bool {
	if len(v.sample) < v.limits.Random {
		v.sample = append(v.sample, sampled{Entry: e})
		return true
	}
	i := slices.IndexFunc(v.sample, func(s sampled) bool { return s.sent })
	if i < 0 {
		return false
	}
	v.sample[i] = sampled{Entry: e}
	return true
}

// grow makes every entry older and removes those that are too old.
func (v *View) grow() {
	for i := range v.sample {
		v.sample[i].Age++
	}
	for i := range v.nearest {
		v.nearest[i].Age++
	}
	v.certain.grow(v.limits.MaxAge)
	v.sample = slices.DeleteFunc(v.sample, func(s sampled) bool { return s.Age > v.limits.MaxAge })
	v.nearest = slices.DeleteFunc(v.nearest, func(n ranked) bool { return n.Age > v.limits.MaxAge })
}

// confidant is the position of the most similar of the nearest that has not been asked
// for an exchange yet, or else of the oldest.
func (v *View) confidant() int {
	if i := slices.IndexFunc(v.nearest, func(n ranked) bool { return !n.asked }); i >= 0 {
		return i
	}
	return v.oldest(len(v.nearest), func(i int) uint32 { return v.nearest[i].Age })
}

// oldest is the position of the largest of n > 0 ages, a random one among equals.
func (v *View) oldest(n int, age func(int) uint32) int {
	start := v.random.IntN(n)
	best := start
	for k := 1; k < n; k++ {
		if i := (start + k) % n; age(i) > age(best) {
			best = i
		}
	}
	return best
}

// offer returns what to send a peer: random entries of the sample, which the peer's
// answer may replace, some of the samplers, and the others that suit it best.
func (v *View) offer(to Entry) []Entry {
	out := make([]Entry, 0, max(0, v.limits.Exchange-1))
	spread := v.limits.spread(v.rule.Rule)
	held := v.held()
	v.random.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	for _, e := range held {
		if len(out) < (spread+1)/2 && e.Peer != to.Peer {
			out = append(out, e)
		}
	}
	held = out
	for i := range v.sample {
		k := i + v.random.IntN(len(v.sample)-i) // the order in the sample has no meaning
		v.sample[i], v.sample[k] = v.sample[k], v.sample[i]
		s := &v.sample[i]
		s.sent = len(out) < spread && s.Peer != to.Peer
		if s.sent && !slices.ContainsFunc(held, func(e Entry) bool { return e.Peer == s.Peer }) {
			out = append(out, s.Entry)
		}
	}
	v.suit(to, out, cap(out)-len(out))
	for i := range v.suited {
		out = append(out, v.suited[i].Entry)
	}
	return out
}

// suit collects the n entries that suit a peer best and are not being sent yet.
func (v *View) suit(to Entry, sent []Entry, n int) {
	v.suited = v.suited[:0]
	if to.Vector == nil || v.rule.Rule == "random" {
		return
	}
	for i := range v.nearest {
		v.suitOne(to, v.nearest[i].Entry, sent, n)
	}
	for e := range v.others() {
		v.suitOne(to, *e, sent, n)
	}
}

func (v *View) suitOne(to, e Entry, sent []Entry, n int) {
	if e.Peer == to.Peer || e.Vector == nil {
		return
	}
	r := ranked{Entry: e, weight: Weight(v.rule, to.End, e.End)}
	if !(r.weight > 0) || slices.ContainsFunc(sent, func(s Entry) bool { return s.Peer == e.Peer }) {
		return
	}
	at := position(v.suited, r.weight)
	if at == n {
		return
	}
	v.suited = slices.Insert(v.suited, at, r)
	v.suited = v.suited[:min(len(v.suited), n)]
}
