package sim

import (
	"math/bits"

	"p2pnode/learner"
)

// nothing is the letter that is none.
const nothing = -1

// letters are the messages that the agents of one shard sent and somebody may still
// look at, with the memory of their vectors. Those that nobody can look at any more
// are found by [simulation.collect]. Other shards read letters while this one takes
// new ones, so a letter never moves.
type letters struct {
	dimension int // of the vectors it gives out; 0: the agents bring their own
	first     int // size of the first chunk, each next one has twice as many
	chunks    [20]chunk
	size      int     // of all chunks
	free      []int32 // numbers of those that are
	kept      []bool  // by collect
	given     int32   // number of the vector given out, not stored yet
}

type chunk struct {
	letters []learner.Message
	vectors []float64
}

// at is the letter of a number.
func (l *letters) at(n int32) *learner.Message {
	c, k := l.find(n)
	return &c.letters[k]
}

func (l *letters) find(n int32) (c *chunk, k int) {
	i := bits.Len32(uint32(int(n)/l.first+1)) - 1
	return &l.chunks[i], int(n) - l.first*(1<<i-1)
}

// grow adds a chunk.
func (l *letters) grow() {
	i := bits.Len32(uint32(l.size/l.first+1)) - 1
	n := l.first << i
	l.chunks[i] = chunk{inLargePages(make([]learner.Message, n)), inLargePages(make([]float64, n*l.dimension))}
	for k := range n {
		l.free = append(l.free, int32(l.size+n-1-k)) // so that the first is taken first
	}
	l.size += n
}

// take returns the number of a free letter.
func (l *letters) take() int32 {
	if len(l.free) == 0 {
		l.grow()
	}
	last := len(l.free) - 1
	n := l.free[last]
	l.free = l.free[:last]
	return n
}

// vector gives out the memory of the next letter's vector.
func (l *letters) vector() []float64 {
	l.given = l.take()
	c, k := l.find(l.given)
	return c.vectors[k*l.dimension : (k+1)*l.dimension : (k+1)*l.dimension]
}

// store keeps a message and returns its number.
func (l *letters) store(m *learner.Message) int32 {
	n := l.given
	if n == nothing {
		n = l.take()
	}
	l.given = nothing
	*l.at(n) = *m
	return n
}

// short reports whether it is time to look for letters that nobody needs.
func (l *letters) short() bool { return len(l.free) < l.size/8 }

// sweep frees what was not kept, and grows if that is little.
func (l *letters) sweep() {
	l.free = l.free[:0]
	for n := l.size - 1; n >= 0; n-- {
		if !l.kept[n] {
			l.free = append(l.free, int32(n))
		}
	}
	if len(l.free) < l.size/4 {
		l.grow()
	}
}

// collect frees the letters that no agent holds, has said last, or has waiting. It
// runs between windows, when none is on its way between shards.
func (s *simulation) collect() error {
	short := false
	for i := range s.shards {
		short = short || s.shards[i].letters.short()
	}
	if !short {
		return nil
	}
	if err := s.rouse(); err != nil {
		return err
	}
	for i := range s.shards {
		l := &s.shards[i].letters
		if len(l.kept) < l.size {
			l.kept = make([]bool, l.size)
		}
		clear(l.kept)
	}
	keep := func(from, n int32) {
		if n >= 0 {
			s.home(from).letters.kept[n] = true
		}
	}
	for i := range s.actors {
		a := &s.actors[i]
		keep(int32(i), a.newest)
		for _, t := range a.ties {
			keep(t.peer, t.held)
		}
		for _, t := range a.lost {
			keep(t.peer, t.held)
		}
		for _, r := range a.inbox {
			keep(r.from, r.letter)
		}
	}
	for i := range s.shards {
		s.shards[i].letters.sweep()
	}
	return nil
}

// rouse lets those hear what has arrived who will not wake for long or ever, lest all
// that is sent to them be kept until then.
func (s *simulation) rouse() error {
	for i := range s.actors {
		if a := &s.actors[i]; (a.away || a.done) && len(a.inbox) > 0 {
			if err := s.home(int32(i)).hear(int32(i), s.until-1); err != nil {
				return err
			}
		}
	}
	return nil
}
