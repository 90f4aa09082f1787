package peering

import "time"

// Event is an input and the time it came.
type Event struct {
	Now   time.Duration
	Input Input
}

// Replay feeds a trace into a fresh node and returns its outputs. If both nodes were
// made alike, with sources from the same seeds, by the same binary, the outputs and the
// final state equal those of the recorded node to the bit.
func Replay(n *Neighbourhood, trace []Event) []Output {
	out := make([]Output, len(trace))
	for i, e := range trace {
		out[i] = n.Step(e.Now, e.Input)
	}
	return out
}
