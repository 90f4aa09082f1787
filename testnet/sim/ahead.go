package sim

import (
	"unsafe"

	"p2pnode/learner"
)

// Agents that wake one after the other lie anywhere in memory, and most of a wake would
// be waiting for it. So while one is at work, what the next ones will touch is brought
// into the cache: where one thing says where the next lies, a wake earlier each. All at
// once would be more than a processor has on its way at a time, so it is asked for in pieces,
// one whenever the agent at work has done with a record or a neighbour. A piece whose page the
// processor does not know waits longer for its address than for the numbers, so the first
// line of each is asked for at once: the addresses are looked up side by side.

// piece is some lines of memory that will be touched.
type piece struct {
	at    unsafe.Pointer
	lines int
}

// lineSize is that of the caches of all processors that are asked, and mostLines how many
// lines a piece has at most.
const lineSize, mostLines = 64, 8

// outOfCache is how many agents are too many for a cache: with fewer, asking would cost
// more than waiting.
const outOfCache = 256

// ahead prepares the wakes that come after the k-th of a window.
func (h *shard) ahead(k int) {
	h.atWork = k
	if !h.s.fetch {
		return
	}
	for range h.pieces {
		h.between()
	}
	h.pieces, h.asked = h.pieces[:0], 0
	if i, there := h.waking(k + 1); there {
		h.planFor(i, &h.plans[(k+1)%2])
	}
	for stage := learner.Stages - 1; stage >= 0; stage-- { // the most urgent first
		if i, there := h.waking(k + learner.Stages - stage); there {
			h.s.actors[i].listener.Ahead(stage, h.near)
		}
	}
	if i, there := h.waking(k + 2); there {
		for _, t := range h.s.actors[i].ties {
			show(h, &h.s.outboxes[t.peer], 1)
		}
	}
	if i, there := h.waking(k + 3); there && len(h.s.actors[i].ties) > 0 {
		show(h, &h.s.actors[i].ties[0], len(h.s.actors[i].ties))
	}
	if i, there := h.waking(k + learner.Stages + 1); there {
		show(h, &h.s.actors[i], 1)
		show(h, &h.s.looked[i], 1)
	}
	for i := range h.pieces {
		prefetch(h.pieces[i].at, 1)
	}
}

// waking is who wakes k-th in the window.
func (h *shard) waking(k int) (i int32, there bool) {
	if k >= len(h.awake) {
		return 0, false
	}
	return h.first + h.awake[k], true
}

// planFor plans the next wake of an agent, and shows the versions that it will read, and
// where its own next one will be.
func (h *shard) planFor(i int32, p *plan) {
	a := &h.s.actors[i]
	p.make(h.s, i, h.s.looked[i], h.agenda.due(i-h.first))
	for k, next := 0, p.takes; k < len(a.ties); k++ {
		n := a.ties[k].held
		if len(next) > 0 && int(next[0].edge) == k {
			n, next = next[0].version, next[1:]
		}
		if n != nothing {
			h.showVersion(h.s.home(a.ties[k].peer), n)
		}
	}
	if last := len(h.pool.free) - 2; last >= 0 {
		h.showVersion(h, h.pool.free[last])
	}
}

// showVersion shows a version of a shard.
func (h *shard) showVersion(of *shard, n int32) {
	slot := of.pool.slot(n)
	show(h, &slot[0], len(slot))
}

// show shows what lies from first on.
func show[T any](h *shard, first *T, count int) {
	h.show(unsafe.Pointer(first), uintptr(count)*unsafe.Sizeof(*first))
}

// show notes memory that will be touched, in pieces.
func (h *shard) show(at unsafe.Pointer, size uintptr) {
	const most = mostLines * lineSize
	for ; size > most; size -= most {
		h.pieces = append(h.pieces, piece{at, mostLines})
		at = unsafe.Add(at, most)
	}
	h.pieces = append(h.pieces, piece{at, int(size+lineSize-1) / lineSize})
}

// between has the processor fetch the next piece.
func (h *shard) between() {
	if h.asked < len(h.pieces) {
		p := h.pieces[h.asked]
		h.asked++
		prefetch(p.at, p.lines)
	}
}
