package learner

import (
	"slices"
	"time"
	"unsafe"
)

// Listener is an agent whose behaviour before its next wake does not depend on its
// neighbours' models, and afterwards only on the newest of each. A driver may pass it
// only those, by the number of the edge, so that the agent need not search for it.
// Agents of a learner with a clock ([Task.Clocked]) are Listeners.
type Listener interface {
	// Hear is [Agent.Receive] for a message over an edge, given by its number among the
	// edges of the last [Agent.Neighbours] call: sorted by peer, each peer once, none
	// the agent itself, with positive finite weights. From is not read. The message is one
	// that an agent of the same task has sent: unlike Receive, Hear does not check its form.
	// The agent keeps the message's model and nothing else of it.
	Hear(edge int, m *Message) error
	// Listens is [Agent.Neighbours] for the same edges, but that one, given by its number
	// likewise, is live or not.
	Listens(now time.Duration, edge int, live bool) Output
	// Ahead names the memory that the agent will read when it next wakes, so that a
	// driver of many agents can have the processor fetch it in time. It has stages,
	// from 0, because one object holds the address of the next: each stage reads what
	// the one before has named. It changes nothing.
	Ahead(stage int, near func(at unsafe.Pointer, size uintptr))
}

// Stages is the number of stages of [Listener.Ahead].
const Stages = 4

// Hear implements [Listener].
func (p *personal) Hear(edge int, m *Message) error { return p.latest[edge].take(m) }

// Listens implements [Listener].
func (p *personal) Listens(now time.Duration, edge int, live bool) Output {
	if e := &p.edges[edge]; e.Live != live {
		e.Live = live
		p.listening = slices.ContainsFunc(p.edges, func(e Edge) bool { return e.Live })
	}
	return p.output(now)
}

// Ahead implements [Listener].
func (p *personal) Ahead(stage int, near func(at unsafe.Pointer, size uintptr)) {
	switch stage {
	case 0:
		near(unsafe.Pointer(p), unsafe.Sizeof(*p))
	case 1:
		show(near, p.latest)
		show(near, p.training.cohorts)
		show(near, p.model)
	case 2:
		for i := range p.training.cohorts {
			show(near, p.training.cohorts[i].slots)
		}
	case 3:
		for i := range p.training.cohorts {
			showRows(near, p.training.cohorts[i].slots)
		}
	}
}

// show calls near with the memory of a slice's elements.
func show[T any](near func(at unsafe.Pointer, size uintptr), list []T) {
	if len(list) > 0 {
		near(unsafe.Pointer(&list[0]), uintptr(len(list))*unsafe.Sizeof(list[0]))
	}
}

// showRows calls near with the memory of the slots' features: once for those that lie one
// behind the other.
func showRows(near func(at unsafe.Pointer, size uintptr), slots []slot) {
	var at unsafe.Pointer
	var size uintptr
	for k := range slots {
		x := slots[k].x
		if len(x) == 0 {
			continue
		}
		own := unsafe.Pointer(&x[0])
		if uintptr(own) != uintptr(at)+size {
			if size > 0 {
				near(at, size)
			}
			at, size = own, 0
		}
		size += uintptr(len(x)) * unsafe.Sizeof(x[0])
	}
	if size > 0 {
		near(at, size)
	}
}
