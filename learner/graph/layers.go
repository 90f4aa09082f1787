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

// weigh is the similarity of the node and another; 0 if it is not known.
func (v *View) weigh(e End) (weight float64, known bool) {
	if !Known(v.rule, v.own, e) {
		return 0, false
	}
	return Weight(v.rule, v.own, e, 0), true
}

// heaviest orders by weight, the largest first.
func heaviest(a, b ranked) int { return cmp.Compare(b.weight, a.weight) }

// sound reports whether an entry can be of use at all.
func (v *View) sound(e Entry) bool {
	return e.Peer != "" && e.Peer != v.self && e.Age <= v.limits.MaxAge
}

// update lets e replace what was known of the same peer, unless it says less: an
// older round, or nothing where something was known.
func (old *Entry) update(e Entry) {
	age := min(old.Age, e.Age)
	if e.Round >= old.Round && (e.Vector != nil || old.Vector == nil) && (e.Round > old.Round || e.Age <= old.Age) {
		*old = e
	}
	old.Age = age
}

// near is the position of a peer among the nearest, or -1.
func (v *View) near(id learner.ID) int {
	for i := range v.nearest {
		if v.nearest[i].Peer == id {
			return i
		}
	}
	return -1
}

// rank puts an entry among the nearest if it belongs there, and reports whether
// it is there now.
func (v *View) rank(e Entry) bool {
	if i := v.near(e.Peer); i >= 0 {
		old := v.nearest[i].Entry
		v.nearest[i].update(e)
		if e = v.nearest[i].Entry; e.Round == old.Round && slices.Equal(e.Vector, old.Vector) && e.Std == old.Std {
			return true
		}
		v.nearest = slices.Delete(v.nearest, i, i+1)
	}
	weight, _ := v.weigh(e.End)
	if !(weight > 0) {
		return false
	}
	r := ranked{e, weight}
	at, _ := slices.BinarySearchFunc(v.nearest, r, func(a, b ranked) int {
		return cmp.Or(heaviest(a, b), -1) // behind its equals
	})
	if at == v.limits.Nearest {
		return false
	}
	v.nearest = slices.Insert(v.nearest, at, r)
	if last := len(v.nearest) - 1; last == v.limits.Nearest {
		out := v.nearest[last].Entry
		v.nearest = v.nearest[:last]
		v.spare(out)
	}
	return true
}

// spare keeps an entry that fell out of the nearest if the sample has room: in a
// small network everybody stays known.
func (v *View) spare(e Entry) {
	if len(v.sample) < v.limits.Random {
		v.place(e)
	}
}

// refresh updates an entry of the sample and reports whether it is there.
func (v *View) refresh(e Entry) bool {
	for i := range v.sample {
		if v.sample[i].Peer == e.Peer {
			v.sample[i].update(e)
			return true
		}
	}
	return false
}

// place refreshes or adds an entry of the sample, where there is room or in the
// place of one that was sent away, and reports whether it is there now.
func (v *View) place(e Entry) bool {
	if v.refresh(e) {
		return true
	}
	if len(v.sample) < v.limits.Random {
		v.sample = append(v.sample, sampled{Entry: e})
		return true
	}
	for i := range v.sample {
		if v.sample[i].sent {
			v.sample[i] = sampled{Entry: e}
			return true
		}
	}
	return false
}

// grow makes every entry older and forgets those that are too old.
func (v *View) grow() {
	for i := range v.sample {
		v.sample[i].Age++
	}
	for i := range v.nearest {
		v.nearest[i].Age++
	}
	v.sample = slices.DeleteFunc(v.sample, func(s sampled) bool { return s.Age > v.limits.MaxAge })
	v.nearest = slices.DeleteFunc(v.nearest, func(n ranked) bool { return n.Age > v.limits.MaxAge })
}

// oldest is the position of the largest of n > 0 ages, a random one of equals.
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

// offer is what to send a peer: random entries of the sample, which it then may
// replace, and of all others those that suit it best.
func (v *View) offer(to Entry) []Entry {
	out := make([]Entry, 0, max(0, v.limits.Exchange-1))
	spread := v.limits.spread(v.rule.Rule)
	for i := range v.sample {
		k := i + v.random.IntN(len(v.sample)-i) // the order in the sample means nothing
		v.sample[i], v.sample[k] = v.sample[k], v.sample[i]
		s := &v.sample[i]
		if s.sent = len(out) < spread && s.Peer != to.Peer; s.sent {
			out = append(out, s.Entry)
		}
	}
	v.suit(to, cap(out)-len(out))
	for i := range v.suited {
		out = append(out, v.suited[i].Entry)
	}
	return out
}

// suit collects the n entries that suit a peer best and are not being sent yet.
func (v *View) suit(to Entry, n int) {
	v.suited = v.suited[:0]
	if to.Vector == nil || v.rule.Rule == "random" {
		return
	}
	for i := range v.nearest {
		v.suitOne(to, v.nearest[i].Entry, n)
	}
	for i := range v.sample {
		if s := &v.sample[i]; !s.sent && v.near(s.Peer) < 0 {
			v.suitOne(to, s.Entry, n)
		}
	}
}

func (v *View) suitOne(to, e Entry, n int) {
	if e.Peer == to.Peer || e.Vector == nil {
		return
	}
	r := ranked{e, Weight(v.rule, to.End, e.End, 0)}
	if !(r.weight > 0) {
		return
	}
	at, _ := slices.BinarySearchFunc(v.suited, r, func(a, b ranked) int { return cmp.Or(heaviest(a, b), -1) })
	if at == n {
		return
	}
	v.suited = slices.Insert(v.suited, at, r)
	v.suited = v.suited[:min(len(v.suited), n)]
}
