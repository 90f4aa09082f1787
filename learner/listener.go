package learner

import "unsafe"

// Listener is an agent to which the models of its neighbours make no difference before
// it next wakes, and then only the newest of each. A driver may hand it those alone,
// by the place of the edge, which it need not look for. Agents of a learner with a clock
// ([Task.Clocked]) are Listeners.
type Listener interface {
	// Hear is [Agent.Receive] of what came over an edge, by its place among those that
	// [Agent.Neighbours] was given last: sorted by peer, each once, none to the agent
	// itself, with positive finite weights. From is not looked at. The message is not
	// kept, but for its model.
	Hear(edge int, m *Message) error
	// Ahead shows memory that the agent reads when it next wakes, so that a driver of many
	// can have the processor fetch it in time. It goes by stages from 0, since one thing
	// says where the next lies: each reads what the one before has shown. It changes nothing.
	Ahead(stage int, near func(at unsafe.Pointer, size uintptr))
}

// Stages is how many of them [Listener.Ahead] has.
const Stages = 4

// Hear implements [Listener].
func (p *personal) Hear(edge int, m *Message) error { return p.latest[edge].hear(m, len(p.model)) }

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
			for k := range p.training.cohorts[i].slots {
				show(near, p.training.cohorts[i].slots[k].x)
			}
		}
	}
}

// show shows what a slice has.
func show[T any](near func(at unsafe.Pointer, size uintptr), list []T) {
	if len(list) > 0 {
		near(unsafe.Pointer(&list[0]), uintptr(len(list))*unsafe.Sizeof(list[0]))
	}
}
