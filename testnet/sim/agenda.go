package sim

import (
	"slices"
	"time"
)

// agenda is when each of a shard's agents is due next; [learner.Never] who is not due at
// all. A window looks at the earliest of each block of agents, and through the blocks with
// somebody who is due. If many are, that takes less time than keeping all in order; a window
// with few takes some two microseconds for 100,000 agents.
type agenda struct {
	at    []time.Duration // of each agent
	first []time.Duration // the earliest of each block
}

// blockSize is how many agents a block has.
const blockSize = 64

func newAgenda(n int, at time.Duration) agenda {
	return agenda{slices.Repeat([]time.Duration{at}, n), slices.Repeat([]time.Duration{at}, (n+blockSize-1)/blockSize)}
}

// due is when an agent is, counted within the shard.
func (g *agenda) due(who int32) time.Duration { return g.at[who] }

// next is when the first one is.
func (g *agenda) next() time.Duration { return slices.Min(g.first) }

// before appends those who are due before a time.
func (g *agenda) before(end time.Duration, who []int32) []int32 {
	for b, first := range g.first {
		if first >= end {
			continue
		}
		for k, at := range g.block(b) {
			if at < end {
				who = append(who, int32(b*blockSize+k))
			}
		}
	}
	return who
}

func (g *agenda) block(b int) []time.Duration {
	return g.at[b*blockSize : min((b+1)*blockSize, len(g.at))]
}

// set moves an agent to a new time.
func (g *agenda) set(who int32, at time.Duration) {
	b, was := int(who)/blockSize, g.at[who]
	g.at[who] = at
	switch {
	case at <= g.first[b]:
		g.first[b] = at
	case was == g.first[b]:
		g.first[b] = slices.Min(g.block(b))
	}
}
