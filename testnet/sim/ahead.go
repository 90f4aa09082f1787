package sim

import "unsafe"

// Agents that wake one after the other lie anywhere in memory, and most of a wake would
// be waiting for it. So while one is at work, what the next ones will touch is brought
// into the cache: where one thing says where the next lies, a wake earlier each.

// lineSize is that of the caches of all processors that are asked.
const lineSize = 64

// ahead prepares the wakes that come after the k-th of a window.
func (h *shard) ahead(k int) {
	if !h.s.pull {
		return
	}
	if k+3 < len(h.awake) {
		fetch(&h.s.actors[h.first+h.awake[k+3]], 1)
	}
	if k+2 < len(h.awake) {
		h.fetchTies(h.first + h.awake[k+2])
	}
	if k+1 < len(h.awake) {
		h.fetchVersions(h.first + h.awake[k+1])
	}
}

func (h *shard) fetchTies(i int32) {
	if ties := h.s.actors[i].ties; len(ties) > 0 {
		fetch(&ties[0], len(ties))
	}
}

// fetchVersions fetches the newest versions of an agent's neighbours that it does not hold.
func (h *shard) fetchVersions(i int32) {
	ties := h.s.actors[i].ties
	for k := range ties {
		t := &ties[k]
		if n := h.s.newest[t.peer]; n != t.held {
			slot := h.s.home(t.peer).pool.slot(n)
			fetch(&slot[0], len(slot))
		}
	}
}

// fetch fetches what lies from first on.
func fetch[T any](first *T, count int) {
	size := count * int(unsafe.Sizeof(*first))
	prefetch(unsafe.Pointer(first), (size+lineSize-1)/lineSize)
}
