package sim

import (
	"time"

	"p2pnode/learner"
)

// event is a delivery, something of discovery, or with neither the end of a timer.
type event struct {
	at      time.Duration
	order   uint64
	to      int
	message *learner.Message // shared by all its receivers
	call    func() error
}

// events is a heap ordered by time, ties by order of creation.
type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }

func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].order < e[j].order
}

func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = event{}
	*e = (*e)[:len(*e)-1]
	return last
}
