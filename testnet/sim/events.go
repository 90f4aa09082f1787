package sim

import (
	"container/heap"
	"time"
)

// event is something that is due.
type event struct {
	at    time.Duration
	order uint64
	do    func()
}

// events is a heap, the earliest first, ties by order of creation.
type events struct {
	list []event
	made uint64
}

// Len implements [sort.Interface].
func (e *events) Len() int { return len(e.list) }

// Less implements [sort.Interface].
func (e *events) Less(i, j int) bool {
	a, b := &e.list[i], &e.list[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

// Swap implements [sort.Interface].
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }

// Push implements [heap.Interface].
func (e *events) Push(x any) { e.list = append(e.list, x.(event)) }

// Pop implements [heap.Interface].
func (e *events) Pop() any {
	last := e.list[len(e.list)-1]
	e.list[len(e.list)-1] = event{}
	e.list = e.list[:len(e.list)-1]
	return last
}

func (e *events) add(at time.Duration, do func()) {
	e.made++
	heap.Push(e, event{at, e.made, do})
}

// next takes the first one out.
func (e *events) next() event { return heap.Pop(e).(event) }
