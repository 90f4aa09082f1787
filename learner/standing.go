package learner

import (
	"cmp"
	"slices"
	"time"
)

// standing is how far an agent's neighbours have come, by the newest round that each has
// said. Which of them lie cannot be known, so it is ranks of their rounds that count.
type standing struct {
	newest uint64 // any that listens
	some   uint64 // more than few of those that listen, so that one of them is honest
	most   uint64 // enough of those that listen for a round
	// jump is the round to go on in if that is not the next one; 0: there is none. It is
	// where more than few of all neighbours are, whether they listen or not, and two at
	// least; or, after a while, where some of those are that listen.
	jump uint64
}

// standing looks at the neighbours.
func (r *rounds) standing(now time.Duration) standing {
	all := r.ranked(func(Edge) bool { return true })
	two := rank(all, max(2, few(len(all))+1))
	live := r.ranked(func(e Edge) bool { return e.Live })
	p := standing{newest: rank(live, 1), some: rank(live, few(len(live))+1), most: rank(live, enough(len(live)))}
	if two > r.round {
		p.jump = two
	}
	if p.some > r.round && p.some <= r.round+1+r.reach(now) {
		p.jump = max(p.jump, p.some)
	}
	return p
}

// ranked returns the newest rounds of those neighbours, the highest first, in memory that
// the next call takes.
func (r *rounds) ranked(of func(Edge) bool) []uint64 {
	r.ranks = r.ranks[:0]
	for i := range r.hood.edges {
		if of(r.hood.edges[i]) {
			r.ranks = append(r.ranks, r.hood.latest[i].round)
		}
	}
	slices.SortFunc(r.ranks, func(a, b uint64) int { return cmp.Compare(b, a) })
	return r.ranks
}

// rank returns the k-th of a sorted list, counted from 1; 0 if it is shorter.
func rank(sorted []uint64, k int) uint64 {
	if k < 1 || k > len(sorted) {
		return 0
	}
	return sorted[k-1]
}

// reach is how many rounds more than the next one an agent believes its neighbours, or
// goes on from where they are, without enough of them: n^2 after n deadlines of waiting.
// That outruns a network that goes on meanwhile, so whoever was away comes back in the
// end; and a lie about 2^40 rounds would have to be told for a million deadlines.
func (r *rounds) reach(now time.Duration) uint64 {
	n := min(r.deadlines(now), 1<<20)
	return n * n
}

// deadlines counts those that have passed since it began the round, or to listen.
func (r *rounds) deadlines(now time.Duration) uint64 {
	return uint64((now - r.since) / max(1, r.seconds()))
}

// lookAgain is the next of these deadlines.
func (r *rounds) lookAgain(now time.Duration) time.Duration {
	return r.since + time.Duration(r.deadlines(now)+1)*max(1, r.seconds())
}

// astray reports whether a next round would lead away from the others: the last one was
// without enough of them, and they were not in the round before that, or have gone on too
// far to be believed.
func (r *rounds) astray(now time.Duration, p *standing) bool {
	return !r.patience.met() && (r.round > p.most+1+r.reach(now) || p.some > r.round+1)
}
