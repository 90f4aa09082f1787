package lab

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// Delay says how a slow cable treats packets, the same in either direction.
type Delay struct {
	// Latency is the delay of every packet, and Jitter the most that is added to it,
	// evenly spread from 0.
	Latency, Jitter time.Duration
	// Reorder lets a packet with little jitter overtake others.
	Reorder bool
	// Duplicate is the share of packets, in [0, 1], that arrive twice, each with its
	// own delay.
	Duplicate float64
	// Rate is how many bytes a second go through the cable; 0: any number.
	Rate int
}

// longest is how many packets a line holds before it drops new ones, like a router with
// a full buffer.
const longest = 1000

// packet is a packet on its way through a line.
type packet struct {
	due    time.Time
	number uint64 // breaks ties
	data   []byte
}

// line is one direction of a slow cable, without a clock of its own.
type line struct {
	Delay
	draw   func(time.Duration) time.Duration // returns a number in [0, n)
	held   packets
	number uint64
	free   time.Time // when the cable has taken in all packets so far
	latest time.Time // the largest due time so far
}

func newLine(d Delay) *line { return &line{Delay: d, draw: rand.N[time.Duration]} }

// push takes in a packet, or drops it if the line is full.
func (l *line) push(now time.Time, data []byte) {
	if len(l.held) >= longest {
		return
	}
	if l.Rate > 0 {
		if l.free.Before(now) {
			l.free = now
		}
		l.free = l.free.Add(time.Duration(len(data)) * time.Second / time.Duration(l.Rate))
		now = l.free
	}
	l.hold(now, data)
	if l.Duplicate > 0 && float64(l.draw(time.Second)) < l.Duplicate*float64(time.Second) {
		l.hold(now, data)
	}
}

// hold sets when a packet is due.
func (l *line) hold(now time.Time, data []byte) {
	due := now.Add(l.Latency)
	if l.Jitter > 0 {
		due = due.Add(l.draw(l.Jitter))
	}
	if !l.Reorder && due.Before(l.latest) {
		due = l.latest
	}
	if due.After(l.latest) {
		l.latest = due
	}
	l.number++
	heap.Push(&l.held, packet{due, l.number, data})
}

// pop returns a packet that is due, or how long it is until one will be; ok is false if
// the line is empty.
func (l *line) pop(now time.Time) (data []byte, wait time.Duration, ok bool) {
	if len(l.held) == 0 {
		return nil, 0, false
	}
	if wait := l.held[0].due.Sub(now); wait > 0 {
		return nil, wait, true
	}
	return heap.Pop(&l.held).(packet).data, 0, true
}

// packets is a heap by due time.
type packets []packet

// Len implements [sort.Interface].
func (p packets) Len() int { return len(p) }

// Swap implements [sort.Interface].
func (p packets) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Less implements [sort.Interface]. It orders by due time, ties by number.
func (p packets) Less(i, j int) bool {
	if p[i].due.Equal(p[j].due) {
		return p[i].number < p[j].number
	}
	return p[i].due.Before(p[j].due)
}

// Push implements [heap.Interface].
func (p *packets) Push(x any) { *p = append(*p, x.(packet)) }

// Pop implements [heap.Interface].
func (p *packets) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}
