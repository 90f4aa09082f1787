package sim

import (
	"math/bits"
	"time"
)

// nothing is the version that is none.
const nothing = -1

// version is a model that an agent has released. With its predecessors, as far as
// somebody may still want them, it is the agent's outbox.
type version struct {
	at, before time.Duration // when it was released, and when the previous one was
	round      uint64
	noiseStd   float64
	previous   int32
}

// pool is the versions of a shard's agents, with their models. Those that nobody can
// look at any more are found by [simulation.collect]. Other shards read versions while
// this one makes new ones, so a version never moves.
type pool struct {
	dimension int
	shift     uint // the first chunk has 2^shift versions, each next one twice as many
	chunks    [24]chunk
	size      int     // of all chunks
	free      []int32 // numbers of those that are
	kept      []bool  // by collect
	given     int32   // number of the model given out, not released yet
}

type chunk struct {
	versions []version
	models   []float64
}

// poolRoom is how many versions each agent has in a pool to begin with.
const poolRoom = 6

func newPool(agents, dimension int) pool {
	return pool{dimension: dimension, shift: uint(bits.Len(uint(poolRoom*agents - 1))), given: nothing}
}

func (p *pool) find(n int32) (c *chunk, k int) {
	i := bits.Len32(uint32(n)>>p.shift+1) - 1
	return &p.chunks[i], int(n) - (1<<i-1)<<p.shift
}

// at is the version of a number.
func (p *pool) at(n int32) *version {
	c, k := p.find(n)
	return &c.versions[k]
}

func (p *pool) model(n int32) []float64 {
	c, k := p.find(n)
	return c.models[k*p.dimension : (k+1)*p.dimension : (k+1)*p.dimension]
}

// grow adds a chunk.
func (p *pool) grow() {
	i := bits.Len32(uint32(p.size)>>p.shift+1) - 1
	n := 1 << i << p.shift
	p.chunks[i] = chunk{inLargePages(make([]version, n)), inLargePages(make([]float64, n*p.dimension))}
	for k := range n {
		p.free = append(p.free, int32(p.size+n-1-k)) // so that the first is taken first
	}
	p.size += n
}

// next gives out the memory of the next version's model.
func (p *pool) next() []float64 {
	if len(p.free) == 0 {
		p.grow()
	}
	last := len(p.free) - 1
	p.given, p.free = p.free[last], p.free[:last]
	return p.model(p.given)
}

// add keeps a version whose model was given out last, and returns its number.
func (p *pool) add(v version) int32 {
	n := p.given
	p.given = nothing
	*p.at(n) = v
	return n
}

// short reports whether it is time to look for versions that nobody needs.
func (p *pool) short() bool { return len(p.free) < p.size/8 }

// sweep frees what was not kept, and grows if that is little.
func (p *pool) sweep() {
	p.free = p.free[:0]
	for n := p.size - 1; n >= 0; n-- {
		if !p.kept[n] {
			p.free = append(p.free, int32(n))
		}
	}
	if len(p.free) < p.size/4 {
		p.grow()
	}
}

// collect frees the versions that no agent holds, may still take, or has waiting. It
// runs between windows, when all are published.
func (s *simulation) collect() error {
	short := false
	for i := range s.shards {
		short = short || s.shards[i].pool.short()
	}
	if !s.pull || !short {
		return nil
	}
	if err := s.rouse(); err != nil {
		return err
	}
	for i := range s.shards {
		p := &s.shards[i].pool
		if len(p.kept) < p.size {
			p.kept = make([]bool, p.size)
		}
		clear(p.kept)
	}
	for i := range s.actors {
		s.keep(int32(i))
	}
	for i := range s.shards {
		s.shards[i].pool.sweep()
	}
	return nil
}

// keep keeps what one agent needs: its newest, and of its neighbours' what it holds and
// what may still come.
func (s *simulation) keep(i int32) {
	a := &s.actors[i]
	keep := func(from, n int32) {
		if n != nothing {
			s.home(from).pool.kept[n] = true
		}
	}
	keep(i, a.said)
	for _, r := range a.inbox {
		if !r.change() {
			keep(r.from, r.what)
		}
	}
	for k := range a.ties {
		t := &a.ties[k]
		keep(t.peer, t.held)
		for n := range s.since(a.looked, t.peer) {
			keep(t.peer, n)
		}
	}
}

// rouse lets those hear what has arrived who will not wake for long or ever, lest all
// that is said to them be kept until then.
func (s *simulation) rouse() error {
	for i := range s.actors {
		if a := &s.actors[i]; a.away || a.done {
			if err := s.home(int32(i)).hear(int32(i), s.until-1); err != nil {
				return err
			}
		}
	}
	return nil
}
