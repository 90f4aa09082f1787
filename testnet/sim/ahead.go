package sim

import (
	"unsafe"

	"p2pnode/learner"
)

// Agents that wake one after the other lie anywhere in memory, and most of a wake would
// be waiting for it. So while one is at work, what the next ones will touch is brought
// into the cache: where one thing says where the next lies, a wake earlier each. All at
// once would be more than a processor has on its way at a time, so a batch of lines is asked
// for whenever the agent at work has done with a record or a neighbour. A piece whose page the
// processor does not know waits longer for its address than for the numbers, so the first
// line of each is asked for at once: the addresses are looked up side by side.

// piece is memory that will be touched, some lines of it.
type piece struct {
	at    unsafe.Pointer
	lines int
}

// lineSize is that of the caches of all processors that are asked, and batch how many lines
// are asked for at a time.
const lineSize, batch = 64, 24

// outOfCache is how many agents are too many for a cache: with fewer, asking would cost
// more than waiting.
const outOfCache = 256

// ahead prepares the wakes that come after the k-th. The order is the fastest of those that
// were measured.
func (w *worker) ahead(k int) {
	w.atWork = k
	if !w.s.fetch {
		return
	}
	for w.asked < len(w.pieces) {
		w.between()
	}
	w.pieces, w.asked = w.pieces[:0], 0
	for stage := learner.Stages - 1; stage >= 0; stage-- {
		if next, there := w.waking(k + learner.Stages - stage); there && (stage == 0 || w.learns(next)) {
			w.s.actors[next.who].listener.Ahead(stage, w.near)
		}
	}
	if next, there := w.waking(k + 1); there && w.learns(next) {
		w.planFor(next, w.line[k].home == next.home, &w.plans[(k+1)%2])
	}
	if next, there := w.waking(k + 2); there && w.learns(next) {
		a := &w.s.actors[next.who]
		for _, t := range a.ties {
			show(w, &w.s.outboxes[t.peer], 1)
		}
		if a.door.account != nil {
			show(w, a.door.account, 1)
			if a.door.noise != nil {
				show(w, a.door.noise, 1)
			}
		}
	}
	if next, there := w.waking(k + 3); there && len(w.s.actors[next.who].ties) > 0 {
		ties := w.s.actors[next.who].ties
		show(w, &ties[0], len(ties))
	}
	if next, there := w.waking(k + learner.Stages + 1); there {
		show(w, &w.s.actors[next.who], 1)
		show(w, &w.s.looked[next.who], 1)
	}
	prefetchFirst(w.pieces)
}

// learns reports whether one who is due wakes: others only see a neighbour leave or come.
func (w *worker) learns(next wake) bool {
	a := &w.s.actors[next.who]
	return a.armed && a.next < w.s.until && !a.away
}

// planFor plans the next wake, and shows the versions that its agent will read, and
// where its own next one will be: after that of the agent at work, if they have a home in
// common.
func (w *worker) planFor(next wake, common bool, p *plan) {
	h, a := next.home, &w.s.actors[next.who]
	p.make(w.s, next.who, w.s.looked[next.who], h.agenda.due(next.who-h.first))
	for k, takes := 0, p.takes; k < len(a.ties); k++ {
		n := a.ties[k].held
		if len(takes) > 0 && int(takes[0].edge) == k {
			n, takes = takes[0].version, takes[1:]
		}
		if n != nothing {
			w.showVersion(w.s.home(a.ties[k].peer), n)
		}
	}
	last := len(h.pool.free) - 1
	if common {
		last--
	}
	if last >= 0 {
		w.showVersion(h, h.pool.free[last])
	}
}

// showVersion shows a version of a shard.
func (w *worker) showVersion(of *shard, n int32) {
	slot := of.pool.slot(n)
	show(w, &slot[0], len(slot))
}

// show shows what lies from first on.
func show[T any](w *worker, first *T, count int) {
	w.show(unsafe.Pointer(first), uintptr(count)*unsafe.Sizeof(*first))
}

// show notes memory that will be touched.
func (w *worker) show(at unsafe.Pointer, size uintptr) {
	w.pieces = append(w.pieces, piece{at, int(size+lineSize-1) / lineSize})
}

// between has the processor fetch the next lines.
func (w *worker) between() {
	for left := batch; left > 0 && w.asked < len(w.pieces); {
		p := &w.pieces[w.asked]
		n := min(left, p.lines-1) // the first was asked for
		if n > 0 {
			prefetch(unsafe.Add(p.at, lineSize), n)
		}
		p.at, p.lines, left = unsafe.Add(p.at, n*lineSize), p.lines-n, left-n
		if p.lines == 1 {
			w.asked++
		}
	}
}
