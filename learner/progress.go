package learner

import (
	"cmp"
	"slices"
	"time"
)

// progress is how far an agent's neighbours have come, by the newest round that each
// has sent. Nobody can know which of them lie, so only the ranks of their rounds count.
type progress struct {
	newest uint64 // the newest round of any live neighbour
	some   uint64 // more than maxFaulty live neighbours have come here, so one of them is honest
	most   uint64 // a quorum of the live neighbours has come here
	// jump is the round to go on with if that is not the next one; 0: there is none. It
	// is a round that more than maxFaulty of all neighbours, live or not, and at least two
	// have reached; or a round that a quorum of the live ones was heard to walk to; or,
	// after a while, a round that more than maxFaulty live ones have reached.
	jump uint64
}

// progress computes how far the neighbours have come. A quorum of the live neighbours can
// take an agent along round by round, so when the agent did not keep up, as the only
// neighbour of one that does not need it may happen to, it believes every round that it
// heard them begin.
func (r *rounds) progress(now time.Duration) progress {
	all := r.ranked(func(Edge) bool { return true })
	two := rank(all, max(2, maxFaulty(len(all))+1))
	live := r.ranked(func(e Edge) bool { return e.Live })
	p := progress{newest: rank(live, 1), some: rank(live, maxFaulty(len(live))+1), most: rank(live, quorum(len(live)))}
	if p.most > r.most {
		r.walked++
	}
	r.most = p.most
	if two > r.round {
		p.jump = two
	}
	trusted := r.round + 1 + r.trustedLead(now)
	if p.some > r.round && p.some <= trusted {
		p.jump = max(p.jump, p.some)
	}
	if p.most > r.round && p.most <= trusted+r.walked {
		p.jump = max(p.jump, p.most)
	}
	return p
}

// ranked returns the newest rounds of the selected neighbours, the highest first. The
// next call overwrites the result.
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

// rank returns the k-th of a sorted list, counted from 1, or 0 if the list is shorter.
func rank(sorted []uint64, k int) uint64 {
	if k < 1 || k > len(sorted) {
		return 0
	}
	return sorted[k-1]
}

// trustedLead is how many rounds beyond its next one an agent believes its neighbours
// without enough of them, and how many rounds ahead of them it goes on by itself: n^2
// after n deadlines of waiting. That grows faster than a network which goes on
// meanwhile, so an agent that was away always comes back; and a lie about 2^40 rounds
// would have to be told for a million deadlines.
func (r *rounds) trustedLead(now time.Duration) uint64 {
	n := min(r.deadlines(now), 1<<20)
	return n * n
}

// deadlines is the number of deadlines that have passed since the agent began the
// round, or began to listen.
func (r *rounds) deadlines(now time.Duration) uint64 {
	return uint64((now - r.since) / max(1, r.seconds()))
}

// lookAgain is the time of the next of these deadlines.
func (r *rounds) lookAgain(now time.Duration) time.Duration {
	return r.since + time.Duration(r.deadlines(now)+1)*max(1, r.seconds())
}

// wouldDiverge reports whether a next round would lead away from the others: the last one did
// not have enough of them, and they either had not come to the round before it or have
// gone on too far to be believed.
func (r *rounds) wouldDiverge(now time.Duration, p *progress) bool {
	return !r.grace.quorumHeard() && (r.round > p.most+1+r.trustedLead(now) || p.some > r.round+1)
}
