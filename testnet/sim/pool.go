package sim

import (
	"math/bits"
	"time"
	"unsafe"

	"p2pnode/learner"
)

// nothing is the version that is none.
const nothing = -1

// version is a model that an agent has released. With its predecessors, as far as
// somebody may still want them, it is the agent's outbox.
type version struct {
	at, before time.Duration // when it was released, and when that of the round before was
	round      uint64
	noiseStd   float64
	previous   int32
}

// versionWords is how many numbers of a slot a version takes.
const versionWords = (int(unsafe.Sizeof(version{})) + 7) / 8

// pool is the versions of a shard's agents, with their models. Those that nobody can
// look at any more are found by [simulation.collect]. Other shards read versions while
// this one makes new ones, so a version never moves.
type pool struct {
	dimension int
	stride    int       // numbers that a version takes with its model: whole lines of the cache
	reserved  []float64 // the first versions, poolRoom for two agents
	shift     uint      // of what comes to it the first chunk has 2^shift versions, each next one twice as many
	chunks    [24][]float64
	size      int     // of all chunks
	free      []int32 // numbers of those that are
	kept      []bool  // by collect
	given     int32   // number of the model given out, not released yet
}

// poolRoom is how many versions two agents have in a pool to begin with. A little more than
// eight are in use, if all wake equally often.
const poolRoom = 11

// reservePools makes the shards' pools, in one block of memory.
func (s *simulation) reservePools() {
	const line = 8
	dimension := s.Task.Dimension()
	stride := (versionWords + dimension + line - 1) / line * line
	block := inLargePages(make([]float64, poolRoom*len(s.actors)/2*stride))
	for i := range s.shards {
		h := &s.shards[i]
		agents := len(h.agenda.at)
		size := poolRoom * agents / 2
		h.pool = pool{dimension: dimension, stride: stride, reserved: block[:size*stride], shift: uint(bits.Len(uint(agents))), given: nothing}
		h.pool.add(size)
		h.workspace.Vector = h.pool.next
		block = block[size*stride:]
	}
}

// reserveAgents makes room for what the shards' agents own, likewise.
func (s *simulation) reserveAgents() {
	shares := make([]learner.Share, len(s.shards))
	for i := range s.shards {
		h := &s.shards[i]
		shares[i] = learner.Share{Workspace: &h.workspace, Agents: len(h.agenda.at)}
		for k := range h.agenda.at {
			who := int(h.first) + k
			shares[i].Edges += len(s.Participants[who].Edges)
			shares[i].Records += len(s.Participants[who].Records)
		}
	}
	learner.Reserve(shares, adviseLargePages)
}

// add counts so many versions more.
func (p *pool) add(n int) {
	for k := range n {
		p.free = append(p.free, int32(p.size+n-1-k)) // so that the first is taken first
	}
	p.size += n
}

// slot is the memory of a version, and of its model behind it.
func (p *pool) slot(n int32) []float64 {
	k := int(n) * p.stride
	if k < len(p.reserved) {
		return p.reserved[k : k+p.stride]
	}
	i, more := p.chunk(int(n) - len(p.reserved)/p.stride)
	k = more * p.stride
	return p.chunks[i][k : k+p.stride]
}

// chunk is where the n-th version beyond the reserved ones lies.
func (p *pool) chunk(n int) (i, k int) {
	i = bits.Len(uint(n)>>p.shift+1) - 1
	return i, n - (1<<i-1)<<p.shift
}

// at is the version of a number.
func (p *pool) at(n int32) *version { return (*version)(unsafe.Pointer(&p.slot(n)[0])) }

func (p *pool) model(n int32) []float64 {
	return p.slot(n)[versionWords : versionWords+p.dimension : versionWords+p.dimension]
}

// grow adds a chunk.
func (p *pool) grow() {
	i, _ := p.chunk(p.size - len(p.reserved)/p.stride)
	n := 1 << i << p.shift
	p.chunks[i] = inLargePages(make([]float64, n*p.stride))
	p.add(n)
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

// store keeps a version whose model was given out last, and returns its number.
func (p *pool) store(v version) int32 {
	n := p.given
	p.given = nothing
	*p.at(n) = v
	return n
}

// short reports whether it is time to look for versions that nobody needs.
func (p *pool) short() bool { return len(p.free) < p.size/32 }

// sweep frees what was not kept, and grows if that is little.
func (p *pool) sweep() {
	p.free = p.free[:0]
	for n := p.size - 1; n >= 0; n-- {
		if !p.kept[n] {
			p.free = append(p.free, int32(n))
		}
	}
	if len(p.free) < p.size/5 {
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

// keep keeps what one agent holds of its neighbours, what it has waiting, and its own newest
// with what may still come to a neighbour: edges hold at both ends.
func (s *simulation) keep(i int32) {
	a := &s.actors[i]
	keep := func(from, n int32) {
		if n != nothing {
			s.home(from).pool.kept[n] = true
		}
	}
	for _, r := range a.inbox {
		if !r.change() {
			keep(r.from, r.what)
		}
	}
	looked := learner.Never
	for k := range a.ties {
		t := &a.ties[k]
		keep(t.peer, t.held)
		looked = min(looked, s.looked[t.peer])
	}
	for e := range s.since(looked, i) {
		keep(i, e.version)
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
