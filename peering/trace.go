package peering

import "time"

// Event is an input and when it came.
type Event struct {
	Now   time.Duration
	Input Input
}

// Replay feeds a trace into a fresh node and returns its outputs. They are the same to
// the bit as those of the node that was recorded, and so is its state afterwards, when
// both were made alike, with sources from the same seeds, by the same binary.
func Replay(n *Neighbourhood, trace []Event) []Output {
	out := make([]Output, len(trace))
	for i, e := range trace {
		out[i] = n.Step(e.Now, e.Input)
	}
	return out
}
