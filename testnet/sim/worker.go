package sim

import (
	"sync"
	"unsafe"
)

// worker lets shards go through a window, one after the other. It takes the next one
// before it has done with the last, so that it always knows who wakes next.
type worker struct {
	s    *simulation
	line []wake // of the shards that it has taken, in order
	come []int32

	atWork int     // on which of them
	plans  [2]plan // of the agent at work and of the next
	pieces []piece // of memory that those who wake next will touch
	asked  int     // how many of them the processor was asked to fetch
	near   func(at unsafe.Pointer, size uintptr)
}

// wake is an agent that is due in the window.
type wake struct {
	home *shard
	who  int32
}

// worker is the i-th, made when it is first needed.
func (s *simulation) worker(i int) *worker {
	for len(s.workers) <= i {
		w := &worker{s: s}
		w.near = w.show
		s.workers = append(s.workers, w)
	}
	return s.workers[i]
}

// work lets all agents that are due before the end of the window live until then.
func (s *simulation) work() {
	s.untaken.Store(0)
	workers := s.processors()
	if workers == 1 {
		s.worker(0).run()
		return
	}
	var all sync.WaitGroup
	for i := range workers {
		all.Go(s.worker(i).run)
	}
	all.Wait()
}

func (w *worker) run() {
	w.line = w.line[:0]
	for k := 0; ; k++ {
		next, there := w.waking(k)
		if !there {
			return
		}
		w.ahead(k)
		if next.home.err = next.home.live(next.who); next.home.err != nil {
			return
		}
	}
}

// waking is the k-th who wakes, for which it takes as many shards as it must.
func (w *worker) waking(k int) (who wake, there bool) {
	for k >= len(w.line) {
		h := w.s.takeShard()
		if h == nil {
			return wake{}, false
		}
		h.worker, h.events = w, 0
		w.come = h.agenda.before(w.s.until, w.come[:0])
		for _, who := range w.come {
			w.line = append(w.line, wake{h, h.first + who})
		}
	}
	return w.line[k], true
}

// plan is that of the agent at work.
func (w *worker) plan() *plan { return &w.plans[w.atWork%2] }
