package privacy

import "slices"

// Memory holds sums that last for one release, so that a learner with many releases
// needs no new memory for each. The zero value is ready to use; it is not safe for
// concurrent use.
//
// A sum that is being paid for must not turn into another, for example one with a
// larger clip. So every sum knows the life of its memory: after [Memory.Forget] all
// sums made before, and their copies, are dead, and adding to one or answering with it
// panics. So does making a sum in a copy of a used memory.
type Memory struct {
	itself *Memory // nil before the first sum
	life   uint64
	blocks []block
	used   int // number of blocks of living sums
}

// block is the memory of one sum; those of random batches take more of their own.
type block struct{ total, record []int64 }

const errDead = "privacy: the sum's memory was used for another since"

// Forget ends the life of all sums made in the memory.
func (m *Memory) Forget() {
	m.life++
	m.used = 0
}

// NewSum is [Mechanism.NewSum] in this memory. The sum lives until Forget.
func (m *Memory) NewSum(mechanism Mechanism, c Cohort, dim int) Sum {
	mechanism.clips()
	if m.itself == nil {
		m.itself = m
	}
	if m.itself != m {
		panic("privacy: a copy of a memory would write over the sums that live in the original")
	}
	if m.used == len(m.blocks) {
		m.blocks = append(m.blocks, block{})
	}
	b := &m.blocks[m.used]
	m.used++
	b.total = slices.Grow(b.total[:0], dim)[:dim]
	b.record = slices.Grow(b.record[:0], dim)[:dim]
	clear(b.total)
	return Sum{mechanism: mechanism, cohort: c, total: b.total, record: b.record, inside: mechanism.inside(dim), memory: m, life: m.life}
}

// alive reports whether the sum's memory is still its own.
func (s *Sum) alive() bool { return s.memory == nil || s.memory.life == s.life }
