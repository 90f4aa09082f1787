package sim

import "time"

// agenda is a heap of a shard's agents by when each is due next. Everybody is always
// in it, at [learner.Never] who is not due at all.
type agenda struct {
	heap  []appointment
	place []int32 // of each agent in the heap
}

type appointment struct {
	at  time.Duration
	who int32 // counted within the shard
}

func (a appointment) before(b appointment) bool {
	return a.at < b.at || a.at == b.at && a.who < b.who
}

func newAgenda(n int, at time.Duration) agenda {
	g := agenda{make([]appointment, n), make([]int32, n)}
	for i := range n {
		g.heap[i], g.place[i] = appointment{at, int32(i)}, int32(i)
	}
	return g
}

// due is when an agent is.
func (g *agenda) due(who int32) time.Duration { return g.heap[g.place[who]].at }

// before appends those who are due before a time.
func (g *agenda) before(end time.Duration, who []int32) []int32 {
	return g.below(0, end, who)
}

// below is before for the part of the heap under k.
func (g *agenda) below(k int, end time.Duration, who []int32) []int32 {
	if k >= len(g.heap) || g.heap[k].at >= end {
		return who
	}
	who = append(who, g.heap[k].who)
	return g.below(2*k+2, end, g.below(2*k+1, end, who))
}

// set moves an agent to a new time.
func (g *agenda) set(who int32, at time.Duration) {
	k := g.place[who]
	e := appointment{at, who}
	for k > 0 {
		up := (k - 1) / 2
		if !e.before(g.heap[up]) {
			break
		}
		g.put(k, g.heap[up])
		k = up
	}
	for {
		down := 2*k + 1
		if down >= int32(len(g.heap)) {
			break
		}
		if down+1 < int32(len(g.heap)) && g.heap[down+1].before(g.heap[down]) {
			down++
		}
		if !g.heap[down].before(e) {
			break
		}
		g.put(k, g.heap[down])
		k = down
	}
	g.put(k, e)
}

func (g *agenda) put(k int32, e appointment) {
	g.heap[k], g.place[e.who] = e, k
}
